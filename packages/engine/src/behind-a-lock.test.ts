import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { beforeAll, describe, expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { beginCall } from "./commits/begin-call.ts";
import { cancelRun } from "./commits/cancel-run.ts";
import { completeCall } from "./commits/complete-call.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { failRun } from "./commits/fail-run.ts";
import { killScope } from "./commits/kill-scope.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { recoverRuns } from "./commits/recover-runs.ts";
import { releaseRun } from "./commits/release-run.ts";
import { steerRun } from "./commits/steer-run.ts";
import type { Hold } from "./held-run.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import {
  aBegin,
  aDecision,
  aSteer,
  aTurn,
  claimRun,
  givenApprovedRun,
  givenExecutingCall,
  givenGatedRun,
  givenRequestedCall,
  givenRun,
  makeWorld,
} from "./testing/fixtures.ts";
import { callRow, endLease, moveDeadlines, runRow } from "./testing/rows.ts";
import { behindLock } from "./testing/held-lock.ts";

/*
 * A commit that waited for its lock judges what is true after the wait. Beside each rule stands the form that looks just
 * as safe, lock and guard in one statement: it waits too, but its snapshot is from before, and it gets the case wrong.
 */

const { sql, elsewhere } = await engineDatabase();

beforeAll(async () => {
  await sql.unsafe(`
    create function naive_decide(p_run uuid, p_approval uuid) returns bigint language sql volatile as $$
      with locked as (select r.id from runs r where r.id = p_run for no key update),
      guard as (
        select a.id from locked l join approvals a on a.run_id = l.id
         where a.id = p_approval and a.status = 'pending' and (a.expires_at is null or a.expires_at > clock_timestamp())),
      decided as (
        update approvals a set status = 'approved', decided_at = clock_timestamp(), answer = 'approve'
          from guard g where a.id = g.id returning a.id)
      select count(*) from decided $$;

    create function naive_finish(p_run uuid, p_epoch bigint) returns bigint language sql volatile as $$
      with locked as (select r.id from runs r where r.id = p_run and r.epoch = p_epoch for no key update),
      guard as (
        select l.id from locked l
         where not exists (select 1 from steers s where s.run_id = l.id and s.read_seq is null)),
      finished as (
        update runs r set status = 'completed', lease_id = null, lease_until = null, ready_at = null
          from guard g where r.id = g.id returning r.id)
      select count(*) from finished $$;

    create function naive_begin(p_run uuid, p_call uuid, p_versions text) returns bigint language sql volatile as $$
      with locked as (select r.id from runs r where r.id = p_run for no key update),
      guard as (
        select c.id from locked l join tool_calls c on c.run_id = l.id join policy_of(array[p_run]) p on p.run_id = l.id
         where c.id = p_call and c.status = 'requested' and p.killed is null and p.versions = p_versions),
      begun as (
        update tool_calls c set status = 'executing', finished_at = null from guard g where c.id = g.id returning c.id)
      select count(*) from begun $$;

    create function naive_complete(p_run uuid, p_epoch bigint, p_call uuid) returns bigint language sql volatile as $$
      with locked as (select r.id from runs r where r.id = p_run for no key update),
      guard as (
        select c.id from locked l join runs r on r.id = l.id join tool_calls c on c.run_id = r.id
         where r.epoch = p_epoch and c.id = p_call and c.status = 'executing'),
      completed as (
        update tool_calls c set status = 'done', finished_at = clock_timestamp() from guard g where c.id = g.id returning c.id)
      select count(*) from completed $$;
  `);
});

/** How many rows the naive form changes; rolled back, since what it does is wrong. */
async function naively(on: Sql, call: string): Promise<number> {
  const undo = new Error("rolled back on purpose");
  let changed = -1;
  await transaction(on, async (tx) => {
    const [row] = await tx.unsafe<{ n: number }[]>(`select ${call} as n`);
    changed = row?.n ?? -1;
    throw undo;
  }).catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return changed;
}

describe("AZ39: an approval whose deadline passes while its decision waits", () => {
  async function givenRace() {
    const world = await makeWorld(sql);
    return { world, given: await givenGatedRun(sql, world, { expiresMs: 60_000 }) };
  }

  test("is refused as expired", async () => {
    const { world, given } = await givenRace();
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => moveDeadlines(tx, given.runId, -500),
      waiting: [() => commitWithin(elsewhere, decideApproval, aDecision(world, given))],
    });
    expect(waiting[0]).toMatchObject({ kind: "expired" });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "waiting" });
  });

  test("would be approved by the naive form", async () => {
    const { given } = await givenRace();
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => moveDeadlines(tx, given.runId, -500),
      waiting: [() => naively(elsewhere, `naive_decide('${given.runId}', '${given.approvalId}')`)],
    });
    expect(waiting[0]).toBe(1);
  });
});

