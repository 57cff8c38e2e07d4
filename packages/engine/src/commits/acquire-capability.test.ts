import { createGroupCommit } from "@countersign/db/group-commit.ts";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import type { Hold } from "../held-run.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { claimRun, givenExecutingCall, givenRequestedCall, makeWorld, type World } from "../testing/fixtures.ts";
import { endLease, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import {
  acquireCapability,
  isAuditUnavailable,
  type AcquireCapability,
  type AcquireOutcome,
} from "./acquire-capability.ts";
import { completeCall } from "./complete-call.ts";
import { killScope } from "./kill-scope.ts";
import { recoverRuns } from "./recover-runs.ts";
import { revokeGrant } from "./revoke-grant.ts";

const { sql, elsewhere } = await engineDatabase();

function givenMailCall(world: World) {
  return givenExecutingCall(sql, world, { tool: "mail.send", effect: "once", requires: ["mail.send"] });
}

function anAcquire(
  given: { readonly callId: string; readonly hold: Hold },
  over: Partial<AcquireCapability> = {},
): AcquireCapability {
  const { runId, epoch, leaseId } = given.hold;
  return { runId, epoch, leaseId, callId: given.callId, capability: "mail.send", ...over };
}

async function expireLease(callId: string): Promise<void> {
  await sql`update capability_leases set expires_at = clock_timestamp() - interval '1 second' where call_id = ${callId}`;
}

/** What is recorded of a call's capabilities: each lease's seconds to go, and the lines of audit and log. */
async function recordsOf(callId: string) {
  const leases = await sql`
    select capability, round(extract(epoch from expires_at - clock_timestamp()))::int as seconds
      from capability_leases where call_id = ${callId} order by capability`;
  const audit = await sql`
    select action, subject, details from audit where call_id = ${callId} and action like 'capability.%' order by id`;
  const log = await sql`
    select content from run_log where call_id = ${callId} and kind like 'capability.%' order by seq`;
  return {
    leases: leases.map((row) => `${row.capability} ${row.seconds > 290 ? "live" : "over"}`),
    audit: audit.map((row) => [row.action, row.subject, row.details?.code].filter(Boolean).join(" ")),
    log: log.map((row) => row.content),
  };
}

test("an acquire in mid-call renews the lease, with its own line and audit row", async () => {
  const world = await makeWorld(sql);
  const given = await givenMailCall(world);
  await expireLease(given.callId);
  const before = await runRow(sql, given.runId);
  expect(await commitWithin(sql, acquireCapability, anAcquire(given))).toEqual({ kind: "renewed" });
  expect(await recordsOf(given.callId)).toEqual({
    leases: ["mail.send live"],
    audit: ["capability.acquired mail.send", "capability.renewed mail.send"],
    log: ['"acquired mail.send"', '"renewed mail.send"'],
  });
  expect(await runRow(sql, given.runId)).toEqual(before);
});

test("a lease that is not there begins", async () => {
  const world = await makeWorld(sql);
  const given = await givenMailCall(world);
  await sql`delete from capability_leases where call_id = ${given.callId}`;
  await sql`delete from audit where call_id = ${given.callId}`;
  expect(await commitWithin(sql, acquireCapability, anAcquire(given))).toEqual({ kind: "acquired" });
  expect(await recordsOf(given.callId)).toMatchObject({
    leases: ["mail.send live"],
    audit: ["capability.acquired mail.send"],
  });
});

describe("nothing is acquired, and the refusal is recorded", () => {
  test("where the grant was taken back", async () => {
    const world = await makeWorld(sql);
    const given = await givenMailCall(world);
    await expireLease(given.callId);
    await commitWithin(sql, revokeGrant, {
      runId: given.runId,
      workspaceId: world.workspaceId,
      userId: world.admin,
      capability: "mail.send",
    });
    expect(await commitWithin(sql, acquireCapability, anAcquire(given))).toEqual({ kind: "not_granted" });
    expect(await recordsOf(given.callId)).toMatchObject({
      leases: ["mail.send over"],
      audit: ["capability.acquired mail.send", "capability.refused mail.send not_granted"],
      log: ['"acquired mail.send"', '"refused mail.send"'],
    });
  });

  test("where the tool of the call does not require the capability, granted or not", async () => {
    const world = await makeWorld(sql);
    const given = await givenExecutingCall(sql, world);
    for (const capability of ["mail.send", "web.fetch"])
      expect(await commitWithin(sql, acquireCapability, anAcquire(given, { capability }))).toEqual({
        kind: "not_required",
      });
    expect(await recordsOf(given.callId)).toEqual({
      leases: [],
      audit: ["capability.refused mail.send not_required", "capability.refused web.fetch not_required"],
      log: ['"refused mail.send"', '"refused web.fetch"'],
    });
  });
});

describe("nothing is acquired, and nothing is written", () => {
  test("DU11, DU17: under a stale epoch or a lease that is another's", async () => {
    const world = await makeWorld(sql);
    const given = await givenMailCall(world);
    const before = await allRows(sql);
    for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
      expect(await commitWithin(sql, acquireCapability, anAcquire(given, over))).toEqual({ kind: "lease_lost" });
    expect(await allRows(sql)).toBe(before);
  });

  test("for a call that has not begun, is settled, is another run's, or executes under an older epoch", async () => {
    const world = await makeWorld(sql);
    const requested = await givenRequestedCall(sql, world, { requires: ["mail.send"] });
    const done = await givenMailCall(world);
    await commitWithin(sql, completeCall, { ...done.hold, callId: done.callId, status: "done", result: '"sent"' });
    const left = await givenMailCall(world);
    await endLease(sql, left.runId);
    await recoverRuns(sql, 10, 5);
    const hold = await claimRun(sql, left.runId);
    const before = await allRows(sql);
    for (const acquire of [
      anAcquire(requested),
      anAcquire(done),
      anAcquire(requested, { callId: done.callId }),
      anAcquire({ callId: left.callId, hold }),
    ])
      expect(await commitWithin(sql, acquireCapability, acquire)).toEqual({ kind: "settled" });
    expect(await allRows(sql)).toBe(before);
  });

  test("AZ69: while the scope is killed", async () => {
    const world = await makeWorld(sql);
    const given = await givenMailCall(world);
    const scope = { scope: "workspace", scopeId: world.workspaceId, workspaceId: world.workspaceId } as const;
    await killScope(sql, scope, world.admin, "stop");
    const before = await allRows(sql);
    expect(await commitWithin(sql, acquireCapability, anAcquire(given))).toEqual({
      kind: "killed",
      scope: "workspace",
    });
    expect(await allRows(sql)).toBe(before);
  });
});

test("of two acquires behind one lock, each renews and the grant is still checked for both", async () => {
  const world = await makeWorld(sql);
  const given = await givenMailCall(world);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, acquireCapability, anAcquire(given)),
      () => commitWithin(elsewhere, acquireCapability, anAcquire(given)),
    ],
  });
  expect(waiting).toEqual([{ kind: "renewed" }, { kind: "renewed" }]);
  expect((await recordsOf(given.callId)).leases).toEqual(["mail.send live"]);
});

