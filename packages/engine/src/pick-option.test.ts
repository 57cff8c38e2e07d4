import { expect, test } from "vitest";
import type { CardBody } from "./card.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, crash, decidePending, outcomeOf } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool, takeRun, type TestEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import type { CallContext } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["look"] };
const options = [
  { id: "small", label: "The small one", detail: "cheap" },
  { id: "large", label: "The large one" },
];

/** Asks for a look, and would like to choose itself what looks. */
const lookOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "look", args: { at: "a.png", selectedOptionId: "large", _selectedOptionId: "large" } }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

interface Given {
  readonly world: World;
  readonly engine: TestEngine;
  readonly runId: string;
}

async function givenLook(specOver: object = {}, over: object = {}): Promise<Given> {
  const world = await makeWorld(sql, { ...spec, ...specOver });
  const tool = readingTool("look", () => ({ kind: "done", content: "" }), {
    role: "analyze:image",
    options: () => options,
    execute: async (_args: unknown, { selectedOptionId }: CallContext) => ({
      kind: "done",
      content: `seen by ${String(selectedOptionId)}`,
    }),
    ...over,
  });
  const engine = makeEngine(sql, [tool], lookOnce);
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  return { world, engine, runId };
}

async function askedOf(runId: string) {
  const rows = await sql<{ status: string; row: string; reason: string; card: string }[]>`
    select status, gate_row as row, gate_reason as reason, card from approvals where run_id = ${runId} order by requested_at`;
  return rows.map(({ card, ...asked }) => ({ ...asked, card: JSON.parse(card) as CardBody }));
}

const loosest = { approvalPolicy: "none", dial: "high" };

test.each([{}, loosest, { dial: "read" }])(
  "a tool that offers a choice asks for it under every policy (%j), and runs with what the person picked, whatever the model wrote",
  async (specOver) => {
    const { world, engine, runId } = await givenLook(specOver);
    expect(await askedOf(runId)).toMatchObject([
      { status: "pending", row: "9", reason: "needs_selection", card: { options, role: "analyze:image" } },
    ]);
    expect((await decidePending(sql, world, runId, "approve", { selectedOption: "small" })).kind).toBe("decided");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe("completed: ok seen by small");
  },
);

test("to pick is to name one that was offered: an approval without, or with another, is refused and decides nothing", async () => {
  const { world, engine, runId } = await givenLook();
  expect((await decidePending(sql, world, runId, "approve")).kind).toBe("not_offered");
  expect((await decidePending(sql, world, runId, "approve", { selectedOption: "huge" })).kind).toBe("not_offered");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting", attempt: 0 }]);
  expect((await decidePending(sql, world, runId, "deny")).kind).toBe("decided");
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toContain("user_denied");
});

test("an option that is bound to the role beforehand needs no asking, under the very policies that ask for all else", async () => {
  const { runId } = await givenLook({ companions: { "analyze:image": "large" } });
  expect(await askedOf(runId)).toEqual([]);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok seen by large");
  const [call] = await sql`select gate_row as row, gate_reason as reason from tool_calls where run_id = ${runId}`;
  expect(call).toEqual({ row: "15", reason: "companion:analyze:image" });
});

test.each([{ "generate:image": "large" }, { "analyze:image": "huge" }])(
  "what is bound to another role, or is not offered, binds nothing: %j",
  async (companions) => {
    const { runId } = await givenLook({ companions });
    expect(await askedOf(runId)).toMatchObject([{ status: "pending", row: "9" }]);
  },
);

test("where nobody can be asked and nothing is bound it is denied, and what to bind is named", async () => {
  const world = await makeWorld(sql, { ...spec, unattended: "deny" });
  await sql`update users set role = 'operator' where workspace_id = ${world.workspaceId}`;
  const tool = readingTool("look", () => ({ kind: "done", content: "" }), {
    role: "analyze:image",
    options: () => options,
  });
  const engine = makeEngine(sql, [tool], lookOnce);
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [call] =
    await sql`select gate_reason as reason, result_code as code, result from tool_calls where run_id = ${runId}`;
  expect(call).toMatchObject({ reason: "selection_unbound:analyze:image", code: "no_approver" });
  expect(call?.["result"]).toContain("analyze:image");
});

test("options that only a look can tell are picked from, too, and never run without", async () => {
  const over = {
    options: undefined,
    role: undefined,
    propose: async () => ({ kind: "proposed", message: "one of them looks", preconditions: [], options }),
  };
  const { world, engine, runId } = await givenLook(loosest, over);
  expect(await askedOf(runId)).toMatchObject([{ status: "pending", row: "9", card: { options, role: "look" } }]);
  expect((await decidePending(sql, world, runId, "approve")).kind).toBe("not_offered");
  await decidePending(sql, world, runId, "approve", { selectedOption: "large" });
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok seen by large");
  const bound = await givenLook({ ...loosest, companions: { look: "small" } }, over);
  expect(await outcomeOf(sql, bound.runId)).toBe("completed: ok seen by small");
});

test("an option that is offered no more when the call is to run is asked about again, and nothing ran", async () => {
  let offered = options;
  const { world, engine, runId } = await givenLook(
    {},
    {
      options: undefined,
      propose: async () => ({ kind: "proposed", message: "", preconditions: [], options: offered }),
    },
  );
  offered = options.slice(1);
  await decidePending(sql, world, runId, "approve", { selectedOption: "small" });
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting", attempt: 0 }]);
  expect((await askedOf(runId)).at(-1)).toMatchObject({ status: "pending", reason: "selection_gone" });
});

test("what was picked outlives a crash, and a further attempt runs with it", async () => {
  const seen: unknown[] = [];
  const { world, engine, runId } = await givenLook(
    {},
    {
      effect: "idempotent",
      execute: async (_args: unknown, { selectedOptionId }: CallContext) => {
        seen.push(selectedOptionId);
        return { kind: "done", content: `seen by ${String(selectedOptionId)}` };
      },
    },
  );
  await decidePending(sql, world, runId, "approve", { selectedOption: "small" });
  await takeRun(engine, runId);
  await crash(sql, runId);
  await driveRun(engine, runId);
  expect(seen).toEqual(["small"]);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok seen by small");
});