describe("DU19: an approval that is decided while another decision waits", () => {
  test("is settled for the one that waited", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => commitWithin(tx, decideApproval, aDecision(world, given, { answer: "deny" })),
      waiting: [
        () => commitWithin(elsewhere, decideApproval, aDecision(world, given, { userId: world.otherApprover })),
      ],
    });
    expect(waiting[0]).toMatchObject({ kind: "settled", answer: "deny", decidedBy: "Abe Approver" });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "denied" });
  });

  test("would be decided a second time by the naive form", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => commitWithin(tx, decideApproval, aDecision(world, given, { answer: "deny" })),
      waiting: [() => naively(elsewhere, `naive_decide('${given.runId}', '${given.approvalId}')`)],
    });
    expect(waiting[0]).toBe(1);
  });
});

describe("DU09: a steer that comes while the finish waits", () => {
  async function givenRace() {
    const world = await makeWorld(sql);
    const hold = await claimRun(sql, await givenRun(sql, world));
    return { world, hold };
  }

  test("is seen: the run takes it into one more turn", async () => {
    const { world, hold } = await givenRace();
    const { first, waiting } = await behindLock(sql, hold.runId, {
      first: (tx) => commitWithin(tx, steerRun, aSteer(world, hold.runId)),
      waiting: [() => commitWithin(elsewhere, recordTurn, aTurn(hold, { output: '"done"' }))],
    });
    expect(first).toEqual({ kind: "queued", n: 1 });
    expect(waiting[0]).toMatchObject({ kind: "unread", hasNews: true });
    expect(await runRow(sql, hold.runId)).toMatchObject({ status: "running", unread: 1, is_leased: true });
  });

  test("would be run over by the naive form", async () => {
    const { world, hold } = await givenRace();
    const { waiting } = await behindLock(sql, hold.runId, {
      first: (tx) => commitWithin(tx, steerRun, aSteer(world, hold.runId)),
      waiting: [() => naively(elsewhere, `naive_finish('${hold.runId}', ${hold.epoch})`)],
    });
    expect(waiting[0]).toBe(1);
  });

  test("comes too late where the finish was first, and its sender is told", async () => {
    const { world, hold } = await givenRace();
    const { waiting } = await behindLock(sql, hold.runId, {
      first: (tx) => commitWithin(tx, recordTurn, aTurn(hold, { output: '"done"' })),
      waiting: [() => commitWithin(elsewhere, steerRun, aSteer(world, hold.runId))],
    });
    expect(waiting[0]).toEqual({ kind: "ended" });
  });
});

