import type { Sql } from "@countersign/db/connect.ts";
import { isOutcomeUnknown } from "@countersign/db/connection-errors.ts";
import {
  claimDuePages,
  type ClaimedPage,
  dropRemovedPages,
  type DuePage,
  loadDuePage,
  postponePage,
  releasePages,
  type Space,
  storeVectors,
} from "./due-pages.ts";
import type { Embedder, Vector } from "./embeddings.ts";

export type EmbedRound =
  /** `pages` got their vectors, `unfit` were refused by the endpoint and wait. */
  | { readonly kind: "embedded"; readonly pages: number; readonly unfit: number }
  /** Every page has the vectors of now, or waits. */
  | { readonly kind: "idle" }
  /** The endpoint gives nothing now. What had been embedded before is kept, the rest is due again. */
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs?: number | undefined };

export interface RoundOptions {
  readonly embedder: Embedder;
  readonly space: Space;
  readonly signal?: AbortSignal | undefined;
  /** How long the pages of a round are this process's; 2 minutes unless stated. */
  readonly claimMs?: number;
}

const pagesOfRound = 16;
/** In one request, which is about 25,000 tokens. */
const mostTexts = 64;
const requestMs = 20_000;
const firstWaitMs = 30_000;
const longestWaitMs = 3_600_000;

/**
 * One round: some pages that changed, or were never looked at, get their vectors. Only parts whose text is new are sent,
 * several pages in a request; each page is committed by itself, so that a process that dies loses one request's work. Where
 * the endpoint refuses a request for its texts, its pages are sent one by one, and the one that it is waits longer each time.
 * So does one that cannot be read or stored: its error is thrown, once what stands beside it is stored or due again.
 */
export async function embedPages(sql: Sql, options: RoundOptions): Promise<EmbedRound> {
  const { space, claimMs = 120_000 } = options;
  await dropRemovedPages(sql);
  const endsAt = performance.now() + claimMs - requestMs;
  const waiting = await claimDuePages(sql, space, { most: pagesOfRound, claimMs });
  if (waiting.length === 0) return { kind: "idle" };
  const total = { pages: 0, unfit: 0 };
  try {
    while (waiting.length > 0 && performance.now() < endsAt) {
      const batch = await loadBatch(sql, waiting, space);
      const outcome = await embedBatch(sql, batch, options);
      if (outcome.kind === "failed") {
        waiting.push(...batch);
        return outcome;
      }
      total.pages += outcome.pages;
      total.unfit += outcome.unfit;
    }
  } finally {
    await releasePages(sql, waiting);
  }
  return { kind: "embedded", ...total };
}

/** Takes as many of the `waiting` pages as fill a request; those that are gone meanwhile drop out. */
async function loadBatch(sql: Sql, waiting: ClaimedPage[], space: Space): Promise<DuePage[]> {
  const batch: DuePage[] = [];
  for (let texts = 0; texts < mostTexts;) {
    const next = waiting.shift();
    if (next === undefined) break;
    let page: DuePage | undefined;
    try {
      page = await loadDuePage(sql, next, space);
    } catch (error) {
      waiting.push(...batch);
      await postponeFailed(sql, next, error);
      throw error;
    }
    if (page === undefined) continue;
    batch.push(page);
    texts += missingOf(page).length;
  }
  return batch;
}

function missingOf({ parts, known }: DuePage): string[] {
  return [...new Map(parts.filter(({ hash }) => !known.has(hash)).map(({ hash, text }) => [hash, text])).values()];
}

type BatchOutcome =
  | { readonly kind: "embedded"; readonly pages: number; readonly unfit: number }
  | Extract<EmbedRound, { kind: "failed" }>;

async function embedBatch(sql: Sql, batch: readonly DuePage[], options: RoundOptions): Promise<BatchOutcome> {
  const texts = [...new Set(batch.flatMap(missingOf))];
  const outcome = await embedTexts(texts, options);
  if (outcome.kind === "failed") return outcome;
  if (outcome.kind === "embedded")
    return { kind: "embedded", pages: await store(sql, batch, outcome.vectors, options), unfit: 0 };
  const [only, ...others] = batch;
  if (only !== undefined && others.length === 0) {
    await postponePage(sql, only, { reason: outcome.reason, waitMs: waitOf(only) });
    return { kind: "embedded", pages: 0, unfit: 1 };
  }
  const total = { pages: 0, unfit: 0 };
  for (const page of batch) {
    const alone = await embedBatch(sql, [page], options);
    if (alone.kind === "failed") return alone;
    total.pages += alone.pages;
    total.unfit += alone.unfit;
  }
  return { kind: "embedded", ...total };
}

type TextsOutcome =
  | { readonly kind: "embedded"; readonly vectors: ReadonlyMap<string, Vector> }
  | { readonly kind: "unfit"; readonly reason: string }
  | Extract<EmbedRound, { kind: "failed" }>;

async function embedTexts(texts: readonly string[], { embedder, space, signal }: RoundOptions): Promise<TextsOutcome> {
  const vectors = new Map<string, Vector>();
  for (let at = 0; at < texts.length; at += mostTexts) {
    const some = texts.slice(at, at + mostTexts);
    const outcome = await embedder.embed(some, { timeoutMs: requestMs, signal });
    if (outcome.kind !== "embedded") return outcome;
    for (const [n, vector] of outcome.vectors.entries()) {
      if (vector.length !== space.dims) {
        return {
          kind: "failed",
          reason: `the endpoint of embeddings answered vectors of ${vector.length} numbers, and of ${space.dims} before`,
        };
      }
      vectors.set(some[n] ?? "", vector);
    }
  }
  return { kind: "embedded", vectors };
}

async function store(
  sql: Sql,
  batch: readonly DuePage[],
  vectors: ReadonlyMap<string, Vector>,
  { space }: RoundOptions,
): Promise<number> {
  let stored = 0;
  const errors: unknown[] = [];
  for (const page of batch) {
    const ofParts = page.parts.map(({ hash, text }) => page.known.get(hash) ?? vectors.get(text) ?? []);
    try {
      if (await storeVectors(sql, page, ofParts, space)) stored += 1;
    } catch (error) {
      errors.push(error);
      await postponeFailed(sql, page, error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return stored;
}

async function postponeFailed(sql: Sql, page: ClaimedPage, error: unknown): Promise<void> {
  if (isOutcomeUnknown(error)) throw error;
  await postponePage(sql, page, { reason: "it could not be read, or its vectors not be stored", waitMs: waitOf(page) });
}

function waitOf({ attempts }: ClaimedPage): number {
  return Math.min(firstWaitMs * 2 ** (attempts - 1), longestWaitMs);
}
