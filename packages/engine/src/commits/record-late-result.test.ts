import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { givenExecutingCall, makeWorld } from "../testing/fixtures.ts";
import { callRow, endLease, runRow } from "../testing/rows.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { type LateResult, recordLateResult } from "./record-late-result.ts";
import { recoverRuns } from "./recover-runs.ts";

const { sql, elsewhere } = await engineDatabase();

async function givenLostCall() {
  const given = await givenExecutingCall(sql, await makeWorld(sql));
  await endLease(sql, given.runId);
  await recoverRuns(sql, 10, 5);
  return given;
}

function aLateResult(given: { runId: string; callId: string }, over: Partial<LateResult> = {}): LateResult {
  return { runId: given.runId, callId: given.callId, epoch: 1, status: "done", result: '"it was sent"', ...over };
}

test("what a fenced attempt found out is kept beside its call, and nothing else changes", async () => {
  const given = await givenLostCall();
  const [run, call] = [await runRow(sql, given.runId), await callRow(sql, given.callId)];
  expect(await commitWithin(sql, recordLateResult, aLateResult(given))).toEqual({ kind: "kept" });
  const rows = await sql`select run_id, call_id, epoch, status, result from late_results where run_id = ${given.runId}`;
  expect(rows).toEqual([
    { run_id: given.runId, call_id: given.callId, epoch: 1, status: "done", result: '"it was sent"' },
  ]);
  expect([await runRow(sql, given.runId), await callRow(sql, given.callId)]).toEqual([run, call]);
});

test("evidence about a call that the run does not have is refused", async () => {
  const given = await givenLostCall();
  const other = await givenLostCall();
  const before = await allRows(sql);
  for (const callId of [other.callId, uuidv7()])
    expect(await commitWithin(sql, recordLateResult, aLateResult(given, { callId }))).toEqual({ kind: "unknown_call" });
  expect(await allRows(sql)).toBe(before);
});

test("the evidence of two attempts stands side by side", async () => {
  const given = await givenLostCall();
  const outcomes = await Promise.all([
    commitWithin(sql, recordLateResult, aLateResult(given)),
    commitWithin(elsewhere, recordLateResult, aLateResult(given, { epoch: 2, status: "failed" })),
  ]);
  expect(outcomes).toEqual([{ kind: "kept" }, { kind: "kept" }]);
  expect(await sql`select from late_results where call_id = ${given.callId}`).toHaveLength(2);
});

test("DU05: evidence that fails to be written leaves nothing", async () => {
  const given = await givenLostCall();
  const { written } = await failAtEveryWrite(sql, (on) => commitWithin(on, recordLateResult, aLateResult(given)));
  expect(written).toEqual(["late_results"]);
});