describe("a start that waits", () => {
  test("sees the deny that was committed meanwhile", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => commitWithin(tx, decideApproval, aDecision(world, given, { answer: "deny" })),
      waiting: [() => commitWithin(elsewhere, beginCall, aBegin(given, { tool: "mail.send", needsApproval: true }))],
    });
    expect(waiting[0]).toEqual({ kind: "lease_lost" });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "denied", attempt: 0 });
  });

  test("AZ38: sees the cancel that was committed meanwhile", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world, { effect: "once" });
    const cancel = { runId: given.runId, workspaceId: world.workspaceId, userId: world.operator, reason: "stop" };
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => commitWithin(tx, cancelRun, cancel),
      waiting: [() => commitWithin(elsewhere, beginCall, aBegin(given))],
    });
    expect(waiting[0]).toEqual({ kind: "lease_lost" });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "canceled", attempt: 0 });
  });

  test.each(["workspace", "run"] as const)(
    "AZ69: sees the kill of the %s that was committed meanwhile",
    async (scope) => {
      const world = await makeWorld(sql);
      const given = await givenRequestedCall(sql, world, { effect: "once" });
      const scopeId = scope === "run" ? given.runId : world.workspaceId;
      const { waiting } = await behindLock(sql, given.runId, {
        first: (tx) => killScope(tx, { scope, scopeId, workspaceId: world.workspaceId }, world.admin, "stop"),
        waiting: [() => commitWithin(elsewhere, beginCall, aBegin(given))],
      });
      expect(waiting[0]).toEqual({ kind: "killed", scope });
      expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", attempt: 0 });
    },
  );

  test("sees the policy that moved meanwhile", async () => {
    const world = await makeWorld(sql);
    const given = await givenRequestedCall(sql, world, { effect: "once" });
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => tx`update policies set version = version + 1 where scope_id = ${world.workspaceId}`,
      waiting: [() => commitWithin(elsewhere, beginCall, aBegin(given))],
    });
    expect(waiting[0]).toEqual({ kind: "policy_moved", versions: "1.2.1.0" });
  });

  test("sees that its approver lost the role meanwhile", async () => {
    const world = await makeWorld(sql);
    const given = await givenApprovedRun(sql, world);
    await sql`update policies set version = 2 where scope_id = ${world.workspaceId}`;
    const hold = await claimRun(sql, given.runId);
    const begin = aBegin(
      { callId: given.callId, hold },
      { tool: "mail.send", needsApproval: true, policyVersions: "1.2.1.0" },
    );
    const { waiting } = await behindLock(sql, given.runId, {
      first: (tx) => tx`update users set role = 'viewer' where id = ${world.approver}`,
      waiting: [() => commitWithin(elsewhere, beginCall, begin)],
    });
    expect(waiting[0]).toEqual({ kind: "not_approved" });
  });

  test("would begin past the cancel, the kill and the moved policy in the naive form", async () => {
    const world = await makeWorld(sql);
    const firsts = [
      (runId: string) =>
        `select cancel_run(array['${runId}']::uuid[], array['${world.workspaceId}']::uuid[], array['${world.admin}']::uuid[], array['stop'], true)`,
      (runId: string) => `select kill_scope('run', '${runId}', '${world.workspaceId}', '${world.admin}', null, 'stop')`,
      () => `update policies set version = version + 1 where scope_id = '${world.workspaceId}'`,
    ];
    for (const first of firsts) {
      const given = await givenRequestedCall(sql, world, { effect: "once" });
      const { waiting } = await behindLock(sql, given.runId, {
        first: (tx) => tx.unsafe(first(given.runId)),
        waiting: [() => naively(elsewhere, `naive_begin('${given.runId}', '${given.callId}', '1.1.1.0')`)],
      });
      expect(waiting[0]).toBe(1);
    }
  });
});

describe("DU12: a commit of an old epoch that waits while a new claim holds the lock", () => {
  const stale: [string, (hold: Hold, callId: string) => Promise<{ kind: string }>][] = [
    [
      "a completion",
      (hold, callId) => commitWithin(elsewhere, completeCall, { ...hold, callId, status: "done", result: '"x"' }),
    ],
    ["a start", (hold, callId) => commitWithin(elsewhere, beginCall, aBegin({ hold, callId }, { again: true }))],
    ["a turn", (hold) => commitWithin(elsewhere, recordTurn, aTurn(hold, { turn: 1 }))],
    ["a finish", (hold) => commitWithin(elsewhere, recordTurn, aTurn(hold, { turn: 1, output: '"x"' }))],
    ["a failure", (hold) => commitWithin(elsewhere, failRun, { ...hold, reason: "error: late" })],
    ["a release", (hold) => commitWithin(elsewhere, releaseRun, { ...hold, isLeaving: true })],
  ];

  test.each(stale)("%s is refused", async (_name, commit) => {
    const world = await makeWorld(sql);
    const given = await givenExecutingCall(sql, world, { effect: "idempotent" });
    const { first, waiting } = await behindLock(sql, given.runId, {
      first: async (tx) => {
        await endLease(tx, given.runId);
        await recoverRuns(tx, 10, 5);
        return await claimRun(tx, given.runId);
      },
      waiting: [() => commit(given.hold, given.callId)],
    });
    expect(first.epoch).toBe(2);
    expect(waiting[0]).toMatchObject({ kind: "lease_lost" });
    expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_leased: true, epoch: 2, turns: 1 });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing", attempt: 1 });
  });

  test("would be taken by the naive form", async () => {
    const world = await makeWorld(sql);
    const given = await givenExecutingCall(sql, world);
    const { waiting } = await behindLock(sql, given.runId, {
      first: async (tx) => {
        await endLease(tx, given.runId);
        await recoverRuns(tx, 10, 5);
        await claimRun(tx, given.runId);
      },
      waiting: [() => naively(elsewhere, `naive_complete('${given.runId}', ${given.hold.epoch}, '${given.callId}')`)],
    });
    expect(waiting[0]).toBe(1);
  });
});
