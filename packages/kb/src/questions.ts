import type { Embedder, Vector } from "./embeddings.ts";

export type QuestionOutcome =
  | { readonly kind: "embedded"; readonly vector: Vector }
  | { readonly kind: "left_out"; readonly reason: string };

/** Turns what people and agents search for into vectors, without keeping them waiting. */
export interface Questions {
  readonly model: string;
  embed(question: string): Promise<QuestionOutcome>;
}

export interface QuestionsOptions {
  /** How long a search waits for the endpoint; 1 s unless stated. */
  readonly timeoutMs?: number;
  /** For how long nobody waits for an endpoint that has just failed; 10 s unless stated. */
  readonly restMs?: number;
}

/** Questions for one process: one request each, none while the endpoint rests. Never rejects. */
export function createQuestions(embedder: Embedder, options: QuestionsOptions = {}): Questions {
  const { timeoutMs = 1_000, restMs = 10_000 } = options;
  let failed: { readonly reason: string; readonly until: number } | undefined;
  return {
    model: embedder.model,
    async embed(question) {
      if (failed !== undefined && performance.now() < failed.until) return { kind: "left_out", reason: failed.reason };
      const outcome = await embedder.embed([question], { timeoutMs });
      const [vector] = outcome.kind === "embedded" ? outcome.vectors : [];
      if (vector !== undefined) {
        failed = undefined;
        return { kind: "embedded", vector };
      }
      const reason = outcome.kind === "embedded" ? "the endpoint of embeddings answered nothing" : outcome.reason;
      // A question that is refused says nothing of the next one.
      if (outcome.kind === "failed") failed = { reason, until: performance.now() + restMs };
      return { kind: "left_out", reason };
    },
  };
}
