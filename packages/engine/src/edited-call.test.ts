import { hashArguments } from "@countersign/gate/canonical.ts";
import { describe, expect, test } from "vitest";
import type { CardBody } from "./card.ts";
import type { Scenario } from "./scripted-model.ts";
import { makeDesk } from "./testing/desk.ts";
import { bumpPolicy, callsOf, crashAt, decidePending, outcomeOf, stopPoint } from "./testing/driver.ts";
import { driveRun, makeEngine, sendingTool, takeRun, type TestEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import type { ToolResult } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act", "edit"] };
const asked = { city: "Bonn", days: 3 };
const changed = { city: "Köln", days: 3 };

const edited = (args: object) => {
  const text = JSON.stringify(args);
  return { edited: { args: text, argsHash: hashArguments(text) } };
};

/** Asks for one call and says what it was told came of it. */
const once =
  (tool: string, args: object): Scenario =>
  ({ results }) =>
    results.length === 0
      ? { use: [{ tool, args }] }
      : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

interface Given {
  readonly world: World;
  readonly engine: TestEngine;
  readonly runId: string;
  readonly ran: unknown[];
}

async function givenAsked(over: object = {}, answer: ToolResult = { kind: "done", content: "booked" }): Promise<Given> {
  const ran: unknown[] = [];
  const tool = sendingTool(
    "act",
    (args) => {
      ran.push(args);
      return answer;
    },
    { requires: [], units: ({ city }: { city: string }) => [city], ...over },
  );
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [tool], once("act", asked));
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  return { world, engine, runId, ran };
}

async function approvalsOf(runId: string) {
  const rows = await sql<{ status: string; reason: string; argsHash: string; card: string }[]>`
    select status, gate_reason as reason, args_hash as "argsHash", card from approvals where run_id = ${runId} order by requested_at`;
  return rows.map(({ card, ...row }) => ({ ...row, card: JSON.parse(card) as CardBody }));
}

describe("AZ47: a call whose arguments a person changed", () => {
  test("runs as the person approved it, and the model is told that they were changed and what ran", async () => {
    const { world, engine, runId, ran } = await givenAsked();
    await decidePending(sql, world, runId, "approve", edited(changed));
    await driveRun(engine, runId);
    expect(ran).toEqual([changed]);
    const outcome = await outcomeOf(sql, runId);
    expect(outcome).toContain("A person changed the arguments");
    expect(outcome).toContain(JSON.stringify(changed));
    expect(outcome).toMatch(/booked$/);
    const [call] = await sql`select args from tool_calls where run_id = ${runId}`;
    expect(JSON.parse(call?.["args"] as string)).toEqual(asked);
  });

  test.each([
    ["a failure", { kind: "failed", content: "no room" } as const, "no room"],
    ["nobody knowing what became of it", { kind: "unknown", content: "no answer" } as const, "it was booked by phone"],
  ])("says so, too, with %s", async (_what, answer, said) => {
    const { world, engine, runId } = await givenAsked({}, answer);
    await decidePending(sql, world, runId, "approve", edited(changed));
    if ((await driveRun(engine, runId)) === "parked") {
      await decidePending(sql, world, runId, "done", { feedback: said });
      await driveRun(engine, runId);
    }
    const outcome = await outcomeOf(sql, runId);
    expect(outcome).toContain("A person changed the arguments");
    expect(outcome).toContain(said);
  });

  test("run again on a person's word after a crash runs as it was changed", async () => {
    const middle = stopPoint();
    const ran: unknown[] = [];
    const tool = sendingTool(
      "act",
      async (args) => {
        ran.push(args);
        if (ran.length === 1) await middle.stay();
        return { kind: "done", content: "booked" };
      },
      { requires: [] },
    );
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], once("act", asked));
    const runId = await givenRun(sql, world);
    await driveRun(engine, runId);
    await decidePending(sql, world, runId, "approve", edited(changed));
    await crashAt(engine, await takeRun(engine, runId), middle.reached);
    expect(await driveRun(engine, runId)).toBe("parked");
    const [, outcomeCard] = await approvalsOf(runId);
    expect(JSON.parse(outcomeCard?.card.args ?? "")).toEqual(changed);
    await decidePending(sql, world, runId, "retry");
    await driveRun(engine, runId);
    expect(ran).toEqual([changed, changed]);
    expect(await outcomeOf(sql, runId)).toContain("A person changed the arguments");
  });
});

