import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "@countersign/db/connect.ts";
import { stringifyExact } from "./exact-text.ts";
import type { Hold } from "./held-run.ts";
import type { Delta } from "./model.ts";

/** Takes secrets out of a text that comes in pieces, and holds back what may be the beginning of one. */
export interface DeltaScrub {
  push(piece: string): string;
  end(): string;
}

export interface StreamDeltas {
  readonly sql: Sql;
  readonly hold: Hold;
  /** How many turns the run had before the one that is told of. */
  readonly turn: number;
  /** Called for each text; without it a text is shown as it is. */
  readonly createScrub?: (() => Promise<DeltaScrub>) | undefined;
}

export interface DeltaStream {
  push(delta: Delta): void;
  /** Afterwards nothing more is written. What was not written yet is dropped: the turn's own message follows. */
  end(): Promise<void>;
}

/** The shortest time between two writes of one run. */
const flushMs = 250;

const insert = `
  insert into deltas (run_id, turn, kind, content)
  select r.id, r.turns, d.kind, d.content
    from runs r
   cross join unnest($5::text[], $6::text[]) with ordinality d (kind, content, n)
   where r.id = $1::uuid and r.epoch = $2::bigint and r.lease_id = $3::uuid and r.turns = $4::int
   order by d.n`;

/**
 * Shows what a model says to those who watch, at most four times a second, as long as the run is held and the turn is not
 * recorded. Not part of correctness: a write that fails ends the showing, and the recorded turn makes up for it.
 */
export function streamDeltas({ sql, hold, turn, createScrub }: StreamDeltas): DeltaStream {
  let waiting: Delta[] = [];
  let writing: Promise<void> | undefined;
  let isEnded = false;
  /** Made with the first write: most turns of a model that does not stream have none. */
  let pause: AbortController | undefined;
  const scrub = scrubbing(createScrub);

  function stop(): void {
    isEnded = true;
    pause?.abort();
  }

  async function write(): Promise<void> {
    const { signal } = (pause ??= new AbortController());
    while (waiting.length > 0 && !isEnded) {
      const rows = joinTexts(await scrub(waiting.splice(0)));
      if (rows.length > 0) {
        await sql.unsafe(
          insert,
          [
            hold.runId,
            hold.epoch,
            hold.leaseId,
            turn,
            rows.map(({ kind }) => kind),
            rows.map((row) => stringifyExact(contentOf(row))),
          ],
          { prepare: true },
        );
      }
      await delay(flushMs, undefined, { signal });
    }
    writing = undefined;
  }

  return {
    push(delta) {
      if (isEnded) return;
      waiting.push(delta);
      // An error is the end of the showing; whoever watches has the turn's message in its place.
      writing ??= write().catch(stop);
    },
    async end() {
      stop();
      waiting = [];
      await writing;
    },
  };
}

/** Scrubs texts as one for as long as they are of one kind: a value that lies across two pieces is found. */
function scrubbing(createScrub: StreamDeltas["createScrub"]): (deltas: readonly Delta[]) => Promise<Delta[]> {
  let open: { kind: "text" | "thinking"; scrub: DeltaScrub } | undefined;

  function close(): Delta[] {
    if (open === undefined) return [];
    const { kind, scrub } = open;
    open = undefined;
    return [{ kind, text: scrub.end() }];
  }

  return async (deltas) => {
    if (createScrub === undefined) return [...deltas];
    const out: Delta[] = [];
    for (const delta of deltas) {
      if (open !== undefined && open.kind !== delta.kind) out.push(...close());
      if (delta.kind !== "text" && delta.kind !== "thinking") {
        out.push(delta);
        continue;
      }
      open ??= { kind: delta.kind, scrub: await createScrub() };
      out.push({ kind: delta.kind, text: open.scrub.push(delta.text) });
    }
    return out;
  };
}

function joinTexts(deltas: readonly Delta[]): Delta[] {
  const joined: Delta[] = [];
  for (const delta of deltas) {
    const last = joined.at(-1);
    if ("text" in delta && delta.text === "") continue;
    if (last !== undefined && "text" in last && "text" in delta && last.kind === delta.kind)
      joined[joined.length - 1] = { kind: last.kind, text: last.text + delta.text };
    else joined.push(delta);
  }
  return joined;
}

function contentOf(delta: Delta): string {
  switch (delta.kind) {
    case "started":
      return "";
    case "retried":
      return delta.reason;
    case "tool_use":
      return delta.tool;
    default:
      return delta.text;
  }
}
