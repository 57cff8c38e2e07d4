import type { Tx } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Call, RunTree, Steer } from "../shapes/runs.ts";
import { readApprovalsOfCalls } from "./approvals.ts";
import { hideInJson } from "./hide-secrets.ts";
import { readQuestions } from "./questions.ts";
import { readEntries, readLinesOfCalls } from "./run-log.ts";
import { readRun } from "./runs.ts";

const calls = `
  select c.id, c.turn_seq as "turnSeq", c.tool, c.args, c.args_hash as "argsDigest", c.effect, c.requires, c.verdict,
         c.gate_row as "gateRow", c.gate_reason as "gateReason",
         case when c.verdict = 'classify' and c.status = 'requested' then 'classifying' else c.status end as status, c.waits_on as "waitsOn", c.wait_until as "waitUntil",
         c.attempt, c.started_at as "startedAt", c.finished_at as "finishedAt", c.result, c.result_code as "resultCode",
         c.result_blob as "resultBlob", c.question_id as "questionId"
    from tool_calls c
   where c.run_id = $1 and c.turn_seq between $2::int and $3::int
   order by c.turn_seq, c.position`;

const steers = `
  select t.n, json_build_object('id', u.id, 'name', u.name) as author, t.content as message, t.sent_at as "sentAt",
         case when t.read_seq is not null then 'read' when t.closed_at is not null then 'ended_first' else 'queued' end as state,
         t.read_seq as "readSeq"
    from steers t
    join users u on u.id = t.author
   where t.run_id = $1
   order by t.n desc
   limit 200`;

type CallRow = Omit<Call, "approvals" | "question" | "log"> & {
  turnSeq: number;
  result: string | null;
  questionId: string | null;
};

/**
 * The entries of a run after one of its lines, in order: turns with their calls, every approval and question of each, and
 * its lines; undefined where the workspace has none of this id.
 */
export async function readRunTree(
  tx: Tx,
  asked: { readonly workspaceId: string; readonly runId: string; readonly after: number; readonly limit: number },
): Promise<RunTree | undefined> {
  const { workspaceId, runId, after, limit } = asked;
  const run = await readRun(tx, workspaceId, runId);
  if (run === undefined) return undefined;
  const read = await readEntries(tx, runId, after, limit + 1);
  const entries = read.slice(0, limit);
  const [first, last] = [entries[0]?.seq ?? 0, entries.at(-1)?.seq ?? 0];
  const rows = await tx.unsafe<CallRow[]>(calls, [runId, first, last], { prepare: true });
  const callIds = rows.map((row) => row.id);
  const approvals = await readApprovalsOfCalls(tx, workspaceId, callIds);
  const questions = await readQuestions(
    tx,
    workspaceId,
    rows.flatMap((row) => row.questionId ?? []),
  );
  const lines = await readLinesOfCalls(tx, runId, first, callIds);
  const sent = await tx.unsafe<(Steer & { message: string })[]>(steers, [runId], { prepare: true });

  const linesOfCalls = Map.groupBy(lines, (line) => line.callId);
  const callsOfTurns = Map.groupBy(rows, (row) => row.turnSeq);
  const approvalsOfCalls = Map.groupBy(approvals, (approval) => approval.callId);
  const toCall = ({ turnSeq: _turn, questionId, ...row }: CallRow): Call => ({
    ...row,
    args: hideInJson(row.args),
    result: row.result === null ? null : parseExact(row.result),
    approvals: approvalsOfCalls.get(row.id) ?? [],
    question: questions.find((question) => question.id === questionId) ?? null,
    log: linesOfCalls.get(row.id) ?? [],
  });
  return {
    run,
    entries: entries.map((line) => ({ ...line, calls: (callsOfTurns.get(line.seq) ?? []).map(toCall) })),
    nextAfter: read.length > limit ? last : null,
    steers: sent.toReversed().map((steer) => ({ ...steer, message: parseExact(steer.message) })),
  };
}