describe("AZ48: changed arguments pass the whole table again", () => {
  test("and are denied by a rule that matches them, whoever approved them", async () => {
    const { world, engine, runId, ran } = await givenAsked();
    await sql`
      insert into rules (id, scope, scope_id, workspace_id, target_kind, target_name, mode, entries)
      values (gen_random_uuid(), 'workspace', ${world.workspaceId}, ${world.workspaceId}, 'tool', 'act', 'deny',
              ${JSON.stringify([{ kind: "unit", unit: "Köln" }])}::text::json)`;
    await decidePending(sql, world, runId, "approve", edited(changed));
    await driveRun(engine, runId);
    expect(ran).toEqual([]);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "denied", code: "policy_denied", attempt: 0 }]);
    expect(await outcomeOf(sql, runId)).toContain("A person changed the arguments");
  });

  test("and are refused where the tool does not take them", async () => {
    const { z } = await import("zod");
    const { world, engine, runId, ran } = await givenAsked({ schema: z.object({ city: z.string(), days: z.int() }) });
    await decidePending(sql, world, runId, "approve", edited({ city: "Köln", days: "three" }));
    await driveRun(engine, runId);
    expect(ran).toEqual([]);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "failed", code: "invalid_args", attempt: 0 }]);
  });

  test("and are asked about where they are dangerous in a way that the card did not show: on a card of their own, bound to them", async () => {
    const safety = ({ city }: { city: string }) => (city === "Köln" ? "carnival" : undefined);
    const { world, engine, runId, ran } = await givenAsked({ safety });
    await decidePending(sql, world, runId, "approve", edited(changed));
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(ran).toEqual([]);
    const [, second] = await approvalsOf(runId);
    expect(second).toMatchObject({
      status: "pending",
      reason: "safety:carnival",
      argsHash: hashArguments(JSON.stringify(changed)),
      card: { isEdited: true },
    });
    expect(JSON.parse(second?.card.args ?? "")).toEqual(changed);
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(ran).toEqual([changed]);
  });

  test("and keep the name of the tool, whatever they hold", async () => {
    const { world, engine, runId, ran } = await givenAsked();
    await decidePending(sql, world, runId, "approve", edited({ city: "Köln", tool: "edit", name: "edit" }));
    await driveRun(engine, runId);
    expect(ran).toEqual([{ city: "Köln", tool: "edit", name: "edit" }]);
    expect(await callsOf(sql, runId)).toMatchObject([{ tool: "act", status: "done" }]);
  });

  test("and wait for a newer policy to be looked at, as all calls do", async () => {
    const { world, engine, runId, ran } = await givenAsked();
    await decidePending(sql, world, runId, "approve", edited(changed));
    await bumpPolicy(sql, world);
    await driveRun(engine, runId);
    expect(ran).toEqual([changed]);
  });
});

describe("a changed call of a tool that proposes", () => {
  const edit = { name: "plan", from: "Monday", to: "Tuesday" };

  async function givenEdit() {
    const desk = makeDesk({ plan: "We meet on Monday", notes: "Monday is off" });
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [desk.tool], once("edit", edit));
    const runId = await givenRun(sql, world);
    await driveRun(engine, runId);
    return { desk, world, engine, runId };
  }

  test("is proposed anew, and runs where it rests on what the person saw", async () => {
    const { desk, world, engine, runId } = await givenEdit();
    await decidePending(sql, world, runId, "approve", edited({ ...edit, to: "Friday" }));
    await driveRun(engine, runId);
    expect(desk.pages.get("plan")).toBe("We meet on Friday");
    expect(desk.proposals()).toBe(2);
  });

  test("is shown on a new card where it rests on something else, and nothing ran", async () => {
    const { desk, world, engine, runId } = await givenEdit();
    await decidePending(sql, world, runId, "approve", edited({ ...edit, name: "notes" }));
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(desk.attempts).toEqual([]);
    const [, second] = await approvalsOf(runId);
    expect(second?.card).toMatchObject({ isEdited: true, message: "changes notes" });
    expect(second?.card.preview).toContain("+Tuesday is off");
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(desk.pages.get("notes")).toBe("Tuesday is off");
    expect(desk.pages.get("plan")).toBe("We meet on Monday");
    expect(await outcomeOf(sql, runId)).toContain("A person changed the arguments");
  });

  test("may be changed once more on that card", async () => {
    const { desk, world, engine, runId } = await givenEdit();
    await decidePending(sql, world, runId, "approve", edited({ ...edit, name: "notes" }));
    await driveRun(engine, runId);
    await decidePending(sql, world, runId, "approve", edited({ ...edit, name: "notes", to: "Sunday" }));
    await driveRun(engine, runId);
    expect(desk.pages.get("notes")).toBe("Sunday is off");
  });
});
