import type { Tx } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Call, RunTree, Steer } from "../shapes/runs.ts";
import { readApprovals } from "./approvals.ts";
import { readQuestions } from "./questions.ts";
import { readLines } from "./run-log.ts";
import { readRun } from "./runs.ts";

const calls = `
  select c.id, c.turn_seq as "turnSeq", c.tool, c.args, c.args_hash as "argsDigest", c.effect, c.requires, c.verdict,
         c.gate_row as "gateRow", c.gate_reason as "gateReason", c.status, c.waits_on as "waitsOn", c.wait_until as "waitUntil",
         c.attempt, c.started_at as "startedAt", c.finished_at as "finishedAt", c.result, c.result_code as "resultCode",
         c.result_blob as "resultBlob", c.approval_id as "approvalId", c.question_id as "questionId"
    from tool_calls c
   where c.run_id = $1
   order by c.turn_seq, c.position`;

const steers = `
  select t.n, json_build_object('id', u.id, 'name', u.name) as author, t.content as message, t.sent_at as "sentAt",
         case when t.read_seq is not null then 'read' when t.closed_at is not null then 'ended_first' else 'queued' end as state,
         t.read_seq as "readSeq"
    from steers t
    join users u on u.id = t.author
   where t.run_id = $1
   order by t.n`;

type CallRow = Omit<Call, "approvals" | "question" | "log"> & {
  turnSeq: number;
  result: string | null;
  approvalId: string | null;
  questionId: string | null;
};

/** All of a run: its turns, their calls, what those wait for, and the lines of each; undefined where the workspace has none of this id. */
export async function readRunTree(tx: Tx, workspaceId: string, id: string): Promise<RunTree | undefined> {
  const run = await readRun(tx, workspaceId, id);
  if (run === undefined) return undefined;
  const lines = await readLines(tx, id, 0);
  const rows = await tx.unsafe<CallRow[]>(calls, [id], { prepare: true });
  const approvals = await readApprovals(
    tx,
    workspaceId,
    rows.flatMap((row) => row.approvalId ?? []),
  );
  const questions = await readQuestions(
    tx,
    workspaceId,
    rows.flatMap((row) => row.questionId ?? []),
  );
  const sent = await tx.unsafe<(Steer & { message: string })[]>(steers, [id], { prepare: true });

  const linesOfCalls = Map.groupBy(lines, (line) => line.callId);
  const callsOfTurns = Map.groupBy(rows, (row) => row.turnSeq);
  const toCall = ({ turnSeq: _turn, approvalId: _approval, questionId, ...row }: CallRow): Call => ({
    ...row,
    result: row.result === null ? null : parseExact(row.result),
    approvals: approvals.filter((approval) => approval.callId === row.id),
    question: questions.find((question) => question.id === questionId) ?? null,
    log: linesOfCalls.get(row.id) ?? [],
  });
  return {
    run,
    entries: (linesOfCalls.get(null) ?? []).map((line) => ({
      ...line,
      calls: (callsOfTurns.get(line.seq) ?? []).map(toCall),
    })),
    steers: sent.map((steer) => ({ ...steer, message: parseExact(steer.message) })),
  };
}
