import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import type { Hold } from "../held-run.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aTurn,
  claimRun,
  givenExecutingCall,
  givenRequestedCall,
  givenRun,
  givenUnknownCall,
  makeWorld,
} from "../testing/fixtures.ts";
import { callRow, endLease, moveDeadlines, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { completeCall } from "./complete-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { expireWaits } from "./expire-waits.ts";
import { markUnknown, type MarkUnknown } from "./mark-unknown.ts";
import { recordTurn } from "./record-turn.ts";
import { recoverRuns } from "./recover-runs.ts";

const { sql, elsewhere } = await engineDatabase();

function aMark(given: { readonly hold: Hold; readonly callId: string }, over: Partial<MarkUnknown> = {}): MarkUnknown {
  const { runId, epoch, leaseId } = given.hold;
  return {
    runId,
    epoch,
    leaseId,
    callId: given.callId,
    result: '"the connection broke"',
    approvalId: uuidv7(),
    card: { taskId: uuidv7(), title: "Was it sent?", body: '{"tool":"mail.send"}' },
    ...over,
  };
}

test("an unknown call, its outcome approval, its card and the paused run appear together", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  const mark = aMark(given);
  expect(await commitWithin(sql, markUnknown, mark)).toEqual({ kind: "unknown", hasNews: false, isParked: true });
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: "unknown",
    waits_on: "outcome",
    result: '"the connection broke"',
    result_code: "unknown",
    approval_id: mark.approvalId,
  });
  const [row] = await sql`
    select a.kind, a.status, a.expires_at, t.kind as card, t.status as card_status, t.title
      from approvals a join tasks t on t.id = a.task_id where a.id = ${mark.approvalId}`;
  expect(row).toEqual({
    kind: "outcome",
    status: "pending",
    expires_at: null,
    card: "outcome",
    card_status: "open",
    title: "Was it sent?",
  });
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "paused",
    waits_on: "outcome",
    is_leased: false,
    is_ready: false,
  });
});

test("the question what became of an effect never expires", async () => {
  const world = await makeWorld(sql);
  const given = await givenUnknownCall(sql, world);
  await moveDeadlines(sql, given.runId, -1);
  expect(await expireWaits(sql, 10)).toEqual([]);
});

test("DU18: a call that a dead worker left executing is unknown, whatever its epoch, and is not run again", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  await endLease(sql, given.runId);
  await recoverRuns(sql, 10, 5);
  const hold = await claimRun(sql, given.runId);
  expect(await commitWithin(sql, markUnknown, aMark({ ...given, hold }))).toMatchObject({ kind: "unknown" });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "unknown", attempt: 1 });
});

test("a further attempt that may not start is unknown again; one that never started is not", async () => {
  const world = await makeWorld(sql);
  const given = await givenUnknownCall(sql, world);
  await commitWithin(sql, decideApproval, aDecision(world, given, { answer: "retry" }));
  const hold = await claimRun(sql, given.runId);
  expect(await commitWithin(sql, markUnknown, aMark({ ...given, hold }))).toMatchObject({ kind: "unknown" });

  const fresh = await givenRequestedCall(sql, world);
  expect(await commitWithin(sql, markUnknown, aMark(fresh))).toMatchObject({ kind: "settled" });
  expect(await callRow(sql, fresh.callId)).toMatchObject({ status: "requested" });
});

test("a sibling that still runs keeps the paused run with its holder", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const [call, sibling] = [aCall({ effect: "once" }), aCall({ position: 1 })];
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call, sibling] }));
  await commitWithin(sql, beginCall, aBegin({ callId: call.id, hold }));
  expect(await commitWithin(sql, markUnknown, aMark({ hold, callId: call.id }))).toMatchObject({
    kind: "unknown",
    isParked: false,
  });
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "outcome", is_leased: true });
});

test("DU11, DU17: a mark under a stale epoch, another's lease, or on a settled call changes nothing", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  const other = await givenExecutingCall(sql, world);
  const before = await allRows(sql);
  for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
    expect(await commitWithin(sql, markUnknown, aMark(given, over))).toMatchObject({ kind: "lease_lost" });
  expect(await commitWithin(sql, markUnknown, aMark(given, { callId: other.callId }))).toMatchObject({
    kind: "settled",
  });
  expect(await allRows(sql)).toBe(before);
  await commitWithin(sql, completeCall, { ...given.hold, callId: given.callId, status: "done", result: '"sent"' });
  expect(await commitWithin(sql, markUnknown, aMark(given))).toMatchObject({ kind: "settled" });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "done", result: '"sent"' });
});

test("of a result and a mark behind one lock, one is the call's outcome", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, markUnknown, aMark(given)),
      () =>
        commitWithin(elsewhere, completeCall, { ...given.hold, callId: given.callId, status: "done", result: '"x"' }),
    ],
  });
  expect([
    ["unknown", "lease_lost"],
    ["settled", "completed"],
  ]).toContainEqual(waiting.map((outcome) => outcome.kind));
});

test("DU05: a mark that fails at any write leaves the call executing", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) => commitWithin(on, markUnknown, aMark(given)));
  expect(outcome.kind).toBe("unknown");
  expect(written).toEqual(["tool_calls", "run_log", "approvals", "tasks", "runs"]);
});
