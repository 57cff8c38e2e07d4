import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aSteer,
  claimRun,
  givenGatedRun,
  givenRequestedCall,
  givenRun,
  makeWorld,
} from "../testing/fixtures.ts";
import { endLease, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { completeCall } from "./complete-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { recoverRuns } from "./recover-runs.ts";
import { releaseRun } from "./release-run.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

test("DU41: a holder that leaves gives its run back, ready for another, under the same epoch", async () => {
  const world = await makeWorld(sql);
  const { runId, hold } = await givenRequestedCall(sql, world);
  expect(await commitWithin(sql, releaseRun, { ...hold, isLeaving: true })).toEqual({ kind: "released" });
  expect(await runRow(sql, runId)).toMatchObject({
    status: "running",
    is_ready: true,
    is_leased: false,
    epoch: 1,
    claims: 0,
  });
  expect((await claimRun(sql, runId)).epoch).toBe(2);
});

test("a run that has work is not given back by a holder that stays", async () => {
  const world = await makeWorld(sql);
  const { runId, hold } = await givenRequestedCall(sql, world);
  const before = await allRows(sql);
  expect(await commitWithin(sql, releaseRun, { ...hold, isLeaving: false })).toEqual({ kind: "busy" });
  expect(await allRows(sql)).toBe(before);
  expect(await runRow(sql, runId)).toMatchObject({ is_leased: true });
});

test("a run that only waits is parked, and is not ready for anybody", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  await endLease(sql, given.runId);
  await recoverRuns(sql, 10, 5);
  const hold = await claimRun(sql, given.runId);
  const [sibling] = hold.snapshot.calls.filter((call) => call.status === "requested");
  // The sibling is settled beside the holder, so that only the wait is left.
  await sql`update tool_calls set status = 'canceled', finished_at = clock_timestamp() where id = ${sibling?.id ?? ""}`;
  expect(await commitWithin(sql, releaseRun, { ...hold, isLeaving: false })).toEqual({ kind: "released" });
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "paused",
    waits_on: "approval",
    is_ready: false,
    is_leased: false,
  });
});

test("DU01, DU02: a decision between a holder's last look and its release is not lost", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  for (const isLeaving of [false, true]) {
    const { waiting } = await behindLock(sql, given.runId, {
      first: async (tx): Promise<unknown> =>
        isLeaving
          ? await commitWithin(tx, steerRun, aSteer(world, given.runId))
          : await commitWithin(tx, decideApproval, aDecision(world, given)),
      waiting: [() => commitWithin(elsewhere, releaseRun, { ...given.hold, isLeaving })],
    });
    expect(waiting[0].kind).toBe(isLeaving ? "released" : "busy");
    expect(await runRow(sql, given.runId)).toMatchObject({ is_ready: true, is_leased: !isLeaving });
  }
  expect((await claimRun(sql, given.runId)).snapshot.calls[0]).toMatchObject({ status: "executing" });
});

test("DU11: a release under a stale epoch, another's lease, or after the lease is gone changes nothing", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const before = await allRows(sql);
  for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
    expect(await commitWithin(sql, releaseRun, { ...hold, ...over, isLeaving: true })).toEqual({ kind: "lease_lost" });
  expect(await allRows(sql)).toBe(before);
  await commitWithin(sql, releaseRun, { ...hold, isLeaving: true });
  expect(await commitWithin(sql, releaseRun, { ...hold, isLeaving: true })).toEqual({ kind: "lease_lost" });
  const next = await claimRun(sql, runId);
  expect(await commitWithin(sql, releaseRun, { ...hold, isLeaving: true })).toEqual({ kind: "lease_lost" });
  expect(await runRow(sql, runId)).toMatchObject({ is_leased: true, epoch: next.epoch });
});

test("of two releases behind one lock, one releases", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, releaseRun, { ...hold, isLeaving: true }),
      () => commitWithin(elsewhere, releaseRun, { ...hold, isLeaving: true }),
    ],
  });
  expect(waiting.map((outcome) => outcome.kind).toSorted()).toEqual(["lease_lost", "released"]);
});

test("a completion after a release is refused", async () => {
  const world = await makeWorld(sql);
  const { callId, hold } = await givenRequestedCall(sql, world);
  await commitWithin(sql, releaseRun, { ...hold, isLeaving: true });
  expect(await commitWithin(sql, completeCall, { ...hold, callId, status: "done", result: '"x"' })).toMatchObject({
    kind: "lease_lost",
  });
});

test("DU05: a release that fails leaves the lease", async () => {
  const world = await makeWorld(sql);
  const { hold } = await givenRequestedCall(sql, world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, releaseRun, { ...hold, isLeaving: true }),
  );
  expect(outcome).toEqual({ kind: "released" });
  expect(written).toEqual(["runs"]);
});
