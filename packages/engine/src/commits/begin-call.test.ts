import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aGatedCall,
  aTurn,
  claimRun,
  givenApprovedRun,
  givenExecutingCall,
  givenGatedRun,
  givenRequestedCall,
  givenRun,
  givenUnknownCall,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { callRow, endLease, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { completeCall } from "./complete-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { killScope, type Scope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";
import { recordTurn } from "./record-turn.ts";
import { recoverRuns } from "./recover-runs.ts";

const { sql, elsewhere } = await engineDatabase();

/** An approved call that the claim left to a second look, because the policy has moved since: now 1.2.1.0. */
async function givenSecondLook(world: World) {
  const given = await givenApprovedRun(sql, world);
  await movePolicy(sql, world.workspaceId);
  const hold = await claimRun(sql, given.runId);
  return { ...given, hold };
}

async function movePolicy(on: Queryable, scopeId: string): Promise<void> {
  await on.unsafe("update policies set version = version + 1 where scope_id = $1::uuid", [scopeId]);
}

const secondLook = { tool: "mail.send", policyVersions: "1.2.1.0", needsApproval: true };

test("a call begins under the holder's epoch, with its effect claimed and its capabilities acquired", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, {
    tool: "mail.send",
    effect: "once",
    requires: ["mail.send"],
  });
  expect(await commitWithin(sql, beginCall, aBegin(given, { tool: "mail.send" }))).toEqual({
    kind: "begun",
  });
  const [call] = await sql`select status, attempt, epoch, has_effect_claim from tool_calls where id = ${given.callId}`;
  expect(call).toEqual({
    status: "executing",
    attempt: 1,
    epoch: given.hold.epoch,
    has_effect_claim: true,
  });
  const acquired = await sql`
    select (select count(*)::int from capability_leases where call_id = ${given.callId}) as leases,
           (select count(*)::int from audit where call_id = ${given.callId} and action = 'capability.acquired') as audit,
           (select count(*)::int from run_log where call_id = ${given.callId} and kind = 'capability.acquired') as log`;
  expect(acquired[0]).toEqual({ leases: 1, audit: 1, log: 1 });
});

test("a read begins without a claim of an effect", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world);
  await commitWithin(sql, beginCall, aBegin(given));
  const [call] = await sql`select has_effect_claim from tool_calls where id = ${given.callId}`;
  expect(call?.has_effect_claim).toBe(false);
});

test("every capability that a call requires is acquired, each with its own line and audit row", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world, { grants: ["a", "b", "c"] });
  const hold = await claimRun(sql, runId);
  const call = aCall({ effect: "idempotent", requires: ["c", "a"] });
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
  await commitWithin(sql, beginCall, aBegin({ callId: call.id, hold }));
  const log =
    await sql`select content from run_log where run_id = ${runId} and kind = 'capability.acquired' order by seq`;
  expect(log.map((line) => line.content)).toEqual(['"acquired a"', '"acquired c"']);
});

test("DU29: an approval is used up before its call starts, and by nothing but its call", async () => {
  const world = await makeWorld(sql);
  const given = await givenSecondLook(world);
  expect(await commitWithin(sql, beginCall, aBegin(given, secondLook))).toEqual({ kind: "begun" });
  const [approval] =
    await sql`select consumed_at is not null as is_consumed from approvals where id = ${given.approvalId}`;
  expect(approval?.is_consumed).toBe(true);
});

