import { describe, expect, test } from "vitest";
import type { CardBody } from "./card.ts";
import { changedPreconditions } from "./propose-call.ts";
import { regateApprovals } from "./regate.ts";
import type { Scenario } from "./scripted-model.ts";
import { type Desk, makeDesk } from "./testing/desk.ts";
import { bumpPolicy, callsOf, crashAt, decidePending, outcomeOf, stopPoint } from "./testing/driver.ts";
import { driveOut, driveRun, makeEngine, takeRun, type TestEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import type { Precondition } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["edit"] };
const change = { name: "plan", from: "Monday", to: "Tuesday" };

const editOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "edit", args: change }], say: "I only tidy up" }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

interface Given {
  readonly world: World;
  readonly engine: TestEngine;
  readonly runId: string;
  readonly desk: Desk;
}

/** A run that has asked for its change, driven until it parks or ends. */
async function givenEdit(over: object = {}, specOver: object = {}): Promise<Given> {
  const desk = makeDesk({ plan: "We meet on Monday" }, over);
  const world = await makeWorld(sql, { ...spec, ...specOver });
  const engine = makeEngine(sql, [desk.tool], editOnce);
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  return { world, engine, runId, desk };
}

async function approvalsOf(runId: string) {
  const rows = await sql<{ status: string; card: string; reason: string; preconditions: string | null }[]>`
    select status, card, gate_reason as reason, preconditions from approvals where run_id = ${runId} order by requested_at`;
  return rows.map(({ card, ...row }) => ({ ...row, card: JSON.parse(card) as CardBody }));
}

describe("a tool that proposes", () => {
  test("says what it would do before a person is asked, and the card shows it; nothing has run", async () => {
    const { runId, desk } = await givenEdit();
    expect(await outcomeOf(sql, runId)).toBe("paused: approval");
    expect(desk.attempts).toEqual([]);
    const [asked] = await approvalsOf(runId);
    expect(asked?.card).toMatchObject({
      message: "changes plan",
      preview: expect.stringContaining("-We meet on Monday\n+We meet on Tuesday"),
      preconditions: [{ kind: "page", name: "plan" }],
      units: ["plan"],
    });
    expect(JSON.parse(asked?.preconditions ?? "null")).toMatchObject([{ kind: "page", name: "plan" }]);
  });

  test("is asked again what it would do just before it runs, and told what a person agreed to", async () => {
    const { world, engine, runId, desk } = await givenEdit();
    await decidePending(sql, world, runId, "approve");
    const held = await takeRun(engine, runId);
    expect(held.snapshot.calls).toMatchObject([{ status: "requested" }]);
    await driveOut(engine, held);
    expect(desk.proposals()).toBe(2);
    expect(desk.pages.get("plan")).toBe("We meet on Tuesday");
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed plan");
  });

  test("goes the same way where nobody has to be asked", async () => {
    const { runId, desk } = await givenEdit({}, { approvalPolicy: "none", dial: "high" });
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed plan");
    expect(desk.proposals()).toBe(1);
    expect(await approvalsOf(runId)).toEqual([]);
  });

  test("that finds that it cannot be done says so to the model, and nobody is asked", async () => {
    const { runId, desk } = await givenEdit({
      propose: async () => ({ kind: "failed", content: "there is no page plan" }),
    });
    expect(await outcomeOf(sql, runId)).toBe("completed: error there is no page plan");
    expect(await approvalsOf(runId)).toEqual([]);
    expect(desk.attempts).toEqual([]);
  });

  test.each([
    [
      "fails",
      async () => {
        throw new Error("no such disk");
      },
      "failed while it looked",
    ],
    ["takes too long", () => new Promise(() => undefined), "could not say within"],
    ["says something else", async () => ({ kind: "proposed", message: 3 }), "failed while it looked"],
    [
      "proposes more than a card can show",
      async () => ({ kind: "proposed", message: "", preconditions: [], preview: "x".repeat(300_000) }),
      "too large to be shown",
    ],
  ])("that %s gives an error, asks nobody and runs nothing", async (_how, propose, text) => {
    const { runId, desk } = await givenEdit({ propose, timeoutMs: 50 });
    expect(await outcomeOf(sql, runId)).toContain(`completed: error`);
    expect(await outcomeOf(sql, runId)).toContain(text);
    expect(await approvalsOf(runId)).toEqual([]);
    expect(desk.attempts).toEqual([]);
  });

  test("that is denied by the gate is not asked what it would do", async () => {
    const { runId, desk } = await givenEdit({ requires: ["mail.read"] });
    expect(await outcomeOf(sql, runId)).toContain("capability_denied");
    expect(desk.proposals()).toBe(0);
  });
});

