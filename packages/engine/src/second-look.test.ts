import { expect, test } from "vitest";
import { killScope, appScope } from "./commits/kill-scope.ts";
import { liftScope } from "./commits/lift-scope.ts";
import { beginCall } from "./commits/begin-call.ts";
import type { Engine } from "./engine.ts";
import type { Scenario } from "./scripted-model.ts";
import { bumpPolicy, callsOf, decidePending, outcomeOf } from "./testing/driver.ts";
import {
  driveOut,
  driveRun,
  makeEngine,
  readingTool,
  sendingTool,
  takeRun,
  type TestEngine,
} from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { countRows } from "./testing/rows.ts";
import type { Tool } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act"] };

const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: { to: "ann" } }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

interface Given {
  readonly world: World;
  readonly engine: TestEngine;
  readonly runId: string;
  readonly sent: () => number;
}

/** A run whose one call a person approved, and that is ready to go on. */
async function givenApproved(over: object = {}, specOver: object = {}): Promise<Given> {
  let sent = 0;
  const tool = sendingTool("act", () => ({ kind: "done", content: `sent ${(sent += 1)}` }), over);
  const world = await makeWorld(sql, { ...spec, ...specOver });
  const engine = makeEngine(sql, [tool], actOnce);
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  expect((await decidePending(sql, world, runId, "approve")).kind).toBe("decided");
  return { world, engine, runId, sent: () => sent };
}

/** The engine, with something done just before its first commit of a kind. */
function before(engine: Engine, kind: unknown, act: () => Promise<unknown>): Engine {
  let isDone = false;
  return {
    ...engine,
    commit: async (given, transition) => {
      if (given === kind && !isDone) {
        isDone = true;
        await act();
      }
      return await engine.commit(given, transition);
    },
  };
}

test("an approved call under unmoved policy begins in the claim", async () => {
  const { engine, runId, sent } = await givenApproved();
  const held = await takeRun(engine, runId);
  expect(held.snapshot.calls).toMatchObject([{ status: "executing", attempt: 1 }]);
  expect(await driveOut(engine, held)).toBe("ended");
  expect(sent()).toBe(1);
});

test("a newer policy version costs a second look, not a second question", async () => {
  const { world, engine, runId, sent } = await givenApproved();
  await bumpPolicy(sql, world);
  const held = await takeRun(engine, runId);
  expect(held.snapshot.calls).toMatchObject([{ status: "requested" }]);
  expect(await driveOut(engine, held)).toBe("ended");
  expect(sent()).toBe(1);
  expect(await countRows(sql, "approvals", runId)).toBe(1);
});

test("policy that moves between the gate and the begin is judged again, as often as it moves", async () => {
  const world = await makeWorld(sql, spec);
  const tool = readingTool("act", () => ({ kind: "done", content: "sent" }), { effect: "once" });
  const plain = makeEngine(sql, [tool], actOnce);
  let moves = 0;
  const begins: string[] = [];
  const engine: Engine = {
    ...plain,
    commit: async (kind, transition) => {
      const isBegin = (kind as unknown) === beginCall;
      if (isBegin && (moves += 1) <= 3) await bumpPolicy(sql, world);
      const outcome = await plain.commit(kind, transition);
      if (isBegin) begins.push((outcome as { kind: string }).kind);
      return outcome;
    },
  };
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(begins).toEqual(["policy_moved", "policy_moved", "policy_moved", "begun"]);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "done", attempt: 1 }]);
});

test("what siblings have done is not forgotten by the second look of another call", async () => {
  const world = await makeWorld(sql, { ...spec, toolset: ["act", "look"] });
  let looks = 0;
  const tools = [
    readingTool("act", () => ({ kind: "done", content: "acted" }), { effect: "once" }),
    readingTool("look", () => ({ kind: "done", content: `look ${(looks += 1)}` })),
  ];
  const scenario: Scenario = ({ turn }) =>
    turn === 0 ? { use: ["look", "act", "look"].map((tool) => ({ tool, args: {} })) } : { say: "ok" };
  const plain = makeEngine(sql, tools, scenario);
  const engine = before(plain, beginCall, () => bumpPolicy(sql, world));
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(looks).toBe(2);
});

test("a grant that is revoked after the approval denies the call", async () => {
  for (const isMoved of [false, true]) {
    const { world, engine, runId, sent } = await givenApproved();
    await sql`update runs set grants = '{}' where id = ${runId}`;
    if (isMoved) await bumpPolicy(sql, world);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(sent()).toBe(0);
    expect(await outcomeOf(sql, runId)).toBe("completed: capability_denied capability denied: mail.send");
  }
});

test("a grant that is revoked between the look and the begin denies the call in the begin", async () => {
  const { world, engine, runId, sent } = await givenApproved();
  await bumpPolicy(sql, world);
  const revoke = () => sql`update runs set grants = '{}' where id = ${runId}`;
  const revoking = before(engine, beginCall, revoke);
  expect(await driveRun(revoking, runId)).toBe("ended");
  expect(sent()).toBe(0);
  expect(await outcomeOf(sql, runId)).toBe("completed: capability_denied capability denied: mail.send");
});