describe("nothing begins", () => {
  test("DU11, DU17: for a stale epoch or a lease that is another's", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world);
    for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
      expect(await commitWithin(sql, beginCall, aBegin(given, over))).toEqual({
        kind: "lease_lost",
      });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", attempt: 0 });
  });

  test("for a call of another run, or one that waits, is settled or unknown", async () => {
    const world = await makeWorld(sql);
    const mine = await givenRequestedCall(sql, world);
    const other = await givenRequestedCall(sql, world);
    expect(await commitWithin(sql, beginCall, aBegin(mine, { callId: other.callId }))).toEqual({
      kind: "settled",
    });
    expect(await commitWithin(sql, beginCall, aBegin(mine, { callId: uuidv7() }))).toEqual({
      kind: "settled",
    });

    const waiting = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
    expect(
      await commitWithin(sql, beginCall, aBegin(waiting, { tool: "mail.send", again: true, needsApproval: true })),
    ).toEqual({ kind: "settled" });

    const done = await givenRequestedCall(sql, world);
    await commitWithin(sql, completeCall, {
      ...done.hold,
      callId: done.callId,
      status: "done",
      result: '"x"',
    });
    expect(await commitWithin(sql, beginCall, aBegin(done, { again: true }))).toEqual({
      kind: "settled",
    });
  });

  test.each(["app", "workspace", "definition", "run"] as const)(
    "AZ69: while the %s is killed, and again once it is lifted",
    async (scope) => {
      const world = await makeWorld(sql);
      const given = await givenRequestedCall(sql, world);
      const killed: Scope = {
        scope,
        scopeId: {
          app: "00000000-0000-0000-0000-000000000000",
          workspace: world.workspaceId,
          definition: world.definitionId,
          run: given.runId,
        }[scope],
        workspaceId: scope === "app" ? undefined : world.workspaceId,
      };
      await killScope(sql, killed, world.admin, "stop");
      expect(await commitWithin(sql, beginCall, aBegin(given))).toEqual({ kind: "killed", scope });
      expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", attempt: 0 });
      await liftScope(sql, killed, world.admin);
      const moved = await commitWithin(sql, beginCall, aBegin(given));
      if (moved.kind !== "policy_moved") throw new Error(moved.kind);
      expect(await commitWithin(sql, beginCall, aBegin(given, { policyVersions: moved.versions }))).toEqual({
        kind: "begun",
      });
      // The versions of the app are everybody's.
      await sql`update policies set version = 1 where scope = 'app'`;
    },
  );

  test("under policy that moved since the worker looked; it is told the versions to look at", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world);
    await movePolicy(sql, world.definitionId);
    expect(await commitWithin(sql, beginCall, aBegin(given))).toEqual({
      kind: "policy_moved",
      versions: "1.1.2.0",
    });
    expect(await commitWithin(sql, beginCall, aBegin(given, { policyVersions: "1.1.2.0" }))).toEqual({ kind: "begun" });
  });

  test("with a tool that is not the one that was judged", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world);
    expect(await commitWithin(sql, beginCall, aBegin(given, { definitionHash: "newer" }))).toEqual({
      kind: "definition_changed",
    });
  });

  test("without the grant of every capability it requires", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world, { requires: ["mail.send", "web.read"] });
    expect(await commitWithin(sql, beginCall, aBegin(given))).toEqual({
      kind: "not_granted",
      capability: "web.read",
    });
    expect(await sql`select from capability_leases where call_id = ${given.callId}`).toHaveLength(0);
  });

  test("AZ35: on another call's approval: the same tool with the same arguments asks again", async () => {
    const world = await makeWorld(sql);
    const { runId, hold, callId } = await givenSecondLook(world);
    expect(await commitWithin(sql, beginCall, aBegin({ callId, hold }, secondLook))).toEqual({
      kind: "begun",
    });
    await commitWithin(sql, completeCall, { ...hold, callId, status: "done", result: '"sent"' });
    const again = aGatedCall({ next: { kind: "run" } });
    await commitWithin(sql, recordTurn, aTurn(hold, { turn: 1, calls: [again] }));
    expect(await commitWithin(sql, beginCall, aBegin({ callId: again.id, hold }, secondLook))).toEqual({
      kind: "not_approved",
    });
    expect(await callRow(sql, again.id)).toMatchObject({ status: "requested", attempt: 0 });
    expect(await runRow(sql, runId)).toMatchObject({ status: "running" });
  });

  test.each<[string, (given: { callId: string; approvalId: string; approver: string }) => string]>([
    [
      "DU29: whose arguments changed by a byte",
      ({ callId }) => `update tool_calls set args_hash = 'hash-of-argt' where id = '${callId}'`,
    ],
    [
      "that approved another tool definition",
      ({ approvalId }) => `update approvals set definition_hash = 'older' where id = '${approvalId}'`,
    ],
    ["whose approver has lost the role", ({ approver }) => `update users set role = 'viewer' where id = '${approver}'`],
    [
      "whose approver was disabled",
      ({ approver }) => `update users set disabled_at = clock_timestamp() where id = '${approver}'`,
    ],
  ])("on an approval %s", async (_name, change) => {
    const world = await makeWorld(sql);
    const given = await givenSecondLook(world);
    await sql.unsafe(change({ ...given, approver: world.approver }));
    expect(await commitWithin(sql, beginCall, aBegin(given, secondLook))).toEqual({
      kind: "not_approved",
    });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", attempt: 0 });
  });

  test("on an approval that was used before by a start of another kind", async () => {
    const world = await makeWorld(sql);
    const given = await givenSecondLook(world);
    await sql`update approvals set consumed_at = clock_timestamp() where id = ${given.approvalId}`;
    expect(await commitWithin(sql, beginCall, aBegin(given, secondLook))).toEqual({
      kind: "not_approved",
    });
    await sql`update approvals set consumed_at = null where id = ${given.approvalId}`;
  });
});

