import { transaction } from "@countersign/db/transaction.ts";
import { beforeEach, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aSteer,
  aTurn,
  claimRun,
  givenExecutingCall,
  givenGatedRun,
  givenRun,
  makeWorld,
} from "../testing/fixtures.ts";
import { poisonRun } from "../testing/poison.ts";
import { callRow, endLease, runRow } from "../testing/rows.ts";
import { failAtEveryWrite } from "../testing/write-faults.ts";
import { decideApproval } from "./decide-approval.ts";
import { recordTurn } from "./record-turn.ts";
import { recoverRuns } from "./recover-runs.ts";
import { releaseRun } from "./release-run.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

beforeEach(async () => {
  await recoverRuns(sql, 1000, 100);
});

test("DU24: a run whose worker died is ready as soon as its lease is over, and not before", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const dead = await claimRun(sql, runId);
  expect(await recoverRuns(sql, 10, 5)).toEqual([]);
  await endLease(sql, runId);
  expect(await recoverRuns(sql, 10, 5)).toEqual([{ runId, kind: "ready" }]);
  expect(await runRow(sql, runId)).toMatchObject({ status: "running", is_ready: true, is_leased: false, epoch: 1 });
  const hold = await claimRun(sql, runId);
  expect(hold.epoch).toBe(2);
  expect(await commitWithin(sql, recordTurn, aTurn(dead, { output: '"late"' }))).toMatchObject({ kind: "lease_lost" });
});

test("DU38: a lease ends by the database's clock: the worker gives a duration and never a time", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await claimRun(sql, runId, 90_000);
  const [row] = await sql`select lease_until - claimed_at as length from runs where id = ${runId}`;
  expect(row?.length).toMatch(/^00:01:(30|29\.9)/);
});

test("what a dead worker left executing stays executing, under its old epoch", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  await endLease(sql, given.runId);
  await recoverRuns(sql, 10, 5);
  const [call] = await sql`select status, epoch from tool_calls where id = ${given.callId}`;
  expect(call).toEqual({ status: "executing", epoch: 1 });
});

test("a decision that came while the dead worker held the run is not lost", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  await commitWithin(sql, decideApproval, aDecision(world, given));
  await endLease(sql, given.runId);
  await recoverRuns(sql, 10, 5);
  await claimRun(sql, given.runId);
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing", attempt: 1 });
});

test("DU15: a steer that two workers saw is read once", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const first = await claimRun(sql, runId);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  await endLease(sql, runId);
  await recoverRuns(sql, 10, 5);
  const second = await claimRun(sql, runId);
  expect(second.snapshot.steers).toMatchObject([{ n: 1 }]);
  const outcomes = await Promise.all([
    commitWithin(sql, recordTurn, aTurn(first, { steersRead: 1, output: '"one"' })),
    commitWithin(elsewhere, recordTurn, aTurn(second, { steersRead: 1, output: '"two"' })),
  ]);
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(["lease_lost", "finished"]);
  const log = await sql`select content from run_log where run_id = ${runId} and kind = 'user' order by seq`;
  expect(log.map((line) => line.content)).toEqual(['"please do"', '"please hurry"']);
  expect(await runRow(sql, runId)).toMatchObject({ output: '"two"', unread: 0 });
});

test("DU39: a run that is claimed again and again without progress is quarantined, and audited", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  for (let claims = 1; claims <= 3; claims += 1) {
    await claimRun(sql, runId);
    await endLease(sql, runId);
    expect(await recoverRuns(sql, 10, 3)).toEqual([{ runId, kind: claims < 3 ? "ready" : "quarantined" }]);
  }
  expect(await runRow(sql, runId)).toMatchObject({
    status: "paused",
    waits_on: "quarantine",
    is_ready: false,
    is_leased: false,
    claims: 3,
  });
  const audit = await sql`select actor, action, details from audit where run_id = ${runId}`;
  expect(audit).toEqual([
    { actor: "system:recovery", action: "run.quarantined", details: { claimsWithoutProgress: 3 } },
  ]);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  expect(await runRow(sql, runId)).toMatchObject({ waits_on: "quarantine", is_ready: false, unread: 1 });
});

test("progress and an orderly release begin the count anew", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await claimRun(sql, runId);
  await endLease(sql, runId);
  await recoverRuns(sql, 10, 3);
  const second = await claimRun(sql, runId);
  expect(await runRow(sql, runId)).toMatchObject({ claims: 2 });
  await commitWithin(sql, recordTurn, aTurn(second));
  expect(await runRow(sql, runId)).toMatchObject({ claims: 0 });
  await endLease(sql, runId);
  await recoverRuns(sql, 10, 3);
  const third = await claimRun(sql, runId);
  await commitWithin(sql, releaseRun, { ...third, isLeaving: true });
  expect(await runRow(sql, runId)).toMatchObject({ claims: 0, is_ready: true });
});

test("DU14: of two recoverers, one with an old list, one recovers", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await claimRun(sql, runId);
  await endLease(sql, runId);
  const [first, second] = await transaction(sql, async (tx) => {
    const first = await recoverRuns(tx, 10, 5);
    return [first, await recoverRuns(elsewhere, 10, 5)];
  });
  expect(first).toEqual([{ runId, kind: "ready" }]);
  expect(second).toEqual([]);
  expect(await recoverRuns(elsewhere, 10, 5)).toEqual([]);
});

test("DU14: recoverers at once recover each run once, and no more than asked for", async () => {
  const world = await makeWorld(sql);
  const runs: string[] = [];
  for (let i = 0; i < 10; i += 1) {
    const runId = await givenRun(sql, world);
    await claimRun(sql, runId);
    await endLease(sql, runId);
    runs.push(runId);
  }
  const recovered = await Promise.all([sql, elsewhere, sql].map((on) => recoverRuns(on, 4, 5)));
  for (const some of recovered) expect(some.length).toBeLessThanOrEqual(4);
  recovered.push(await recoverRuns(sql, 100, 5));
  expect(
    recovered
      .flat()
      .map(({ runId }) => runId)
      .toSorted(),
  ).toEqual(runs.toSorted());
});

test("DU23: a run whose rows make the recovery fail harms only itself, for however long", async () => {
  const world = await makeWorld(sql);
  const runs: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const runId = await givenRun(sql, world);
    await claimRun(sql, runId);
    await endLease(sql, runId);
    runs.push(runId);
  }
  const [culprit = "", ...sound] = runs;
  const cure = await poisonRun(sql, culprit);
  const failed: string[] = [];
  expect(await recoverRuns(sql, 2, 5, (runId) => failed.push(runId))).toEqual(
    sound.map((runId) => ({ runId, kind: "ready" })),
  );
  expect(await recoverRuns(sql, 2, 5, (runId) => failed.push(runId))).toEqual([]);
  expect(failed).toEqual([culprit, culprit]);
  await cure();
  expect(await recoverRuns(sql, 2, 5)).toEqual([{ runId: culprit, kind: "ready" }]);
});

test.each([0, 5])(
  "DU05: a recovery after at most %i claims that fails at any write leaves the leases",
  async (maxClaims) => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    await claimRun(sql, runId);
    await endLease(sql, runId);
    const { outcome, written } = await failAtEveryWrite(sql, (on) => recoverRuns(on, 10, maxClaims));
    expect(outcome).toEqual([{ runId, kind: maxClaims === 0 ? "quarantined" : "ready" }]);
    expect(written).toEqual(maxClaims === 0 ? ["runs", "audit"] : ["runs"]);
  },
);
