import type { Sql } from "@countersign/db/connect.ts";
import { readLines } from "../queries/run-log.ts";
import { isClosedTo } from "../closed-runs.ts";
import { type FoundRun, readRun } from "../queries/runs.ts";
import type { LogLine } from "../shapes/runs.ts";
import type { Attention } from "./attention.ts";
import { opening, writeAlive, writeEvent } from "./event-stream.ts";
import type { SharedReads } from "./share-reads.ts";

/** A reader that lacks more lines than this is told to read the log by pages. */
const mostMissedLines = 10_000;

/** How many lines are read and written at once. */
const linesAtOnce = 50;

export interface RunStream {
  readonly workspaceId: string;
  /** Who reads. */
  readonly userId: string;
  readonly runId: string;
  /** The last line the reader has. */
  readonly after: number;
  /** How often a sign of life comes. */
  readonly everyMs: number;
}

/** What a reader at a certain line lacks. */
export interface RunNews {
  readonly run: FoundRun;
  readonly lines: readonly LogLine[];
}

/**
 * A run's story as events: each line of its log once and in order, its number being the event's id; how the run stands,
 * whenever that changes; `end` after the last line. A reader that is too far behind, or ahead, gets `resync` and goes on
 * from the present. It ends, and tells nothing more, where the run is closed to the reader by then. The log's numbers are
 * dense and taken under the run's lock, so the reader's own number says exactly what it lacks, whatever was or was not
 * heard.
 */
export async function* streamRun(
  { sql, reads }: { readonly sql: Sql; readonly reads: SharedReads<RunNews | undefined> },
  stream: RunStream,
  attention: Attention,
): AsyncGenerator<string, void> {
  let { after } = stream;
  let told: string | undefined;
  try {
    yield opening;
    let snapshot = await attention.listen();
    if (snapshot === undefined) return;
    for (;;) {
      const { workspaceId, userId, runId } = stream;
      const place = { workspaceId, runId, after };
      const news = await reads.read(JSON.stringify([snapshot, place]), () => readNews(sql, place));
      if (news === undefined) return;
      const { run, lines } = news;
      // What is told was read together with this, and is closed before it is recorded.
      if (await isClosedTo(sql, { workspaceId, userId }, run)) return;
      if (isOutOfStep(run, after)) {
        after = run.lastSeq;
        yield writeEvent({ event: "resync", id: String(after), data: { lastSeq: after } });
      } else {
        const texts = lines.map((line) => writeEvent({ event: "line", id: String(line.seq), data: line }));
        after += lines.length;
        if (texts.length > 0) yield texts.join("");
      }
      if (after < run.lastSeq) continue;

      const standing = { status: run.status, waitsOn: run.waitsOn, heldBy: run.heldBy };
      if (run.finishedAt !== null) {
        yield writeEvent({ event: "end", data: standing });
        return;
      }
      if (told !== JSON.stringify(standing)) yield writeEvent({ event: "status", data: standing });
      told = JSON.stringify(standing);

      for (let hasNews = false; !hasNews;) {
        const { changes, ping, hasEnded } = await attention.next();
        if (hasEnded) return;
        if (ping !== undefined) yield writeAlive(stream.everyMs);
        hasNews = changes.length > 0;
        snapshot = changes.at(-1)?.snapshot ?? snapshot;
      }
    }
  } finally {
    attention.end();
  }
}

function isOutOfStep({ lastSeq }: FoundRun, after: number): boolean {
  return after > lastSeq || lastSeq - after > mostMissedLines;
}

async function readNews(
  sql: Sql,
  { workspaceId, runId, after }: Omit<RunStream, "userId" | "everyMs">,
): Promise<RunNews | undefined> {
  const run = await readRun(sql, workspaceId, runId);
  if (run === undefined) return undefined;
  // Up to what the row says, so that how it stands is never older than the last line told.
  const upTo = Math.min(run.lastSeq, after + linesAtOnce);
  const isNothingToRead = after >= upTo || isOutOfStep(run, after);
  return { run, lines: isNothingToRead ? [] : await readLines(sql, runId, after, upTo) };
}
