import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { completeCall } from "./commits/complete-call.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { aTurn, claimRun, givenGatedRun, makeWorld } from "./testing/fixtures.ts";

const { sql } = await testDatabase();

test("a gated run goes from its start to its end in seven commits, one round trip each", async () => {
  const world = await makeWorld(sql);
  const { runId, callId, approvalId } = await givenGatedRun(sql, world);
  const [paused] = await sql`select status, waits_on, lease_id, ready_at from runs where id = ${runId}`;
  expect(paused).toEqual({
    status: "paused",
    waits_on: "approval",
    lease_id: null,
    ready_at: null,
  });

  const decided = await commitWithin(sql, decideApproval, {
    runId,
    approvalId,
    workspaceId: world.workspaceId,
    userId: world.approver,
    answer: "approve",
    version: 1,
    argsHash: "hash-of-args",
  });
  expect(decided).toMatchObject({
    kind: "decided",
    answer: "approve",
    decidedBy: "Abe Approver",
    version: 2,
  });

  const hold = await claimRun(sql, runId);
  expect(hold.snapshot.calls).toMatchObject([{ id: callId, status: "executing", attempt: 1, epoch: hold.epoch }]);
  const [acquired] = await sql`select content from run_log where run_id = ${runId} and kind = 'capability.acquired'`;
  expect(acquired?.content).toBe('"acquired mail.send"');

  const completed = await commitWithin(sql, completeCall, {
    ...hold,
    callId,
    status: "done",
    result: '"sent"',
  });
  expect(completed).toEqual({ kind: "completed", hasNews: false, isParked: false });

  const finished = await commitWithin(sql, recordTurn, aTurn(hold, { output: '"all done"' }));
  expect(finished).toMatchObject({ kind: "finished" });
  const log = await sql`select seq, kind from run_log where run_id = ${runId} order by seq`;
  expect(log.map((line) => line.kind)).toEqual([
    "user",
    "assistant",
    "approval.decided",
    "capability.acquired",
    "call.completed",
    "assistant",
    "run.ended",
  ]);
  expect(log.map((line) => line.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});