test("an acquire that waited behind the revocation of its grant is refused", async () => {
  const world = await makeWorld(sql);
  const given = await givenMailCall(world);
  const revocation = {
    runId: given.runId,
    workspaceId: world.workspaceId,
    userId: world.admin,
    capability: "mail.send",
  };
  const { waiting } = await behindLock(sql, given.runId, {
    first: (tx) => commitWithin(tx, revokeGrant, revocation),
    waiting: [() => commitWithin(elsewhere, acquireCapability, anAcquire(given))],
  });
  expect(waiting).toEqual([{ kind: "not_granted" }]);
});

test("acquires of several runs in one batch are each answered for themselves", async () => {
  const world = await makeWorld(sql);
  const [one, two] = [await givenMailCall(world), await givenMailCall(world)];
  const group = createGroupCommit<AcquireCapability, AcquireOutcome>({
    commit: (members, how) => acquireCapability.send(sql, members, how),
    straggle: (members, how) => acquireCapability.send(elsewhere, members, how),
    keysOf: acquireCapability.runsOf,
  });
  const outcomes = await Promise.all([
    group(anAcquire(one)),
    group(anAcquire(two)),
    group(anAcquire(two, { capability: "web.fetch" })),
    group(anAcquire(one, { epoch: 9 })),
  ]);
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(["renewed", "renewed", "not_required", "lease_lost"]);
});

test("KN31: an audit row that cannot be written leaves nothing acquired, and the error says which kind it is", async () => {
  const world = await makeWorld(sql);
  const given = await givenMailCall(world);
  await sql.unsafe(`alter table audit add constraint full_disk check (action <> 'capability.renewed') not valid`);
  const before = await allRows(sql);
  const failure = await commitWithin(sql, acquireCapability, anAcquire(given)).catch((error: unknown) => error);
  expect(isAuditUnavailable(failure)).toBe(true);
  expect(await allRows(sql)).toBe(before);
  await sql.unsafe(`alter table audit drop constraint full_disk`);
  expect(await commitWithin(sql, acquireCapability, anAcquire(given))).toEqual({ kind: "renewed" });
  expect(isAuditUnavailable(new Error("another"))).toBe(false);
});

test("an acquire that fails at any write leaves nothing", async () => {
  const world = await makeWorld(sql);
  const given = await givenMailCall(world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, acquireCapability, anAcquire(given)),
  );
  expect(outcome).toEqual({ kind: "renewed" });
  expect(written).toEqual(["audit", "capability_leases", "run_log", "runs"]);
});
