import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as uuidv7 } from "uuid";
import { claimRuns } from "../commits/claim-runs.ts";
import { completeCall } from "../commits/complete-call.ts";
import { decideApproval } from "../commits/decide-approval.ts";
import { recordTurn } from "../commits/record-turn.ts";
import { startRun } from "../commits/start-run.ts";
import type { Hold } from "../held-run.ts";
import { aDecision, aGatedCall, aTurn, toolHashes, type World } from "./fixtures.ts";

/** Claims all that is ready, in one statement. */
export async function claimAll(on: Queryable): Promise<Hold[]> {
  const request = { worker: "test", leaseMs: 30_000, limit: 100, held: [], tools: toolHashes };
  const claimed = await claimRuns(on, request, (_runId, error) => {
    throw error;
  });
  return claimed.flatMap((one) =>
    one.kind === "claimed"
      ? [{ runId: one.snapshot.id, epoch: one.snapshot.epoch, leaseId: one.snapshot.leaseId ?? "" }]
      : [],
  );
}

/** Takes runs, all at once, from their start over a decision to their end, each step one batch. */
export async function driveGatedRuns(on: Queryable, world: World, count: number): Promise<string[]> {
  const alone = { blocking: false };
  const starts = Array.from({ length: count }, () => ({
    runId: uuidv7(),
    workspaceId: world.workspaceId,
    definitionId: world.definitionId,
    definitionVersion: 1,
    startedBy: world.operator,
    title: "a run",
    input: '"please"',
    grants: ["mail.send"],
  }));
  await startRun.send(on, starts, alone);
  const turns = (await claimAll(on)).map((hold) => aTurn(hold, { calls: [aGatedCall()] }));
  await recordTurn.send(on, turns, alone);
  const asked = turns.flatMap((turn) =>
    turn.calls.flatMap(({ id, next }) =>
      next.kind === "approval" ? [{ runId: turn.runId, callId: id, approvalId: next.approvalId }] : [],
    ),
  );
  await decideApproval.send(
    on,
    asked.map((one) => aDecision(world, one)),
    alone,
  );
  const holds = await claimAll(on);
  const callOf = new Map(asked.map(({ runId, callId }) => [runId, callId]));
  const results = holds.map((hold) => {
    const callId = callOf.get(hold.runId) ?? "";
    return { ...hold, callId, status: "done" as const, result: '"sent"' };
  });
  await completeCall.send(on, results, alone);
  const finishes = holds.map((hold) => aTurn(hold, { turn: 1, output: '"done"' }));
  await recordTurn.send(on, finishes, alone);
  return starts.map(({ runId }) => runId);
}
