import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import type { Hold } from "../held-run.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aBegin, givenExecutingCall, givenRequestedCall, makeWorld } from "../testing/fixtures.ts";
import { runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { type ClassifyCall, classifyCall } from "./classify-call.ts";

const { sql, elsewhere } = await engineDatabase();

function aClassification(
  given: { readonly hold: Hold; readonly callId: string },
  over: Partial<ClassifyCall> = {},
): ClassifyCall {
  const { runId, epoch, leaseId } = given.hold;
  return {
    runId,
    epoch,
    leaseId,
    callId: given.callId,
    classified: '{"level":"read-only"}',
    verdict: "allow",
    gateRow: "22",
    gateReason: "classified:read-only",
    line: '{"purpose":"classifier"}',
    usage: { inputTokens: 70, outputTokens: 2, costMicros: 5 },
    ...over,
  };
}

const asked = { effect: "once", verdict: "classify", gateRow: "24", gateReason: "above_dial:unknown" } as const;

test("what the classifier said stands with the call, the verdict that follows too, and what it cost in the log alone", async () => {
  const given = await givenRequestedCall(sql, await makeWorld(sql), asked);
  const before = await runRow(sql, given.runId);
  expect(await commitWithin(sql, classifyCall, aClassification(given))).toEqual({ kind: "classified" });
  const [call] = await sql`
    select status, verdict, gate_row as row, gate_reason as reason, classified from tool_calls where id = ${given.callId}`;
  expect(call).toEqual({
    status: "requested",
    verdict: "allow",
    row: "22",
    reason: "classified:read-only",
    classified: { level: "read-only" },
  });
  const [line] = await sql`
    select l.call_id, l.content, l.input_tokens, l.output_tokens, l.cost_micros, r.cost_micros as of_run
      from run_log l join runs r on r.id = l.run_id where l.run_id = ${given.runId} and l.kind = 'call.classified'`;
  expect(line).toEqual({
    call_id: given.callId,
    content: '{"purpose":"classifier"}',
    input_tokens: 70,
    output_tokens: 2,
    cost_micros: 5,
    of_run: 100,
  });
  expect(await runRow(sql, given.runId)).toEqual(before);
});

test("it is refused where the lease is lost or the call is on its way or settled", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, asked);
  const executing = await givenExecutingCall(sql, world);
  const before = await allRows(sql);
  for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
    expect(await commitWithin(sql, classifyCall, aClassification(given, over))).toEqual({ kind: "lease_lost" });
  expect(await commitWithin(sql, classifyCall, aClassification(executing))).toEqual({ kind: "settled" });
  expect(await allRows(sql)).toBe(before);
});

test("of a classification and a start behind one lock, the call has at most one of them after the other", async () => {
  const given = await givenRequestedCall(sql, await makeWorld(sql), asked);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, classifyCall, aClassification(given)),
      () => commitWithin(elsewhere, beginCall, aBegin(given)),
    ],
  });
  expect([
    ["classified", "begun"],
    ["settled", "begun"],
  ]).toContainEqual(waiting.map((outcome) => outcome.kind));
});

test("one that fails at any write leaves nothing", async () => {
  const given = await givenRequestedCall(sql, await makeWorld(sql), asked);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, classifyCall, aClassification(given)),
  );
  expect(outcome).toEqual({ kind: "classified" });
  expect(written.toSorted()).toEqual(["run_log", "runs", "tool_calls"]);
});
