import { beforeEach, describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aGatedCall,
  aQuestionCall,
  aTurn,
  claimRun,
  givenGatedRun,
  givenQuestionRun,
  givenRun,
  makeWorld,
} from "../testing/fixtures.ts";
import { poisonRun } from "../testing/poison.ts";
import { callRow, moveDeadlines, runRow } from "../testing/rows.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { decideApproval } from "./decide-approval.ts";
import { expireWaits } from "./expire-waits.ts";
import { killScope, type Scope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";
import { recordTurn } from "./record-turn.ts";

const { sql, elsewhere } = await engineDatabase();

beforeEach(async () => {
  await expireWaits(sql, 1000);
});

test("DU28: an overdue approval is expired, not denied by anybody; its call and the log say so", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  expect(await expireWaits(sql, 10)).toEqual([]);
  await moveDeadlines(sql, given.runId, -1);
  expect(await expireWaits(sql, 10)).toEqual([given.runId]);
  const [row] = await sql`
    select a.status, a.decided_by, a.answer, a.version, a.settled_reason, t.status as card, t.resolved_by
      from approvals a join tasks t on t.id = a.task_id where a.id = ${given.approvalId}`;
  expect(row).toEqual({
    status: "expired",
    decided_by: null,
    answer: null,
    version: 2,
    settled_reason: "system:timeout",
    card: "expired",
    resolved_by: "system:timeout",
  });
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: "denied",
    result: '"not run: nobody decided before the approval expired"',
    result_code: "expired",
  });
  const [last] = await sql`select kind, actor from run_log where run_id = ${given.runId} order by seq desc limit 1`;
  expect(last).toEqual({ kind: "approval.expired", actor: "system:timeout" });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true });
  expect(await expireWaits(sql, 10)).toEqual([]);
});

test("DU21: a question that nobody answered while no worker lived gives its default, and its run is ready", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world, { timeoutMs: 60_000, defaultAnswer: 'the "first"' });
  await moveDeadlines(sql, given.runId, -3_600_000);
  expect(await expireWaits(sql, 10)).toEqual([given.runId]);
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: "done",
    result: '"the \\"first\\""',
    result_code: null,
  });
  const [row] = await sql`
    select q.status, q.answer, q.answered_by, t.status as card, t.resolution from questions q join tasks t on t.id = q.task_id where q.id = ${given.questionId}`;
  expect(row).toEqual({
    status: "expired",
    answer: 'the "first"',
    answered_by: null,
    card: "expired",
    resolution: 'expired; the default was used: the "first"',
  });
  const hold = await claimRun(sql, given.runId);
  expect(hold.snapshot.calls).toMatchObject([{ status: "done" }]);
});

test("AZ41: an approval without an expiry stays pending, also beside one that expires, long after a lift", async () => {
  const world = await makeWorld(sql);
  const scope: Scope = { scope: "workspace", scopeId: world.workspaceId, workspaceId: world.workspaceId };
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const forever = aGatedCall();
  const limited = aQuestionCall({ timeoutMs: 60_000 }, { position: 1 });
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [forever, limited] }));
  await killScope(sql, scope, world.admin, "stop");
  await liftScope(sql, scope, world.admin);
  await sql`update policies set lifted_at = lifted_at - interval '1 hour' where scope_id = ${world.workspaceId}`;
  await moveDeadlines(sql, runId, -1);
  expect(await expireWaits(sql, 10)).toEqual([runId]);
  expect(await callRow(sql, forever.id)).toMatchObject({ status: "waiting", waits_on: "approval" });
  expect(await callRow(sql, limited.id)).toMatchObject({ status: "done" });
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "approval", is_ready: true });
  const [row] = await sql`select wake_at from runs where id = ${runId}`;
  expect(row?.wake_at).toBeNull();
});

test("of several waits of a run only the overdue ones expire, and it wakes again for the next", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const calls = [
    aQuestionCall({ timeoutMs: 60_000 }),
    aQuestionCall({ timeoutMs: 120_000 }, { position: 1 }),
    aQuestionCall({ timeoutMs: 60_000 }, { position: 2 }),
  ];
  await commitWithin(sql, recordTurn, aTurn(hold, { calls }));
  await sql`update tool_calls set wait_until = wait_until - interval '61 seconds' where run_id = ${runId}`;
  await sql`update questions set expires_at = expires_at - interval '61 seconds' where run_id = ${runId}`;
  await sql`update runs set wake_at = wake_at - interval '61 seconds' where id = ${runId}`;
  await expireWaits(sql, 10);
  const rows = await sql`select status from tool_calls where run_id = ${runId} order by position`;
  expect(rows.map((row) => row.status)).toEqual(["done", "waiting", "done"]);
  const [row] = await sql`
    select r.wake_at = c.wait_until as is_next from runs r join tool_calls c on c.run_id = r.id and c.status = 'waiting' where r.id = ${runId}`;
  expect(row?.is_next).toBe(true);
});

