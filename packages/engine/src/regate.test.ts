import { afterEach, expect, test } from "vitest";
import { appScope, killScope } from "./commits/kill-scope.ts";
import { liftScope } from "./commits/lift-scope.ts";
import { takePolicyChange } from "./commits/take-policy-change.ts";
import { regateApprovals } from "./regate.ts";
import type { Scenario } from "./scripted-model.ts";
import { createSweep } from "./sweep.ts";
import { bumpPolicy, callsOf, decidePending, outcomeOf } from "./testing/driver.ts";
import { driveOut, driveRun, makeEngine, sendingTool, takeRun, type TestEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { runRow } from "./testing/rows.ts";
import { scopeOf, toolRule, writeRules } from "./testing/policy.ts";

const { sql } = await engineDatabase();

afterEach(async () => {
  // What a test left to be judged is none of the next one's.
  await sql`delete from policy_changes`;
});

const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: { to: "ann" } }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

function engineWith(over: object = {}): TestEngine {
  return makeEngine(sql, [sendingTool("act", () => ({ kind: "done", content: "sent" }), over)], actOnce);
}

async function givenPending(specOver: object = {}): Promise<{ world: World; runId: string }> {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act"], ...specOver });
  const runId = await givenRun(sql, world);
  await driveRun(engineWith(), runId);
  return { world, runId };
}

async function approvalsOf(runId: string) {
  return await sql`
    select a.status, t.status as card, a.gate_reason as reason from approvals a join tasks t on t.id = a.task_id
     where a.run_id = ${runId} order by a.id`;
}

test("a worker that lacks the tool settles no approval of it, and says of none that it was judged", async () => {
  const { world, runId } = await givenPending();
  const versions = async () => await sql`select policy_versions from approvals where run_id = ${runId}`;
  const before = await versions();
  await bumpPolicy(sql, world);
  expect(await regateApprovals(makeEngine(sql, [], actOnce), 100)).toBe(0);
  expect(await approvalsOf(runId)).toEqual([{ status: "pending", card: "open", reason: "needs_approval" }]);
  expect(await versions()).toEqual(before);
});

test("an approval that would be asked just the same is kept, and notes the newer policy: once approved it begins in the claim", async () => {
  const { world, runId } = await givenPending();
  await bumpPolicy(sql, world);
  expect(await regateApprovals(engineWith(), 100)).toBe(1);
  expect(await regateApprovals(engineWith(), 100)).toBe(0);
  expect(await approvalsOf(runId)).toEqual([{ status: "pending", card: "open", reason: "needs_approval" }]);
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", is_ready: false });
  await decidePending(sql, world, runId, "approve");
  const held = await takeRun(engineWith(), runId);
  expect(held.snapshot.calls).toMatchObject([{ status: "executing" }]);
});

test("an approval whose call is allowed now closes with its card, and the call runs", async () => {
  const { world, runId } = await givenPending();
  await bumpPolicy(sql, world);
  const engine = engineWith({ needsApproval: false });
  expect(await regateApprovals(engine, 100)).toBe(1);
  expect(await approvalsOf(runId)).toMatchObject([{ status: "superseded", card: "canceled" }]);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toBe("completed: ok sent");
});

test("an approval whose call is denied now closes with its card, and the model is told why", async () => {
  const { world, runId } = await givenPending();
  await sql`update runs set grants = '{}' where id = ${runId}`;
  await bumpPolicy(sql, world);
  await regateApprovals(engineWith(), 100);
  expect(await approvalsOf(runId)).toMatchObject([{ status: "superseded", card: "canceled" }]);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "denied", code: "capability_denied", attempt: 0 }]);
  expect(await driveRun(engineWith(), runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toBe("completed: capability_denied capability denied: mail.send");
});

test("an approval that has a new reason is asked anew, on a new card that shows it", async () => {
  const { world, runId } = await givenPending();
  await bumpPolicy(sql, world);
  const stricter = engineWith({ alwaysGate: true });
  await regateApprovals(stricter, 100);
  expect(await approvalsOf(runId)).toMatchObject([
    { status: "superseded", card: "canceled" },
    { status: "pending", card: "open", reason: "always_gate" },
  ]);
  await driveRun(stricter, runId);
  await decidePending(sql, world, runId, "approve");
  expect(await driveRun(stricter, runId)).toBe("ended");
});

test("an approval that nobody can give any more is denied where the definition says so", async () => {
  const { world, runId } = await givenPending({ unattended: "deny" });
  await sql`update users set role = 'operator' where workspace_id = ${world.workspaceId}`;
  await bumpPolicy(sql, world);
  await regateApprovals(engineWith(), 100);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "denied", code: "no_approver" }]);
});

