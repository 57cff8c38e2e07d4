import { setTimeout as sleep } from "node:timers/promises";
import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { LogLine, LogPart } from "../shapes/runs.ts";
import { readRun } from "./runs.ts";

/** How long a follower sleeps between two looks. */
const lookEveryMs = 250;

const lines = `
  select l.seq, l.kind, l.call_id as "callId", l.actor, u.name as "actorName", l.content, l.at
    from run_log l
    left join users u on u.id = case when l.actor like 'user:%' then substring(l.actor from 6)::uuid end
   where l.run_id = $1 and l.seq > $2 and l.seq <= coalesce($3::int, 2147483647)
   order by l.seq`;

/** The lines of a run's log from `after` on, in order. The caller has made sure whose run it is. */
export async function readLines(sql: Queryable, runId: string, after: number, upTo?: number): Promise<LogLine[]> {
  const rows = await sql.unsafe<(LogLine & { content: string })[]>(lines, [runId, after, upTo ?? null], {
    prepare: true,
  });
  return rows.map((row) => ({ ...row, content: parseExact(row.content) }));
}

export interface FollowedLog {
  readonly workspaceId: string;
  readonly runId: string;
  /** The last line the reader has. */
  readonly after: number;
  readonly limit: number;
  /** How long to wait for a line where there is none yet. */
  readonly waitMs: number;
}

/**
 * The next lines of a run's log. Where there are none it waits for one, up to `waitMs`, until the run has ended or
 * `signal` is aborted; no connection is held while it waits. Undefined where the workspace has no such run.
 */
export async function followLog(sql: Queryable, asked: FollowedLog, signal: AbortSignal): Promise<LogPart | undefined> {
  const until = performance.now() + asked.waitMs;
  for (;;) {
    // The log is dense, so the run's own row says whether there is more.
    const run = await readRun(sql, asked.workspaceId, asked.runId);
    if (run === undefined) return undefined;
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