describe("what a preview rests on", () => {
  test("changed between the card and the start asks again on a new card, and nothing ran", async () => {
    const { world, engine, runId, desk } = await givenEdit();
    desk.pages.set("plan", "We meet on Monday at ten");
    await decidePending(sql, world, runId, "approve");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(desk.attempts).toEqual([]);
    const [first, second] = await approvalsOf(runId);
    expect(first?.status).toBe("superseded");
    expect(second).toMatchObject({ status: "pending", reason: "precondition_changed:plan" });
    expect(second?.card.preview).toContain("+We meet on Tuesday at ten");
    await decidePending(sql, world, runId, "approve");
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(desk.pages.get("plan")).toBe("We meet on Tuesday at ten");
  });

  test("gone between the card and the start is told to the model, and nothing ran", async () => {
    const { world, engine, runId, desk } = await givenEdit();
    desk.pages.delete("plan");
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: error there is no page plan");
    expect(desk.attempts).toEqual([]);
  });

  test.each(["once", "idempotent", "transactional"])(
    "changed at the very moment of writing is asked about again, and the attempt counts for nothing (%s)",
    async (effect) => {
      const { world, engine, runId, desk } = await givenEdit({ effect });
      await decidePending(sql, world, runId, "approve");
      desk.whileWriting = () => {
        desk.pages.set("plan", "We meet on Monday at noon");
        desk.whileWriting = undefined;
      };
      expect(await driveRun(engine, runId)).toBe("parked");
      expect(desk.pages.get("plan")).toBe("We meet on Monday at noon");
      expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting", attempt: 0 }]);
      const asked = (await approvalsOf(runId)).at(-1);
      expect(asked).toMatchObject({ status: "pending", reason: "precondition_changed:plan is not what it was" });
      expect(asked?.card.preview).toContain("+We meet on Tuesday at noon");
      await decidePending(sql, world, runId, "approve");
      expect(await driveRun(engine, runId)).toBe("ended");
      expect(await outcomeOf(sql, runId)).toBe("completed: ok changed plan");
      expect(desk.pages.get("plan")).toBe("We meet on Tuesday at noon");
    },
  );

  test("changed at the moment of writing gives back the credentials of an attempt that did nothing", async () => {
    const { world, engine, runId, desk } = await givenEdit({ requires: ["mail.send"] });
    await decidePending(sql, world, runId, "approve");
    desk.whileWriting = () => {
      desk.pages.set("plan", "Monday!");
      desk.whileWriting = undefined;
    };
    await driveRun(engine, runId);
    expect(await sql`select from capability_leases where run_id = ${runId}`).toHaveLength(0);
    await decidePending(sql, world, runId, "approve");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed plan");
  });

  test("changed at the moment of writing is an error to the model where nobody had been asked", async () => {
    const desk = makeDesk({ plan: "Monday" });
    const world = await makeWorld(sql, { ...spec, approvalPolicy: "none", dial: "high" });
    const engine = makeEngine(sql, [desk.tool], editOnce);
    const runId = await givenRun(sql, world);
    desk.whileWriting = () => void desk.pages.set("plan", "Monday or so");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: error nothing was done: plan is not what it was");
    expect(desk.pages.get("plan")).toBe("Monday or so");
  });

  test("is on the next card, too, where policy asks for another reason in between", async () => {
    const { world, engine, runId, desk } = await givenEdit();
    await bumpPolicy(sql, world);
    const stricter = makeEngine(sql, [makeDesk({}, { alwaysGate: true }).tool], editOnce);
    await sql`insert into policy_changes (scope_id, workspace_id) values (${world.workspaceId}, ${world.workspaceId})`;
    await regateApprovals(stricter, 100);
    const [, second] = await approvalsOf(runId);
    expect(second).toMatchObject({ status: "pending", reason: "always_gate" });
    expect(second?.card.preview).toContain("+We meet on Tuesday");
    desk.pages.set("plan", "Never on a Monday");
    await decidePending(sql, world, runId, "approve");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(desk.attempts).toEqual([]);
  });
});

