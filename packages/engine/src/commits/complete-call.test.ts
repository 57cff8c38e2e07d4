import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aTurn,
  claimRun,
  givenExecutingCall,
  givenGatedRun,
  givenRequestedCall,
  givenRun,
  makeWorld,
} from "../testing/fixtures.ts";
import { callRow, countRows, endLease, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { completeCall, type CompleteCall } from "./complete-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { recordTurn } from "./record-turn.ts";
import { recoverRuns } from "./recover-runs.ts";
import type { Hold } from "../held-run.ts";

const { sql, elsewhere } = await engineDatabase();

function aCompletion(
  given: { readonly hold: Hold; readonly callId: string },
  over: Partial<CompleteCall> = {},
): CompleteCall {
  const { runId, epoch, leaseId } = given.hold;
  return { runId, epoch, leaseId, callId: given.callId, status: "done", result: '"sent"', ...over };
}

test("a call that executed is settled with its result, in the log, and its run goes on", async () => {
  const world = await makeWorld(sql);
  for (const status of ["done", "failed", "denied"] as const) {
    const given = await givenExecutingCall(sql, world);
    const completion = aCompletion(given, { status, code: "some_code", blob: "hash-of-blob" });
    expect(await commitWithin(sql, completeCall, completion)).toEqual({
      kind: "completed",
      hasNews: false,
      isParked: false,
    });
    const [call] =
      await sql`select status, result, result_code, result_blob from tool_calls where id = ${given.callId}`;
    expect(call).toEqual({
      status,
      result: '"sent"',
      result_code: "some_code",
      result_blob: "hash-of-blob",
    });
    const log =
      await sql`select kind, content, call_id from run_log where run_id = ${given.runId} order by seq desc limit 1`;
    expect(log).toMatchObject([{ kind: "call.completed", content: `"kb.read ${status}"`, call_id: given.callId }]);
    expect(await runRow(sql, given.runId)).toMatchObject({
      status: "running",
      is_leased: true,
      claims: 0,
    });
  }
});

test("a call that was not begun may fail or be denied, and only a read may be done", async () => {
  const world = await makeWorld(sql);
  for (const effect of ["read-only", "transactional", "idempotent", "once"] as const) {
    const given = await givenRequestedCall(sql, world, { effect });
    const done = await commitWithin(sql, completeCall, aCompletion(given));
    expect(done.kind).toBe(effect === "read-only" ? "completed" : "refused");
    if (effect === "read-only") continue;
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", result: null });
    const denied = await commitWithin(sql, completeCall, aCompletion(given, { status: "denied" }));
    expect(denied.kind).toBe("completed");
  }
});

describe("a completion is refused and changes nothing", () => {
  test("DU11, DU17: under a stale epoch or a lease that is another's", async () => {
    const world = await makeWorld(sql);
    const given = await givenExecutingCall(sql, world);
    const before = await allRows(sql);
    for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
      expect(await commitWithin(sql, completeCall, aCompletion(given, over))).toMatchObject({
        kind: "lease_lost",
      });
    expect(await allRows(sql)).toBe(before);
  });

  test("where the call executes under an older epoch: whether it happened is to be found out first", async () => {
    const world = await makeWorld(sql);
    const given = await givenExecutingCall(sql, world);
    await endLease(sql, given.runId);
    await recoverRuns(sql, 10, 5);
    const hold = await claimRun(sql, given.runId);
    expect(await commitWithin(sql, completeCall, aCompletion(given))).toMatchObject({
      kind: "lease_lost",
    });
    expect(await commitWithin(sql, completeCall, aCompletion({ ...given, hold }))).toMatchObject({
      kind: "refused",
    });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing" });
  });

  test("where the call waits for a person", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
    for (const status of ["done", "failed", "denied"] as const)
      expect(await commitWithin(sql, completeCall, aCompletion(given, { status }))).toMatchObject({
        kind: "refused",
      });
  });

  test("where the call is another run's", async () => {
    const world = await makeWorld(sql);
    const mine = await givenExecutingCall(sql, world);
    const other = await givenExecutingCall(sql, world);
    expect(await commitWithin(sql, completeCall, aCompletion(mine, { callId: other.callId }))).toMatchObject({
      kind: "refused",
    });
    expect(await callRow(sql, other.callId)).toMatchObject({ status: "executing" });
  });
});

test("DU27: a completion that is sent again changes nothing, and the first result stays", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  await commitWithin(sql, completeCall, aCompletion(given));
  const again = aCompletion(given, { status: "failed", result: '"other"' });
  expect(await commitWithin(sql, completeCall, again)).toMatchObject({
    kind: "already",
    isParked: false,
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "done", result: '"sent"' });
  expect(await countRows(sql, "run_log", given.runId)).toBe(3);
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_leased: true });
});

test("a run whose other call waits for a person parks with the last result", async () => {
  const world = await makeWorld(sql);
  const sibling = aCall({ position: 1 });
  const { runId, hold } = await givenGatedRun(sql, world, { siblings: [sibling] });
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", is_leased: true });
  expect(await commitWithin(sql, completeCall, aCompletion({ hold, callId: sibling.id }))).toEqual({
    kind: "completed",
    hasNews: false,
    isParked: true,
  });
  expect(await runRow(sql, runId)).toMatchObject({
    status: "paused",
    waits_on: "approval",
    is_leased: false,
    is_ready: false,
  });
});

test("DU01: a decision that came while the last sibling was completed keeps the holder at it", async () => {
  const world = await makeWorld(sql);
  const sibling = aCall({ position: 1 });
  const { runId, approvalId, hold } = await givenGatedRun(sql, world, { siblings: [sibling] });
  const { waiting } = await behindLock(sql, runId, {
    first: (tx) => commitWithin(tx, decideApproval, aDecision(world, { runId, approvalId })),
    waiting: [() => commitWithin(elsewhere, completeCall, aCompletion({ hold, callId: sibling.id }))],
  });
  expect(waiting).toEqual([{ kind: "completed", hasNews: true, isParked: false }]);
  expect(await runRow(sql, runId)).toMatchObject({ status: "running", is_leased: true });
});

test("of two completions behind one lock, one is the result", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, completeCall, aCompletion(given)),
      () => commitWithin(elsewhere, completeCall, aCompletion(given, { status: "failed" })),
    ],
  });
  expect(waiting.map((outcome) => outcome.kind).toSorted()).toEqual(["already", "completed"]);
});

test("siblings of one run complete one after the other, each in the log", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const calls = [0, 1, 2, 3, 4].map((position) => aCall({ position }));
  await commitWithin(sql, recordTurn, aTurn(hold, { calls }));
  const outcomes = await Promise.all(
    calls.map((call, index) =>
      commitWithin(index % 2 === 0 ? sql : elsewhere, completeCall, aCompletion({ hold, callId: call.id })),
    ),
  );
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(Array(5).fill("completed"));
  expect(await countRows(sql, "run_log", runId)).toBe(7);
});

test("DU05: a completion that fails at any write leaves the call executing", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) => commitWithin(on, completeCall, aCompletion(given)));
  expect(outcome.kind).toBe("completed");
  expect(written).toEqual(["tool_calls", "run_log", "runs"]);
});
