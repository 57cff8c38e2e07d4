/** Where embeddings come from: an endpoint that speaks as OpenAI's `/embeddings` does. */
export interface EmbeddingsSettings {
  /** The whole address, such as `https://api.openai.com/v1/embeddings`. */
  readonly url: string;
  readonly model: string;
  /** Sent as a bearer token; absent for an endpoint that asks for none. */
  readonly key?: string | undefined;
}

/** A point of length 1; all of one model have as many numbers. */
export type Vector = readonly number[];

export type EmbedOutcome =
  /** One vector for each text, in their order. */
  | { readonly kind: "embedded"; readonly vectors: readonly Vector[] }
  /** These very texts are refused; others may not be. */
  | { readonly kind: "unfit"; readonly reason: string }
  /** Nothing is to be had now, whatever the text; `reason` holds nothing of address, key or answer. */
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs?: number | undefined };

export interface EmbedOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Turns texts into vectors. */
export interface Embedder {
  readonly model: string;
  embed(texts: readonly string[], options: EmbedOptions): Promise<EmbedOutcome>;
}

/** An index of `halfvec` holds no longer ones. */
const mostDims = 4_000;

/** What is wrong with a text, and not with the endpoint or the key. */
const unfitStatuses = new Set([400, 413, 422]);

/**
 * The endpoint as an embedder. One call is one request; it follows no redirect, since the texts are for this address
 * alone. Never rejects.
 */
export function createEmbedder({ url, model, key }: EmbeddingsSettings): Embedder {
  return {
    model,
    async embed(texts, { timeoutMs, signal }) {
      const late = AbortSignal.timeout(timeoutMs);
      try {
        const response = await fetch(url, {
          method: "POST",
          redirect: "error",
          headers: {
            "content-type": "application/json",
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          },
          body: JSON.stringify({ model, input: texts, encoding_format: "float" }),
          signal: signal === undefined ? late : AbortSignal.any([late, signal]),
        });
        const text = await response.text();
        if (response.ok) return readAnswer(text, texts.length);
        const reason = `the endpoint of embeddings answered ${response.status}`;
        if (unfitStatuses.has(response.status)) return { kind: "unfit", reason };
        return { kind: "failed", reason, retryAfterMs: readRetryAfter(response.headers.get("retry-after")) };
      } catch {
        // The library's own words may quote the address.
        if (late.aborted)
          return { kind: "failed", reason: `the endpoint of embeddings did not answer within ${timeoutMs} ms` };
        return {
          kind: "failed",
          reason: signal?.aborted === true ? "it was stopped" : "the endpoint of embeddings cannot be reached",
        };
      }
    },
  };
}

function readAnswer(text: string, count: number): EmbedOutcome {
  const rows = readRows(text);
  if (rows === undefined) return wrong("in a form that is not that of embeddings");
  if (rows.length !== count) return wrong(`${rows.length} vectors for ${count} texts`);
  const vectors: Vector[] = [];
  for (const [n, { index = n, embedding }] of rows.entries()) {
    const vector = toLengthOne(embedding);
    if (vector === undefined) return wrong("a vector that points nowhere");
    vectors[index] = vector;
  }
  const dims = vectors[0]?.length ?? 0;
  if (dims > mostDims) return wrong(`vectors of ${dims} numbers; at most ${mostDims} can be searched`);
  for (let n = 0; n < count; n += 1) {
    if (vectors[n] === undefined) return wrong("without a vector for each text");
    if (vectors[n]?.length !== dims) return wrong("vectors of different lengths");
  }
  return { kind: "embedded", vectors };
}

interface AnswerRow {
  readonly index?: number;
  readonly embedding: readonly number[];
}

function readRows(text: string): readonly AnswerRow[] | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof answer !== "object" || answer === null || !("data" in answer) || !Array.isArray(answer.data))
    return undefined;
  const rows: unknown[] = answer.data;
  return rows.every(isRow) ? rows : undefined;
}

function isRow(row: unknown): row is AnswerRow {
  if (typeof row !== "object" || row === null || !("embedding" in row) || !Array.isArray(row.embedding)) return false;
  const numbers: unknown[] = row.embedding;
  const index = "index" in row ? row.index : undefined;
  return (
    numbers.length > 0 &&
    numbers.every((one) => typeof one === "number" && Number.isFinite(one)) &&
    (index === undefined || (typeof index === "number" && Number.isInteger(index) && index >= 0))
  );
}

function toLengthOne(numbers: readonly number[]): Vector | undefined {
  const length = Math.hypot(...numbers);
  if (!(length > 0) || !Number.isFinite(length)) return undefined;
  return numbers.map((one) => one / length);
}

function wrong(what: string): EmbedOutcome {
  return { kind: "failed", reason: `the endpoint of embeddings answered ${what}` };
}

/** Seconds or a date, as HTTP has it; milliseconds from now. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}
