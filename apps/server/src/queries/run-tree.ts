import type { Tx } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Call, LogLine, Run, RunTree, Steer } from "../shapes/runs.ts";
import { readApprovalsOfCalls } from "./approvals.ts";
import type { Actor } from "../auth.ts";
import { isClosedTo, showOpenApproval, showQuestion } from "../closed-runs.ts";
import { hideInJson, hideInText, hideInValue } from "./hide-secrets.ts";
import { readQuestions } from "./questions.ts";
import { readEntries, readEntriesBefore, readLinesOfCalls } from "./run-log.ts";
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

/** Which part of a run's entries: those after a line, the last before one, or those around a call or a line. */
export type TreePart =
  | { readonly after: number }
  | { readonly before: number }
  /** The latest where the run has no such call or line. */
  | { readonly around: string | number };

/** Beyond the last line of the tree. */
const theEnd = 2_147_483_647;

/**
 * The lines of a call come before the next turn, but for those of a late result. Looked for any further, they would make
 * every part of a long run as dear as all of it.
 */
const linesBeyond = 10_000;

/**
 * A part of a run's entries, in order: turns with their calls, every approval and question of each, and its lines;
 * undefined where the workspace has none of this id, `closed` where the reader may not read it.
 */
export async function readRunTree(
  tx: Tx,
  asked: { readonly actor: Actor; readonly runId: string; readonly part: TreePart; readonly limit: number },
): Promise<RunTree | "closed" | undefined> {
  const { actor, runId, part, limit } = asked;
  const { workspaceId } = actor;
  const found = await readRun(tx, workspaceId, runId);
  if (found === undefined) return undefined;
  if (await isClosedTo(tx, actor, found)) return "closed";
  const { isGuarded: _isGuarded, ...run } = found;
  const entries = await readPart(tx, run, part, limit);
  // Where nothing is after a line, everything is before what would be next.
  const [first, last] = [entries[0]?.seq ?? ("after" in part ? run.lastSeq + 1 : 0), entries.at(-1)?.seq ?? 0];
  const hasMore = entries.length > 0 && (await readEntries(tx, runId, last, 1)).length > 0;
  const rows = await tx.unsafe<CallRow[]>(calls, [runId, first, last], { prepare: true });
  const callIds = rows.map((row) => row.id);
  const approvals = await readApprovalsOfCalls(tx, workspaceId, callIds);
  const questions = await readQuestions(
    tx,
    workspaceId,
    rows.flatMap((row) => row.questionId ?? []),
  );
  const lines = await readLinesOfCalls(tx, runId, { after: first, upTo: last + linesBeyond }, callIds);
  const sent = await tx.unsafe<(Steer & { message: string })[]>(steers, [runId], { prepare: true });

  const linesOfCalls = Map.groupBy(lines, (line) => line.callId);
  const callsOfTurns = Map.groupBy(rows, (row) => row.turnSeq);
  const questionOf = new Map(questions.map((question) => [question.id, showQuestion(question, false)]));
  const approvalsOfCalls = Map.groupBy(approvals, (approval) => approval.callId);
  const toCall = ({ turnSeq: _turn, questionId, ...row }: CallRow): Call => ({
    ...row,
    args: hideInJson(row.args),
    result: row.result === null ? null : hideInValue(parseExact(row.result)),
    approvals: (approvalsOfCalls.get(row.id) ?? []).map((approval) => showOpenApproval(actor, approval)),
    question: questionOf.get(questionId ?? "") ?? null,
    log: linesOfCalls.get(row.id) ?? [],
  });
  return {
    run,
    entries: entries.map((line) => ({ ...line, calls: (callsOfTurns.get(line.seq) ?? []).map(toCall) })),
    nextAfter: hasMore ? last : null,
    // The first line of all is what the run was started with.
    prevBefore: first > 1 ? first : null,
    steers: sent.toReversed().map((steer) => ({ ...steer, message: hideInText(parseExact<string>(steer.message)) })),
  };
}

async function readPart(
  tx: Tx,
  { id: runId, lastSeq }: Pick<Run, "id" | "lastSeq">,
  part: TreePart,
  limit: number,
): Promise<LogLine[]> {
  if ("after" in part) return await readEntries(tx, runId, part.after, limit);
  if ("before" in part) return await readEntriesBefore(tx, runId, part.before, limit);
  const line = typeof part.around === "number" ? part.around : await findTurnOf(tx, runId, part.around);
  if (line === undefined || line > lastSeq) return await readEntriesBefore(tx, runId, theEnd, limit);
  const upTo = await readEntriesBefore(tx, runId, line + 1, Math.ceil(limit / 2));
  return [...upTo, ...(await readEntries(tx, runId, line, limit - upTo.length))];
}

async function findTurnOf(tx: Tx, runId: string, callId: string): Promise<number | undefined> {
  const [call] = await tx<{ turnSeq: number }[]>`
    select turn_seq as "turnSeq" from tool_calls where run_id = ${runId} and id = ${callId}`;
  return call?.turnSeq;
}