describe("a call that was begun before", () => {
  test("DU27: is begun already for the holder that began it, and nothing is acquired twice", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world, {
      tool: "mail.send",
      effect: "once",
      requires: ["mail.send"],
    });
    const begin = aBegin(given, { tool: "mail.send" });
    await commitWithin(sql, beginCall, begin);
    expect(await commitWithin(sql, beginCall, begin)).toEqual({ kind: "already" });
    expect(await callRow(sql, given.callId)).toMatchObject({ attempt: 1 });
    const acquired = await sql`select from audit where call_id = ${given.callId} and action = 'capability.acquired'`;
    expect(acquired).toHaveLength(1);
  });

  test("and was left by a dead worker, is begun again only where the tool recognises its key", async () => {
    const world = await makeWorld(sql);
    const given = await givenExecutingCall(sql, world, { effect: "idempotent" });
    await endLease(sql, given.runId);
    await recoverRuns(sql, 10, 5);
    const hold = await claimRun(sql, given.runId);
    const next = { callId: given.callId, hold };
    expect(await commitWithin(sql, beginCall, aBegin(next))).toEqual({ kind: "settled" });
    expect(await commitWithin(sql, beginCall, aBegin(next, { again: true }))).toEqual({
      kind: "begun",
    });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing", attempt: 2 });
  });

  test("AZ36: and is unknown, is begun again only after a person says so, and once per answer", async () => {
    const world = await makeWorld(sql);
    const given = await givenUnknownCall(sql, world);
    const hold = await reclaim(given.runId, given.approvalId, world);
    const next = { callId: given.callId, hold };
    expect(await commitWithin(sql, beginCall, aBegin(next))).toEqual({ kind: "begun" });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing", attempt: 2 });
    await endLease(sql, given.runId);
    await recoverRuns(sql, 10, 5);
    const later = await claimRun(sql, given.runId);
    expect(await commitWithin(sql, beginCall, aBegin({ callId: given.callId, hold: later }))).toEqual({
      kind: "settled",
    });

    async function reclaim(runId: string, approvalId: string, world: World) {
      await commitWithin(sql, decideApproval, aDecision(world, { runId, approvalId }, { answer: "retry" }));
      return await claimRun(sql, runId);
    }
  });
});

test("DU39: beginning a call is no progress: a call that always kills its worker ends in quarantine", async () => {
  const world = await makeWorld(sql);
  const { runId, callId } = await givenExecutingCall(sql, world, { effect: "idempotent" });
  let claims = 0;
  for (; claims < 10; claims += 1) {
    await endLease(sql, runId);
    const [recovered] = await recoverRuns(sql, 10, 3);
    if (recovered?.kind === "quarantined") break;
    const hold = await claimRun(sql, runId);
    await commitWithin(sql, beginCall, aBegin({ callId, hold }, { again: true }));
  }
  expect(claims).toBe(3);
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "quarantine" });
});

test("of two holders' begins behind one lock, the call begins once", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, { effect: "once" });
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, beginCall, aBegin(given)),
      () => commitWithin(elsewhere, beginCall, aBegin(given)),
    ],
  });
  expect(waiting.map((outcome) => outcome.kind).toSorted()).toEqual(["already", "begun"]);
  expect(await callRow(sql, given.callId)).toMatchObject({ attempt: 1 });
});

test("DU05: a begin that fails at any write leaves the call as it was", async () => {
  const world = await makeWorld(sql);
  const given = await givenSecondLook(world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, beginCall, aBegin(given, secondLook)),
  );
  expect(outcome).toEqual({ kind: "begun" });
  expect(written.toSorted()).toEqual(["approvals", "audit", "capability_leases", "run_log", "runs", "tool_calls"]);
});
