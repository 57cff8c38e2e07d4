import { v7 as uuidv7 } from "uuid";
import { beforeEach, describe, expect, test } from "vitest";
import type { Queryable } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { commitWithin } from "../commit.ts";
import type { Hold } from "../held-run.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aGatedCall,
  aSteer,
  aTurn,
  claimRun,
  givenApprovedRun,
  givenExecutingCall,
  givenGatedRun,
  givenRun,
  makeWorld,
  toolHashes,
} from "../testing/fixtures.ts";
import { poisonRun } from "../testing/poison.ts";
import { callRow, runRow } from "../testing/rows.ts";
import { failAtEveryWrite } from "../testing/write-faults.ts";
import { type Claimed, claimRuns, type ClaimRuns } from "./claim-runs.ts";
import { decideApproval } from "./decide-approval.ts";
import { killScope } from "./kill-scope.ts";
import { recordTurn } from "./record-turn.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

/** Nothing of an earlier test is ready any more. */
beforeEach(async () => {
  await claim(sql);
});

async function claim(
  on: Queryable,
  over: Partial<ClaimRuns> = {},
  failed: (runId: string) => void = (runId) => {
    throw new Error(`run ${runId} could not be claimed`);
  },
): Promise<readonly Claimed[]> {
  const request = {
    worker: "test",
    leaseMs: 30_000,
    limit: 100,
    held: [],
    tools: toolHashes,
    ...over,
  };
  return await claimRuns(on, request, failed);
}

function idsOf(claimed: readonly Claimed[]): string[] {
  return claimed.map((one) => (one.kind === "claimed" ? one.snapshot.id : one.runId)).toSorted();
}

test("a claim leases a ready run under a new epoch and returns what the worker needs", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const [claimed, ...rest] = await claim(sql, { worker: "w-1" });
  expect(rest).toEqual([]);
  expect(claimed).toMatchObject({
    kind: "claimed",
    snapshot: {
      id: runId,
      workspaceId: world.workspaceId,
      status: "running",
      epoch: 1,
      turns: 0,
      grants: ["mail.send"],
      policyVersions: "1.1.1.0",
      killed: null,
      messages: [{ seq: 1, kind: "user", content: '"please do"' }],
      calls: [],
      steers: [],
    },
  });
  expect(await runRow(sql, runId)).toMatchObject({
    status: "running",
    is_ready: false,
    is_leased: true,
    epoch: 1,
    claims: 1,
  });
  const [row] =
    await sql`select worker, lease_until - clock_timestamp() between interval '29s' and interval '30s' as is_timed from runs where id = ${runId}`;
  expect(row).toEqual({ worker: "w-1", is_timed: true });
});

test("the oldest ready runs are claimed first, and no more than asked for", async () => {
  const world = await makeWorld(sql);
  const ids = [];
  for (let i = 0; i < 3; i += 1) ids.push(await givenRun(sql, world));
  await sql`update runs set ready_at = clock_timestamp() - interval '5 seconds' where id = ${ids[2] ?? ""}`;
  expect(idsOf(await claim(sql, { limit: 1 }))).toEqual([ids[2]]);
  expect(idsOf(await claim(sql, { limit: 1 }))).toEqual([ids[0]]);
  expect(idsOf(await claim(sql, { limit: 5 }))).toEqual([ids[1]]);
});

test("what is leased, parked, ended, or not ready before a later moment is not claimed", async () => {
  const world = await makeWorld(sql);
  const leased = await givenRun(sql, world);
  await claimRun(sql, leased);
  await givenGatedRun(sql, world);
  const ended = await givenRun(sql, world);
  const hold = await claimRun(sql, ended);
  await commitWithin(sql, recordTurn, aTurn(hold, { output: '"done"' }));
  const later = await givenRun(sql, world);
  await sql`update runs set ready_at = clock_timestamp() + interval '1 hour' where id = ${later}`;
  expect(await claim(sql)).toEqual([]);
});

test("DU16: runs that two workers ask for at the same time are claimed once each", async () => {
  const world = await makeWorld(sql);
  const approved = await givenApprovedRun(sql, world);
  const ids: string[] = [];
  for (let i = 0; i < 20; i += 1) ids.push(await givenRun(sql, world));
  const claims = await Promise.all([
    claim(sql, { limit: 8 }),
    claim(elsewhere, { limit: 8 }),
    claim(sql, { limit: 8 }),
    claim(elsewhere, { limit: 8 }),
  ]);
  claims.push(await claim(sql));
  expect(idsOf(claims.flat())).toEqual([...ids, approved.runId].toSorted());
  for (const runId of ids) expect(await runRow(sql, runId)).toMatchObject({ epoch: 1, is_leased: true });
  expect(await callRow(sql, approved.callId)).toMatchObject({ status: "executing", attempt: 1 });
  const acquired = await sql`select from run_log where run_id = ${approved.runId} and kind = 'capability.acquired'`;
  expect(acquired).toHaveLength(1);
});

