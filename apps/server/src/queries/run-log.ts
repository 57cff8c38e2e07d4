import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import { isClosedTo } from "../closed-runs.ts";
import type { LogLine, LogPart } from "../shapes/runs.ts";
import { hideInValue } from "./hide-secrets.ts";
import { readRun } from "./runs.ts";

/** How long a follower sleeps between two looks. */
const lookEveryMs = 250;

/** SQL: the lines of a run beyond `$2` that `where` finds, from there on. */
function selectLines(where: string, direction: "onward" | "back" = "onward"): string {
  const [beyond, order] = direction === "onward" ? [">", "asc"] : ["<", "desc"];
  return `
  select l.seq, l.kind, l.call_id as "callId", l.actor, u.name as "actorName", l.content, l.at
    from run_log l
    left join users u on u.id = case when l.actor like 'user:%' then substring(l.actor from 6)::uuid end
   where l.run_id = $1 and l.seq ${beyond} $2 and ${where}
   order by l.seq ${order}`;
}

const lines = selectLines("l.seq <= $3::int");
const entries = `${selectLines("l.call_id is null")} limit $3::int`;
const entriesBefore = `${selectLines("l.call_id is null", "back")} limit $3::int`;
const linesOfCalls = selectLines("l.seq <= $4::int and l.call_id = any ($3::uuid[])");

type Row = LogLine & { content: string };

/** The lines of a run's log from `after` to `upTo`, in order. The caller has made sure whose run it is, here as below. */
export async function readLines(sql: Queryable, runId: string, after: number, upTo: number): Promise<LogLine[]> {
  return (await sql.unsafe<Row[]>(lines, [runId, after, upTo], { prepare: true })).map(toLine);
}

/** The first `limit` lines after `after` that are of no call. */
export async function readEntries(sql: Queryable, runId: string, after: number, limit: number): Promise<LogLine[]> {
  return (await sql.unsafe<Row[]>(entries, [runId, after, limit], { prepare: true })).map(toLine);
}

/** The last `limit` lines before `before` that are of no call, in order. */
export async function readEntriesBefore(
  sql: Queryable,
  runId: string,
  before: number,
  limit: number,
): Promise<LogLine[]> {
  const read = await sql.unsafe<Row[]>(entriesBefore, [runId, before, limit], { prepare: true });
  return read.toReversed().map(toLine);
}

/** The lines of these calls from the line `after` to `upTo`. */
export async function readLinesOfCalls(
  sql: Queryable,
  runId: string,
  { after, upTo }: { readonly after: number; readonly upTo: number },
  callIds: readonly string[],
): Promise<LogLine[]> {
  if (callIds.length === 0) return [];
  return (await sql.unsafe<Row[]>(linesOfCalls, [runId, after, [...callIds], upTo], { prepare: true })).map(toLine);
}

function toLine(row: Row): LogLine {
  return { ...row, content: hideInValue(parseExact(row.content)) };
}

export interface FollowedLog {
  readonly workspaceId: string;
  readonly userId: string;
  readonly runId: string;
  /** The last line the reader has. */
  readonly after: number;
  readonly limit: number;
  /** How long to wait for a line where there is none yet. */
  readonly waitMs: number;
}

/**
 * The next lines of a run's log. Where there are none it waits for one, up to `waitMs`, until the run has ended or
 * `signal` is aborted; no connection is held while it waits. Undefined where the workspace has no such run, `closed` where
 * the reader may not read it, or may not any more.
 */
export async function followLog(
  sql: Queryable,
  asked: FollowedLog,
  signal: AbortSignal,
): Promise<LogPart | "closed" | undefined> {
  const until = performance.now() + asked.waitMs;
  for (;;) {
    // The log is dense, so the run's own row says whether there is more.
    const run = await readRun(sql, asked.workspaceId, asked.runId);
    if (run === undefined) return undefined;
    if (await isClosedTo(sql, asked, run)) return "closed";
    const hasEnded = run.finishedAt !== null;
    const hasLines = run.lastSeq > asked.after;
    const leftMs = until - performance.now();
    if (hasLines || hasEnded || leftMs <= 0 || signal.aborted) {
      const upTo = Math.min(run.lastSeq, asked.after + asked.limit);
      const read = hasLines ? await readLines(sql, asked.runId, asked.after, upTo) : [];
      const hasMore = run.lastSeq > upTo;
      return {
        lines: read,
        nextAfter: hasLines ? upTo : asked.after,
        hasMore,
        hasEnded: hasEnded && !hasMore,
        status: run.status,
        waitsOn: run.waitsOn,
      };
    }
    await sleep(Math.min(lookEveryMs, leftMs), undefined, { signal }).catch(() => undefined);
  }
}
