import type { Sql } from "@countersign/db/connect.ts";
import type { Space } from "@countersign/kb/due-pages.ts";
import { embedPages } from "@countersign/kb/embed-pages.ts";
import type { Embedder } from "@countersign/kb/embeddings.ts";
import { ensureExtension, prepareIndex } from "@countersign/kb/vector-index.ts";
import type { Logger } from "pino";
import { repeat, type Repeated } from "./repeat.ts";
import { describeError } from "./report.ts";

export interface KeepVectorsOptions {
  readonly sql: Sql;
  readonly embedder: Embedder;
  readonly log: Logger;
  /** How often it looks for pages that changed. */
  readonly lookMs?: number;
  /** How long an endpoint that failed is left alone at first; each further time twice as long. */
  readonly firstWaitMs?: number;
}

const longestWaitMs = 300_000;
const prepareEveryMs = 60_000;
const probeMs = 20_000;

/**
 * Gives pages their vectors: each that changed or has none, soon after, a few in a request. An endpoint that fails is left
 * alone, longer each time and as long as it asks for; without the extension nothing is sent at all. The log says once what
 * is in the way, and once that it is over. Any number of workers may do so at once.
 */
export function keepVectors(options: KeepVectorsOptions): Repeated {
  const { sql, embedder, log, lookMs = 10_000, firstWaitMs = 2_000 } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let space: Space | undefined;
  let preparedAt = Number.NEGATIVE_INFINITY;
  let failures = 0;
  let notBefore = 0;
  let told: string | undefined;

  function wait(reason: string, ms: number, advice?: string): "later" {
    notBefore = performance.now() + ms;
    if (told !== reason && !signal.aborted)
      log.warn({ reason, ...(advice === undefined ? {} : { advice }) }, "pages get no vectors for now");
    told = reason;
    return "later";
  }

  function waitLonger(reason: string, retryAfterMs?: number): "later" {
    // What the model is may have changed with what failed.
    space = undefined;
    failures += 1;
    return wait(reason, waitAfter(failures, firstWaitMs, retryAfterMs));
  }

  async function prepare(): Promise<Space | "later"> {
    const support = await ensureExtension(sql);
    if (support.kind === "missing") return wait(support.reason, prepareEveryMs, support.advice);
    if (space === undefined) {
      const probe = await embedder.embed(["countersign"], { timeoutMs: probeMs, signal });
      if (probe.kind !== "embedded")
        return waitLonger(probe.reason, probe.kind === "failed" ? probe.retryAfterMs : undefined);
      space = { model: embedder.model, dims: probe.vectors[0]?.length ?? 0 };
    }
    await prepareIndex(sql, space.dims);
    preparedAt = performance.now();
    return space;
  }

  async function look(): Promise<"again" | "later"> {
    const now = performance.now();
    if (now < notBefore) return "later";
    const at = space === undefined || now - preparedAt > prepareEveryMs ? await prepare() : space;
    if (at === "later") return at;
    const round = await embedPages(sql, { embedder, space: at, signal });
    if (round.kind === "failed") return waitLonger(round.reason, round.retryAfterMs);
    if (told !== undefined) log.info("pages get vectors again");
    told = undefined;
    failures = 0;
    if (round.kind === "idle") return "later";
    if (round.unfit > 0) {
      log.warn(
        { pages: round.unfit },
        "the endpoint of embeddings refuses the text of pages; they are tried again later",
      );
      // It may be that it refuses everything: then the next look asks first.
      space = undefined;
    }
    log.debug({ pages: round.pages }, "pages were given vectors");
    return "again";
  }

  const looking = repeat(lookMs, look, (error) =>
    log.warn({ error: describeError(error, log) }, "giving pages vectors failed; the next look comes by itself"),
  );
  return {
    async stop() {
      stopping.abort();
      await looking.stop();
    },
  };
}

/** How long an endpoint that failed so many times in a row is left alone, in milliseconds. */
export function waitAfter(failures: number, firstWaitMs: number, retryAfterMs = 0): number {
  return Math.min(Math.max(firstWaitMs * 2 ** (failures - 1), retryAfterMs), longestWaitMs);
}