test("the earliest due come first, and no more than asked for", async () => {
  const world = await makeWorld(sql);
  const runs = [];
  for (const ms of [-1000, -3000, -2000]) {
    const { runId } = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    await moveDeadlines(sql, runId, ms);
    runs.push(runId);
  }
  expect(await expireWaits(sql, 1)).toEqual([runs[1]]);
  expect(await expireWaits(sql, 1)).toEqual([runs[2]]);
  expect(await expireWaits(sql, 5)).toEqual([runs[0]]);
});

test("an expiry on a run that is held makes it ready and leaves its lease alone", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000, siblings: [aCall({ position: 1 })] });
  await moveDeadlines(sql, given.runId, -1);
  await expireWaits(sql, 10);
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "running",
    is_ready: true,
    is_leased: true,
    epoch: 1,
  });
});

describe("AZ69: under a kill switch", () => {
  test.each(["workspace", "definition", "run"] as const)(
    "of a %s nothing expires, and after the lift people have 15 minutes more",
    async (scope) => {
      const world = await makeWorld(sql);
      const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
      const scopeId = { workspace: world.workspaceId, definition: world.definitionId, run: given.runId }[scope];
      const killed: Scope = { scope, scopeId, workspaceId: world.workspaceId };
      await killScope(sql, killed, world.admin, "stop");
      await moveDeadlines(sql, given.runId, -1);
      expect(await expireWaits(sql, 10)).toEqual([]);
      const [held] = await sql`
        select wake_at between clock_timestamp() + interval '9 minutes' and clock_timestamp() + interval '10 minutes' as is_later from runs where id = ${given.runId}`;
      expect(held?.is_later).toBe(true);

      await liftScope(sql, killed, world.admin);
      await moveDeadlines(sql, given.runId, -1);
      expect(await expireWaits(sql, 10)).toEqual([]);
      const [lifted] = await sql`
        select wake_at between clock_timestamp() + interval '14 minutes' and clock_timestamp() + interval '15 minutes' as is_later from runs where id = ${given.runId}`;
      expect(lifted?.is_later).toBe(true);
      expect(await commitWithin(sql, decideApproval, aDecision(world, given))).toMatchObject({ kind: "decided" });
    },
  );
});

test("DU14: a sweeper whose list is old does nothing to a run that another has swept", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  await moveDeadlines(sql, given.runId, -1);
  const [first, second] = await transaction(sql, async (tx) => {
    const first = await expireWaits(tx, 10);
    return [first, await expireWaits(elsewhere, 10)];
  });
  expect([first, second]).toEqual([[given.runId], []]);
  expect(await expireWaits(elsewhere, 10)).toEqual([]);
});

test("DU14: two sweepers at once expire each wait once", async () => {
  const world = await makeWorld(sql);
  const runs: string[] = [];
  for (let i = 0; i < 12; i += 1) {
    const { runId } = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    await moveDeadlines(sql, runId, -1);
    runs.push(runId);
  }
  const swept = await Promise.all([sql, elsewhere, sql, elsewhere].map((on) => expireWaits(on, 5)));
  swept.push(await expireWaits(sql, 100));
  expect(swept.flat().toSorted()).toEqual(runs.toSorted());
  const lines =
    await sql`select run_id from run_log where kind = 'approval.expired' and run_id = any (${runs}::uuid[])`;
  expect(lines).toHaveLength(12);
});

test("DU23: a run whose rows make the expiry fail harms only itself, for however long", async () => {
  const world = await makeWorld(sql);
  const runs: string[] = [];
  for (const ms of [-3000, -2000, -1000]) {
    const { runId } = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    await moveDeadlines(sql, runId, ms);
    runs.push(runId);
  }
  const [culprit = "", ...sound] = runs;
  const cure = await poisonRun(sql, culprit);
  const failed: string[] = [];
  expect(await expireWaits(sql, 2, (runId) => failed.push(runId))).toEqual(sound);
  expect(await expireWaits(sql, 2, (runId) => failed.push(runId))).toEqual([]);
  expect(failed).toEqual([culprit, culprit]);
  await cure();
  expect(await expireWaits(sql, 2)).toEqual([culprit]);
});

test("DU05: an expiry that fails at any write leaves the waits open", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const [gated, question] = [aGatedCall(), aQuestionCall({ timeoutMs: 60_000 }, { position: 1 })];
  if (gated.next.kind !== "approval") throw new Error("not gated");
  const calls = [{ ...gated, next: { ...gated.next, expiresMs: 60_000 } }, question];
  await commitWithin(sql, recordTurn, aTurn(hold, { calls }));
  await moveDeadlines(sql, runId, -1);
  const before = await allRows(sql);
  const { outcome, written } = await failAtEveryWrite(sql, (on) => expireWaits(on, 10));
  expect(outcome).toEqual([runId]);
  expect(await allRows(sql)).not.toBe(before);
  expect(written).toEqual(["approvals", "questions", "tasks", "run_log", "tool_calls", "runs"]);
});