describe("AZ36: a crash between the effect of an approved call of two phases and its result", () => {
  /** Approved, and stopped in the middle of its first attempt, as a killed worker would. */
  async function givenCrash(effect: "once" | "idempotent"): Promise<Given> {
    const middle = stopPoint();
    const desk = makeDesk({ plan: "We meet on Monday" }, { effect });
    desk.whileWriting = () => (desk.attempts.length === 1 ? middle.stay() : undefined);
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [desk.tool], editOnce);
    const runId = await givenRun(sql, world);
    await driveRun(engine, runId);
    await decidePending(sql, world, runId, "approve");
    await crashAt(engine, await takeRun(engine, runId), middle.reached);
    return { world, engine, runId, desk };
  }

  test("leaves it unknown; run again on a person's word, it is what the person saw", async () => {
    const { world, engine, runId, desk } = await givenCrash("once");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(await outcomeOf(sql, runId)).toBe("paused: outcome");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", attempt: 1 }]);
    await decidePending(sql, world, runId, "retry");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed plan");
    expect(desk.attempts).toHaveLength(2);
  });

  test("is not run again where what it rests on is another by then: a person is told", async () => {
    const { world, engine, runId, desk } = await givenCrash("once");
    await driveRun(engine, runId);
    desk.pages.set("plan", "We met on Monday");
    await decidePending(sql, world, runId, "retry");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(await outcomeOf(sql, runId)).toBe("paused: outcome");
    expect(desk.attempts).toHaveLength(1);
    await decidePending(sql, world, runId, "give_up");
    expect(await driveRun(engine, runId)).toBe("ended");
  });

  test("repeats one that recognises its key, where it finds all as it was", async () => {
    const { engine, runId, desk } = await givenCrash("idempotent");
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe("completed: ok changed plan");
    expect(desk.attempts).toHaveLength(2);
  });

  test("asks a person about one that recognises its key, where it may have changed what it rests on itself", async () => {
    const { engine, runId, desk } = await givenCrash("idempotent");
    desk.pages.set("plan", "We meet on Tuesday, not on Monday");
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(await outcomeOf(sql, runId)).toBe("paused: outcome");
    expect(desk.attempts).toHaveLength(1);
  });
});

test("two lists of preconditions differ in what holds something else, is new or is gone", () => {
  const page = (name: string, hash: string): Precondition => ({ kind: "page", name, hash });
  expect(changedPreconditions([page("a", "1")], [page("a", "1")])).toEqual([]);
  expect(changedPreconditions([page("a", "1")], [page("a", "2")])).toEqual(["a"]);
  expect(changedPreconditions([page("a", "1")], [])).toEqual(["a"]);
  expect(changedPreconditions([], [page("b", "1")])).toEqual(["b"]);
  expect(changedPreconditions([page("a", "1")], [{ kind: "file", name: "a", hash: "1" }])).toEqual(["a"]);
});
