import { readFileSync } from "node:fs";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { claimRuns } from "@countersign/engine/commits/claim-runs.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { type NewCall, recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { startRun } from "@countersign/engine/commits/start-run.ts";
import type { Hold } from "@countersign/engine/held-run.ts";
import { v7 as uuidv7 } from "uuid";
import { percentile } from "./measure.ts";
import { findAgent } from "./ours.ts";

/** What one commit for a whole batch of runs cost the database, in milliseconds of processor time. */
export interface BatchCost {
  readonly commit: string;
  readonly least: number;
  readonly median: number;
}

const usage = { inputTokens: 1, outputTokens: 1, costMicros: 0 };
const tools = new Map([["mail.send", "hash"]]);
const together = { blocking: false };

/**
 * Takes so many gated runs from their start to their end, each of their seven commits one batch, and tells the processor
 * time of the one session that all of it went over: a figure that other work on the machine hardly changes.
 */
export async function measureBatches(url: string, size: number, rounds: number): Promise<BatchCost[]> {
  const sql = connect(url, { max: 1 });
  const agent = await findAgent(sql);
  const [session] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const costs = new Map<string, number[]>();

  async function timed<T>(commit: string, act: () => Promise<T>): Promise<T> {
    const before = processorMs(session?.pid ?? 0);
    const result = await act();
    costs.set(commit, [...(costs.get(commit) ?? []), processorMs(session?.pid ?? 0) - before]);
    return result;
  }

  for (let round = 0; round < rounds; round += 1) {
    const starts = Array.from({ length: size }, () => ({
      runId: uuidv7(),
      workspaceId: agent.workspaceId,
      definitionId: agent.definitionId,
      definitionVersion: 1,
      startedBy: agent.userId,
      title: "a run",
      input: '"please"',
      grants: ["mail.send"],
    }));
    await timed("start run", () => startRun.send(sql, starts, together));
    const turns = (await timed("claim", () => claim(sql, size))).map((hold) => ({ hold, call: aGatedCall() }));
    const asking = turns.map(({ hold, call }) => ({ ...hold, ...aTurn(0), content: "[]", calls: [call] }));
    await timed("record turn, with approvals", () => recordTurn.send(sql, asking, together));
    const decisions = turns.map(({ hold: { runId }, call: { next, argsHash } }) => ({
      runId,
      approvalId: next.kind === "approval" ? next.approvalId : "",
      workspaceId: agent.workspaceId,
      userId: agent.userId,
      answer: "approve" as const,
      version: 1,
      argsHash,
    }));
    await timed("decide", () => decideApproval.send(sql, decisions, together));
    const callOf = new Map(turns.map(({ hold, call }) => [hold.runId, call.id]));
    const holds = await timed("claim, beginning the call", () => claim(sql, size));
    const results = holds.map((hold) => ({
      ...hold,
      callId: callOf.get(hold.runId) ?? "",
      status: "done" as const,
      result: '"ok"',
    }));
    await timed("complete call", () => completeCall.send(sql, results, together));
    const ends = holds.map((hold) => ({ ...hold, ...aTurn(1), content: "[]", calls: [], output: '"done"' }));
    await timed("record turn, finishing", () => recordTurn.send(sql, ends, together));
  }
  await sql.end();
  return [...costs].map(([commit, all]) => ({ commit, least: Math.min(...all), median: percentile(all, 0.5) }));
}

function aTurn(turn: number) {
  return { turn, steersRead: 0, usage };
}

function aGatedCall(): NewCall {
  return {
    id: uuidv7(),
    position: 0,
    providerId: `toolu_${uuidv7()}`,
    tool: "mail.send",
    args: "{}",
    argsHash: "hash",
    definitionHash: "hash",
    effect: "once",
    requires: ["mail.send"],
    verdict: "ask",
    gateRow: "19",
    gateReason: "needs_approval",
    policyVersions: "1.1.1.0",
    next: {
      kind: "approval",
      approvalId: uuidv7(),
      card: { taskId: uuidv7(), title: "mail.send", body: "{}" },
      expiresMs: undefined,
    },
  };
}

async function claim(sql: Sql, size: number): Promise<Hold[]> {
  const claimed = await claimRuns(
    sql,
    { worker: "bench", leaseMs: 30_000, limit: size, held: [], tools },
    (_run, error) => {
      throw error;
    },
  );
  const holds = claimed.flatMap((one) =>
    one.kind === "claimed" && one.snapshot.leaseId !== null
      ? [{ runId: one.snapshot.id, epoch: one.snapshot.epoch, leaseId: one.snapshot.leaseId }]
      : [],
  );
  if (holds.length !== size) throw new Error(`${holds.length} of ${size} runs were claimed`);
  return holds;
}

/** The processor time that a process of this machine has had. */
function processorMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
}
