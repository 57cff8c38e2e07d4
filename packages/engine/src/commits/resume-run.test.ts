import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aDecision, claimRun, givenGatedRun, givenRun, makeWorld, type World } from "../testing/fixtures.ts";
import { behindLock } from "../testing/held-lock.ts";
import { endLease, runRow } from "../testing/rows.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { cancelRun } from "./cancel-run.ts";
import { decideApproval } from "./decide-approval.ts";
import { recoverRuns } from "./recover-runs.ts";
import { resumeRun, type ResumeRun } from "./resume-run.ts";

const { sql, elsewhere } = await engineDatabase();

/** Its worker dies for the last time. */
async function quarantine(runId: string): Promise<void> {
  await endLease(sql, runId);
  expect(await recoverRuns(sql, 10, 1)).toEqual([{ runId, kind: "quarantined" }]);
}

async function givenQuarantinedRun(world: World): Promise<string> {
  const runId = await givenRun(sql, world);
  await claimRun(sql, runId);
  await quarantine(runId);
  return runId;
}

const resuming = ({ workspaceId, operator: userId }: World, runId: string): ResumeRun => ({
  runId,
  workspaceId,
  userId,
});

test("DU39: a run that a person lets go on is ready, and its claims are counted anew, with who did it in the audit", async () => {
  const world = await makeWorld(sql);
  const runId = await givenQuarantinedRun(world);
  expect(await commitWithin(sql, resumeRun, resuming(world, runId))).toEqual({ kind: "resumed" });
  expect(await runRow(sql, runId)).toMatchObject({ status: "running", waits_on: null, is_ready: true, claims: 0 });
  const audit = await sql`select actor, action from audit where run_id = ${runId} order by id desc limit 1`;
  expect(audit).toEqual([{ actor: `user:${world.operator}`, action: "run.resumed" }]);
  expect((await claimRun(sql, runId)).epoch).toBe(2);
});

test("what was decided while a run was in quarantine is gone on with; what still waits is waited for", async () => {
  const world = await makeWorld(sql);
  const decided = await givenGatedRun(sql, world);
  const open = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  for (const { runId } of [decided, open]) {
    await sql`update runs set ready_at = clock_timestamp() where id = ${runId}`;
    await claimRun(sql, runId);
    await quarantine(runId);
  }
  await commitWithin(sql, decideApproval, aDecision(world, decided));
  for (const { runId } of [decided, open]) await commitWithin(sql, resumeRun, resuming(world, runId));
  expect(await runRow(sql, decided.runId)).toMatchObject({ status: "running", is_ready: true });
  expect(await runRow(sql, open.runId)).toMatchObject({ status: "paused", waits_on: "approval", is_ready: false });
  const [row] = await sql`select wake_at is not null as is_timed from runs where id = ${open.runId}`;
  expect(row).toEqual({ is_timed: true });
});

test("a run in no quarantine, one that has ended, and one of another workspace stay as they are", async () => {
  const world = await makeWorld(sql);
  const { runId } = await givenGatedRun(sql, world);
  const ended = await givenQuarantinedRun(world);
  await commitWithin(sql, cancelRun, { ...resuming(world, ended), reason: "no" });
  const foreign = await givenQuarantinedRun(await makeWorld(sql));
  const before = await allRows(sql);
  expect(await commitWithin(sql, resumeRun, resuming(world, runId))).toEqual({ kind: "not_quarantined" });
  expect(await commitWithin(sql, resumeRun, resuming(world, ended))).toEqual({ kind: "canceled" });
  expect(await commitWithin(sql, resumeRun, resuming(world, foreign))).toEqual({ kind: "not_found" });
  expect(await allRows(sql)).toBe(before);
});

test("of two who let a run go on at once, one does", async () => {
  const world = await makeWorld(sql);
  const runId = await givenQuarantinedRun(world);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, resumeRun, resuming(world, runId)),
      () => commitWithin(elsewhere, resumeRun, resuming(world, runId)),
    ],
  });
  expect(waiting.map(({ kind }) => kind).toSorted()).toEqual(["not_quarantined", "resumed"]);
});

test("DU05: one that fails at any write leaves the run in quarantine", async () => {
  const world = await makeWorld(sql);
  const runId = await givenQuarantinedRun(world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) => commitWithin(on, resumeRun, resuming(world, runId)));
  expect(outcome).toEqual({ kind: "resumed" });
  expect(written).toContain("audit");
});