test("a claim waits for the disk only where it begins a call", async () => {
  const world = await makeWorld(sql);
  const waitsFor = async (): Promise<unknown> =>
    await transaction(sql, async (tx) => {
      await tx`set local synchronous_commit = on`;
      expect(await claim(tx)).toHaveLength(1);
      const [row] = await tx`select current_setting('synchronous_commit') as setting`;
      return row?.["setting"];
    });
  await givenRun(sql, world);
  expect(await waitsFor()).toBe("off");
  await givenApprovedRun(sql, world);
  expect(await waitsFor()).toBe("on");
});

describe("approved calls begin in the claim", () => {
  test("with effect claimed, approval consumed, capability acquired, in the log and the audit", async () => {
    const world = await makeWorld(sql);
    const { runId, callId, approvalId } = await givenApprovedRun(sql, world);
    const hold = await claimRun(sql, runId);
    const [call] = await sql`select status, attempt, epoch, has_effect_claim from tool_calls where id = ${callId}`;
    expect(call).toEqual({
      status: "executing",
      attempt: 1,
      epoch: hold.epoch,
      has_effect_claim: true,
    });
    const [approval] = await sql`select consumed_at is not null as is_consumed from approvals where id = ${approvalId}`;
    expect(approval?.is_consumed).toBe(true);
    const leases =
      await sql`select capability from capability_leases where call_id = ${callId} and expires_at > clock_timestamp()`;
    expect(leases).toMatchObject([{ capability: "mail.send" }]);
    const audit = await sql`select action, subject, actor from audit where call_id = ${callId} order by id`;
    expect(audit).toMatchObject([
      { action: "approval.decided" },
      { action: "capability.acquired", subject: "mail.send", actor: `run:${runId}` },
    ]);
    expect(hold.snapshot.calls).toMatchObject([
      { id: callId, status: "executing", approval: { isConsumed: true, answer: "approve" } },
    ]);
  });

  test.each<[string, (given: { runId: string; callId: string; approver: string }) => string]>([
    [
      "the policy moved",
      ({ runId }) =>
        `update policies set version = version + 1 where scope_id = (select workspace_id from runs where id = '${runId}')`,
    ],
    [
      "the run was given a policy of its own",
      ({ runId }) =>
        `insert into policies (scope_id, scope, workspace_id) select id, 'run', workspace_id from runs where id = '${runId}'`,
    ],
    ["DU29: the arguments changed", ({ callId }) => `update tool_calls set args_hash = 'other' where id = '${callId}'`],
    ["the tool changed", ({ callId }) => `update tool_calls set definition_hash = 'other' where id = '${callId}'`],
    ["the grant was taken away", ({ runId }) => `update runs set grants = '{}' where id = '${runId}'`],
    ["the approver is one no more", ({ approver }) => `update users set role = 'operator' where id = '${approver}'`],
    [
      "the approver was disabled",
      ({ approver }) => `update users set disabled_at = clock_timestamp() where id = '${approver}'`,
    ],
  ])("but not where %s: the worker looks again", async (_name, change) => {
    const world = await makeWorld(sql);
    const given = await givenApprovedRun(sql, world);
    await sql.unsafe(change({ ...given, approver: world.approver }));
    const hold = await claimRun(sql, given.runId);
    expect(hold.snapshot.calls).toMatchObject([
      {
        status: "requested",
        attempt: 0,
        approval: { status: "approved", isConsumed: false },
      },
    ]);
    expect(await sql`select from capability_leases where call_id = ${given.callId}`).toHaveLength(0);
  });

  test("but not where this worker has another version of the tool; without it the run is left to others", async () => {
    const world = await makeWorld(sql);
    const { runId, callId } = await givenApprovedRun(sql, world);
    expect(await claim(sql, { tools: new Map([["kb.read", "hash-of-kb.read"]]) })).toEqual([]);
    expect(await runRow(sql, runId)).toMatchObject({ is_ready: true, is_leased: false });
    expect(idsOf(await claim(sql, { tools: new Map([["mail.send", "newer"]]) }))).toEqual([runId]);
    expect(await callRow(sql, callId)).toMatchObject({ status: "requested", attempt: 0 });
  });

  test("but not where the call commits with its own result", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const hold = await claimRun(sql, runId);
    const approvalId = uuidv7();
    const call = aGatedCall({
      tool: "kb.append",
      effect: "transactional",
      requires: [],
      next: {
        kind: "approval",
        approvalId,
        card: { taskId: uuidv7(), title: "append", body: "{}" },
        expiresMs: undefined,
      },
    });
    await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
    await commitWithin(sql, decideApproval, aDecision(world, { runId, approvalId }));
    await claimRun(sql, runId);
    expect(await callRow(sql, call.id)).toMatchObject({ status: "requested", attempt: 0 });
  });

  test("also on a run that is held, with its epoch and lease", async () => {
    const world = await makeWorld(sql);
    const { runId, callId, approvalId, hold } = await givenGatedRun(sql, world, {
      siblings: [aCall({ position: 1 })],
    });
    await commitWithin(sql, decideApproval, aDecision(world, { runId, approvalId }));
    expect(await claim(sql)).toEqual([]);
    const news = await claim(sql, { held: [hold] });
    expect(news).toEqual([{ kind: "news", runId }]);
    expect(await callRow(sql, callId)).toMatchObject({ status: "executing", attempt: 1 });
    expect(await runRow(sql, runId)).toMatchObject({ epoch: 1, claims: 0, is_ready: false });
    expect(await claim(sql, { held: [hold] })).toEqual([]);
  });
});