test("under a kill nothing is judged", async () => {
  const { world, runId } = await givenPending();
  await bumpPolicy(sql, world);
  await killScope(sql, appScope, world.admin, "stop");
  expect(await regateApprovals(engineWith({ needsApproval: false }), 100)).toBe(0);
  expect(await approvalsOf(runId)).toMatchObject([{ status: "pending" }]);
  await liftScope(sql, appScope, world.admin);
});

test("DU23: one that cannot be judged is reported and harms no other, and the sweep ends", async () => {
  const { world, runId } = await givenPending();
  const broken = await givenPending();
  for (const given of [world, broken.world]) await bumpPolicy(sql, given);
  await sql`update definition_versions set spec = '{"name":""}' where definition_id = ${broken.world.definitionId}`;
  const engine = engineWith({ needsApproval: false });
  const rings: string[] = [];
  await createSweep(engine, { maxClaims: 5, ring: () => rings.push("ring") })();
  expect(await approvalsOf(runId)).toMatchObject([{ status: "superseded" }]);
  expect(await approvalsOf(broken.runId)).toMatchObject([{ status: "pending" }]);
  expect(engine.events.map(({ kind }) => kind)).toContain("sweep.failed");
});

test("they are judged window by window, newest first, and a sweep over unchanged policy judges none", async () => {
  const { world, runId } = await givenPending();
  const engine = engineWith();
  const runIds = [runId];
  for (let n = 0; n < 4; n += 1) {
    const next = await givenRun(sql, world);
    await driveRun(engine, next);
    runIds.push(next);
  }
  await bumpPolicy(sql, world);
  const judged = async () => {
    const rows = await sql<{ is_judged: boolean }[]>`
      select a.policy_versions = p.versions as is_judged from approvals a
       cross join lateral policy_of(array[a.run_id]) p where a.run_id = any (${runIds}::uuid[]) order by a.id desc`;
    return rows.map((row) => Number(row.is_judged)).join("");
  };
  expect(await regateApprovals(engine, 2)).toBe(2);
  expect(await judged()).toBe("11000");
  expect(await regateApprovals(engine, 2)).toBe(2);
  expect(await judged()).toBe("11110");
  await createSweep(engine, { maxClaims: 5, ring: () => undefined })();
  expect(await judged()).toBe("11111");
  expect(await regateApprovals(engine, 100)).toBe(0);
});

test("only approvals of the tools that a change names are judged, and only in its scope", async () => {
  const [one, other] = [await givenPending(), await givenPending()];
  await writeRules(sql, one.world, scopeOf(one.world, "workspace"), toolRule("look", "off"));
  expect(await regateApprovals(engineWith(), 100)).toBe(0);
  await writeRules(sql, one.world, scopeOf(one.world, "workspace"), toolRule("act", "off"));
  expect(await regateApprovals(engineWith(), 100)).toBe(1);
  expect(await approvalsOf(one.runId)).toMatchObject([{ status: "superseded", card: "canceled" }]);
  expect(await callsOf(sql, one.runId)).toMatchObject([{ status: "denied", code: "tool_off" }]);
  expect(await approvalsOf(other.runId)).toMatchObject([{ status: "pending" }]);
});

test("a change that two workers take is judged by one of them, and one that its worker left is taken again", async () => {
  const { world, runId } = await givenPending();
  await bumpPolicy(sql, world);
  expect(await takePolicyChange(sql)).toMatchObject({ scopeId: world.workspaceId });
  expect(await takePolicyChange(sql)).toBeUndefined();
  expect(await regateApprovals(engineWith({ needsApproval: false }), 100)).toBe(0);
  await sql`update policy_changes set taken_until = clock_timestamp() - interval '1 second'`;
  expect(await regateApprovals(engineWith({ needsApproval: false }), 100)).toBe(1);
  expect(await approvalsOf(runId)).toMatchObject([{ status: "superseded" }]);
});

test("a change is looked at once more a few seconds after it was made, and then done", async () => {
  const { world } = await givenPending();
  await bumpPolicy(sql, world);
  const left = async () => (await sql`select from policy_changes`).length;
  await regateApprovals(engineWith(), 100);
  expect(await left()).toBe(1);
  expect(await takePolicyChange(sql)).toBeUndefined();
  await sql`update policy_changes set at = at - interval '6 seconds', taken_until = taken_until - interval '6 seconds'`;
  await regateApprovals(engineWith(), 100);
  expect(await left()).toBe(0);
});

test("an approval that is opened under a policy that has moved on is judged again, without anybody changing anything", async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act"] });
  const runId = await givenRun(sql, world);
  const engine = engineWith();
  const held = await takeRun(engine, runId);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("act", "off"));
  await sql`delete from policy_changes`;
  await driveOut(engine, held);
  expect(await approvalsOf(runId)).toMatchObject([{ status: "pending" }]);
  expect(await regateApprovals(engine, 100)).toBe(1);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "denied", code: "tool_off" }]);
});