test.each([
  ["demoted", (world: World) => sql`update users set role = 'operator' where id = ${world.approver}`],
  ["disabled", (world: World) => sql`update users set disabled_at = now() where id = ${world.approver}`],
])(
  "an approver who was %s after the approval carries nothing: it is asked again, with a new card",
  async (_how, change) => {
    const { world, engine, runId, sent } = await givenApproved();
    await change(world);
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(sent()).toBe(0);
    const approvals = await sql`
    select a.status, t.status as card from approvals a join tasks t on t.id = a.task_id where a.run_id = ${runId} order by a.id`;
    expect(approvals).toEqual([
      { status: "superseded", card: "done" },
      { status: "pending", card: "open" },
    ]);
    await decidePending(sql, world, runId, "approve", { userId: world.otherApprover });
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(sent()).toBe(1);
  },
);

test("a tool whose definition changed after the approval is asked about again, bound to what it is now", async () => {
  const { world, engine, runId, sent } = await givenApproved();
  let sentByNew = 0;
  const changed = sendingTool("act", () => ({ kind: "done", content: `${(sentByNew += 1)}` }), {
    description: "does more",
  });
  const newer = makeEngine(sql, [changed], actOnce);
  expect(await driveRun(newer, runId)).toBe("parked");
  expect(sent() + sentByNew).toBe(0);
  const rows = await sql`select status, definition_hash from approvals where run_id = ${runId} order by id`;
  expect(rows.map(({ status }) => status as string)).toEqual(["superseded", "pending"]);
  expect(rows[1]?.["definition_hash"]).toBe(newer.tools.get("act")?.definitionHash);
  expect(rows[0]?.["definition_hash"]).toBe(engine.tools.get("act")?.definitionHash);
  await decidePending(sql, world, runId, "approve");
  expect(await driveRun(newer, runId)).toBe("ended");
  expect(sentByNew).toBe(1);
});

test("a worker of the older definition does not run what was approved of the newer one", async () => {
  const { engine, runId, sent } = await givenApproved();
  const older = makeEngine(
    sql,
    [sendingTool("act", () => ({ kind: "done", content: "old" }), { description: "older" })],
    actOnce,
  );
  expect(await driveRun(older, runId)).toBe("parked");
  expect(sent()).toBe(0);
  expect(engine.tools.size).toBe(1);
});

test("a reason that the card did not show asks again; one that it showed does not", async () => {
  const shown = await givenApproved({ alwaysGate: true });
  await bumpPolicy(sql, shown.world);
  expect(await driveRun(shown.engine, shown.runId)).toBe("ended");
  expect(shown.sent()).toBe(1);

  const { world, runId } = await givenApproved();
  let sent = 0;
  const gated: Tool = sendingTool("act", () => ({ kind: "done", content: `${(sent += 1)}` }), { alwaysGate: true });
  await bumpPolicy(sql, world);
  const stricter = makeEngine(sql, [gated], actOnce);
  expect(await driveRun(stricter, runId)).toBe("parked");
  expect(sent).toBe(0);
  const [card] = await sql`select card::json as body from approvals where run_id = ${runId} and status = 'pending'`;
  expect(card?.["body"]).toMatchObject({ floorReasons: ["always_gate"] });
  await decidePending(sql, world, runId, "approve");
  expect(await driveRun(stricter, runId)).toBe("ended");
  expect(sent).toBe(1);
});

test("a decision that everybody who could decide has left behind stands", async () => {
  const { world, engine, runId, sent } = await givenApproved({}, { unattended: "deny" });
  await sql`update users set role = 'operator' where workspace_id = ${world.workspaceId} and id <> ${world.approver} and role in ('approver', 'admin')`;
  await bumpPolicy(sql, world);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(sent()).toBe(1);
});

test("a kill between the look and the begin gives the run back, and a lift lets it go on without a second question", async () => {
  const { world, engine, runId, sent } = await givenApproved();
  await bumpPolicy(sql, world);
  const kill = () => killScope(sql, appScope, world.admin, "stop");
  const killing = before(engine, beginCall, kill);
  expect(await driveRun(killing, runId)).toBe("given_back");
  expect(sent()).toBe(0);
  const [run] = await sql`select lease_id, ready_at is not null as is_ready from runs where id = ${runId}`;
  expect(run).toEqual({ lease_id: null, is_ready: true });
  await liftScope(sql, appScope, world.admin);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(sent()).toBe(1);
  expect(await countRows(sql, "approvals", runId)).toBe(1);
});

test("an approval is used once: a second claim of the same record cannot begin the call again", async () => {
  const { engine, runId, sent } = await givenApproved();
  expect(await driveRun(engine, runId)).toBe("ended");
  const [approval] =
    await sql`select status, consumed_at is not null as is_used from approvals where run_id = ${runId}`;
  expect(approval).toEqual({ status: "approved", is_used: true });
  expect(sent()).toBe(1);
});

test("a call that needs no approval any more runs under the newer verdict", async () => {
  const { world, runId } = await givenApproved();
  let sent = 0;
  const freed = sendingTool("act", () => ({ kind: "done", content: `${(sent += 1)}` }), { needsApproval: false });
  await sql`update users set role = 'viewer' where id = ${world.approver}`;
  await bumpPolicy(sql, world);
  expect(await driveRun(makeEngine(sql, [freed], actOnce), runId)).toBe("ended");
  expect(sent).toBe(1);
});

test("the turn of a killed run is not recorded", async () => {
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [sendingTool("act", () => ({ kind: "done", content: "" }))], actOnce);
  const runId = await givenRun(sql, world);
  const held = await takeRun(engine, runId);
  held.snapshot = { ...held.snapshot, killed: "workspace" };
  expect(await driveOut(engine, held)).toBe("given_back");
  expect(await countRows(sql, "tool_calls", runId)).toBe(0);
  expect(await driveRun(engine, runId)).toBe("parked");
});