test("news of a run is only for the lease that holds it", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  const stale: Hold = { ...hold, leaseId: uuidv7() };
  expect(await claim(sql, { held: [stale] })).toEqual([]);
  const news = await claim(sql, { held: [hold] });
  expect(news).toEqual([{ kind: "news", runId }]);
});

test("a call that a dead worker left executing stays as it was, under its old epoch", async () => {
  const world = await makeWorld(sql);
  const { runId, callId } = await givenExecutingCall(sql, world);
  await sql`update runs set lease_id = null, lease_until = null, ready_at = clock_timestamp() where id = ${runId}`;
  const hold = await claimRun(sql, runId);
  expect(hold.epoch).toBe(2);
  expect(hold.snapshot.calls).toMatchObject([{ id: callId, status: "executing", attempt: 1, epoch: 1 }]);
});

describe("DU23: a run whose rows make the claim fail harms only itself", () => {
  const isClaim = "new.lease_id is not null";

  test("the other nine of a batch of ten are claimed, and the culprit is named", async () => {
    const world = await makeWorld(sql);
    const ids: string[] = [];
    for (let i = 0; i < 10; i += 1) ids.push(await givenRun(sql, world));
    const culprit = ids[1] ?? "";
    const cure = await poisonRun(sql, culprit, isClaim);
    const failed: string[] = [];
    const claimed = await claim(sql, { limit: 10 }, (runId) => failed.push(runId));
    expect(idsOf(claimed)).toEqual(ids.filter((id) => id !== culprit).toSorted());
    expect(failed).toEqual([culprit]);
    await cure();
    expect(idsOf(await claim(sql))).toEqual([culprit]);
  });

  test("also where the culprit is a run that is held: the others are claimed, and other news arrives", async () => {
    const world = await makeWorld(sql);
    const culprit = await givenRun(sql, world);
    const held = [await claimRun(sql, culprit)];
    const sound = await givenRun(sql, world);
    held.push(await claimRun(sql, sound));
    await commitWithin(sql, steerRun, aSteer(world, culprit));
    await commitWithin(sql, steerRun, aSteer(world, sound));
    const fresh = await givenRun(sql, world);
    const cure = await poisonRun(sql, culprit, isClaim);
    const failed: string[] = [];
    const claimed = await claim(sql, { held }, (runId) => failed.push(runId));
    expect(idsOf(claimed)).toEqual([sound, fresh].toSorted());
    expect(failed).toEqual([culprit]);
    await cure();
    expect(idsOf(await claim(sql, { held }))).toEqual([culprit]);
  });

  test("also for a worker with room for one: it gets the one behind the culprit and what is killed, and no more", async () => {
    const world = await makeWorld(sql);
    const culprit = await givenRun(sql, world);
    const killed = await givenRun(sql, world);
    await killScope(sql, { scope: "run", scopeId: killed, workspaceId: world.workspaceId }, world.admin, "stop");
    const behind = [await givenRun(sql, world), await givenRun(sql, world)];
    const cure = await poisonRun(sql, culprit, isClaim);
    const failed: string[] = [];
    for (const runId of behind)
      expect(idsOf(await claim(sql, { limit: 1 }, (one) => failed.push(one)))).toEqual([runId]);
    expect(failed).toEqual([culprit, culprit]);
    await cure();
    expect(idsOf(await claim(sql))).toEqual([culprit]);
  });
});

test("DU05: a claim that fails at any write leaves the runs ready and the approved call not begun", async () => {
  const world = await makeWorld(sql);
  const { runId } = await givenApprovedRun(sql, world);
  const { outcome, written } = await failAtEveryWrite(sql, async (on) => {
    const errors: unknown[] = [];
    const claimed = await claimRuns(
      on,
      { worker: "test", leaseMs: 30_000, limit: 10, held: [], tools: toolHashes },
      (_runId, error) => void errors.push(error),
    );
    if (errors.length > 0) throw errors[0];
    return claimed;
  });
  expect(idsOf(outcome)).toEqual([runId]);
  expect(written.toSorted()).toEqual(["approvals", "audit", "capability_leases", "run_log", "runs", "tool_calls"]);
});
