import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { commitWithin } from "../commit.ts";
import { decideApproval, type DecideApproval, type DecisionOutcome } from "../commits/decide-approval.ts";
import { recoverRuns } from "../commits/recover-runs.ts";
import { steerRun } from "../commits/steer-run.ts";
import type { Engine, HeldRun } from "../engine.ts";
import { driveOut } from "./engine.ts";
import { type World } from "./fixtures.ts";
import { endLease } from "./rows.ts";

/** A place that code under test comes to and stays at until it is let go. */
export interface StopPoint<T> {
  /** Resolves when it is there. */
  readonly reached: Promise<void>;
  /** Says that it is here, and waits. */
  stay(): Promise<T>;
  letGo(value: T): void;
}

export function stopPoint<T = void>(): StopPoint<T> {
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<T>();
  return {
    reached: reached.promise,
    stay() {
      reached.resolve();
      return go.promise;
    },
    letGo: go.resolve,
  };
}

/**
 * Drives a held run until `reached`, then leaves it as a killed process would: nothing of it is heard again, and its
 * lease is over and recovered. What it was executing stays executing.
 */
export async function crashAt(
  engine: Engine,
  held: HeldRun,
  reached: Promise<unknown>,
  maxClaims = 100,
): Promise<void> {
  const driving = driveOut(engine, held).catch(() => undefined);
  await Promise.race([reached, driving.then(() => Promise.reject(new Error("the run ended before the crash")))]);
  await crash(engine.sql, held.hold.runId, maxClaims);
}

/** The lease of a run is over, and found to be: at once, or a worker that lives could renew it in between. */
export async function crash(sql: Sql, runId: string, maxClaims = 100): Promise<void> {
  await transaction(sql, async (tx) => {
    await endLease(tx, runId);
    await recoverRuns(tx, 100, maxClaims);
  });
}

/** What a test left live is none of the next test's: its workers would take it. */
export async function endEveryRun(sql: Queryable): Promise<void> {
  await sql`
    select end_runs(array_agg(id), 'canceled', array_agg('the test is over'::text), 'canceled')
      from runs where status not in ('completed', 'failed', 'canceled')`;
}

/** Decides the one approval of a run that is pending. */
export async function decidePending(
  sql: Sql,
  world: World,
  runId: string,
  answer: DecideApproval["answer"],
  over: Partial<DecideApproval> = {},
): Promise<DecisionOutcome> {
  const [pending, second] = await sql<{ id: string; version: number; args_hash: string }[]>`
    select id, version, args_hash from approvals where run_id = ${runId} and status = 'pending' order by id`;
  if (pending === undefined || (second !== undefined && over.approvalId === undefined))
    throw new Error(`run ${runId} has not exactly one pending approval`);
  return await commitWithin(sql, decideApproval, {
    runId,
    approvalId: pending.id,
    workspaceId: world.workspaceId,
    userId: world.approver,
    answer,
    version: pending.version,
    argsHash: pending.args_hash,
    ...over,
  });
}

/** Sends a person's message to a run. */
export async function steer(sql: Queryable, world: World, runId: string, text: string): Promise<string> {
  const sent = await commitWithin(sql, steerRun, {
    runId,
    workspaceId: world.workspaceId,
    steerId: uuidv7(),
    authorId: world.operator,
    content: JSON.stringify(text),
  });
  return sent.kind;
}

/** A call as a test looks at it. */
export interface CallView {
  readonly tool: string;
  readonly status: string;
  readonly code: string | null;
  readonly result: string | null;
  readonly attempt: number;
}

/** The calls of a run, in order. */
export async function callsOf(sql: Queryable, runId: string): Promise<CallView[]> {
  const rows = await sql<CallView[]>`
    select tool, status, result_code as code, result, attempt from tool_calls where run_id = ${runId} order by turn_seq, position`;
  return rows.map((row) => ({ ...row, result: row.result === null ? null : (JSON.parse(row.result) as string) }));
}

/** The output of a run that completed; else how it stands. */
export async function outcomeOf(sql: Queryable, runId: string): Promise<string> {
  const [run] = await sql<
    { status: string; waits_on: string | null; end_reason: string | null; output: string | null }[]
  >`
    select status, waits_on, end_reason, output from runs where id = ${runId}`;
  if (run?.output != null) return `${run.status}: ${JSON.parse(run.output) as string}`;
  return [run?.status, run?.waits_on ?? run?.end_reason].filter(Boolean).join(": ");
}

/** Policy changes: the version of the workspace moves. */
export async function bumpPolicy(sql: Queryable, world: World): Promise<void> {
  const { workspaceId } = world;
  await sql`select move_policies(array['workspace'], array[${workspaceId}::uuid], array[${workspaceId}::uuid], array[null::text])`;
}

/** Resolves once `holds` is true; looked at every few milliseconds. */
export async function until(holds: () => boolean | Promise<boolean>, patienceMs = 50_000): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds())) {
    if (performance.now() > deadline)
      throw new Error(`It did not come true within ${patienceMs} ms: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}
