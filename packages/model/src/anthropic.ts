import { setTimeout as delay } from "node:timers/promises";
import { Anthropic } from "@anthropic-ai/sdk";
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages";
import { CapabilityRefused } from "@countersign/engine/engine.ts";
import { EngineError } from "@countersign/engine/engine-error.ts";
import type { Delta, Model, ModelReply, ModelRequest } from "@countersign/engine/model.ts";
import { buildRequest, withoutLoneSurrogates } from "./build-request.ts";
import { failureOf, StreamCut } from "./failure.ts";
import { costMicrosOf, type ModelFacts } from "./model-facts.ts";
import { type ReadReply, readReply } from "./read-reply.ts";
import { retryWaitMs, type RetryTimes } from "./retry-wait.ts";
import { apiNameOf, toolNameOf } from "./tool-names.ts";

export interface AnthropicOptions {
  /** Where the API is, without a path of its own. */
  readonly baseUrl: string;
  /** Opens the key for one attempt; it is passed to the SDK and kept nowhere. */
  readonly withKey: <T>(request: ModelRequest, body: (key: string) => Promise<T>) => Promise<T>;
  /** By the name that a definition gives. */
  readonly models: ReadonlyMap<string, ModelFacts>;
  readonly retry: RetryTimes;
  readonly report: (event: ModelEvent) => void;
}

/** What an operator should be able to see in the log. */
export type ModelEvent =
  /** Its tokens are counted, its cost is taken as nothing; said once per model. */
  | { readonly kind: "model.price_unknown"; readonly model: string }
  | {
      readonly kind: "model.retried";
      readonly runId: string;
      readonly attempt: number;
      readonly waitMs: number;
      readonly reason: string;
    };

/** How long the provider may take to begin to answer. Gaps inside an answer are bounded by fetch, at five minutes. */
const headersTimeoutMs = 300_000;

/**
 * Claude through the Messages API, as the engine's model. Asks again over what passes (429, 5xx, overload, a broken
 * stream) until `retry.forMs` is over, and tells `onDelta` to start over each time. Rejects with EngineError in words of
 * our own: `model_unavailable`, `model_refused`, `prompt_too_long`, `model_cut_off`; with the signal's reason once it is
 * aborted, at once.
 */
export function createAnthropicModel(options: AnthropicOptions): Model {
  const { host } = new URL(options.baseUrl);
  const unpriced = new Set<string>();

  function costOf(model: string, reply: ReadReply): number {
    const prices = options.models.get(model)?.prices;
    if (prices !== undefined) return costMicrosOf(reply.tokens, prices);
    if (!unpriced.has(model)) options.report({ kind: "model.price_unknown", model });
    unpriced.add(model);
    return 0;
  }

  return async (request, signal, onDelta = () => undefined) => {
    const params = buildRequest(request, options.models.get(request.model)?.thinking);
    const startedAt = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      onDelta({ kind: "started" });
      try {
        const reply = await options.withKey(request, (key) =>
          send(options.baseUrl, key, request, params, signal, onDelta),
        );
        return replyOf(request, reply, costOf(request.model, reply), host);
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof CapabilityRefused)
          throw new EngineError("model_refused", `The model's key cannot be had: ${thrown.message}`);
        const failure = failureOf(thrown, host, Date.now());
        if (failure === undefined) throw thrown;
        if (!failure.isPassing) throw failure.error;
        const { message } = failure.error;
        const waitMs = retryWaitMs(options.retry, attempt, failure.retryAfterMs, performance.now() - startedAt);
        if (waitMs === undefined) {
          const times = attempt === 1 ? "once" : `${attempt} times`;
          throw new EngineError(
            "model_unavailable",
            `${message}; it was asked ${times} within ${options.retry.forMs / 1_000} s`,
          );
        }
        options.report({ kind: "model.retried", runId: request.runId, attempt, waitMs, reason: message });
        onDelta({ kind: "retried", reason: `${message}; asked ${attempt === 1 ? "once" : `${attempt} times`}` });
        // An abort ends the wait; it is met at the beginning of the next attempt.
        await delay(waitMs, undefined, { signal }).catch(() => undefined);
      }
    }
  };
}

/** One attempt. The SDK is given all it might otherwise look for in the environment, and neither retries nor logs. */
async function send(
  baseURL: string,
  apiKey: string,
  request: ModelRequest,
  params: MessageCreateParamsStreaming,
  signal: AbortSignal,
  onDelta: (delta: Delta) => void,
): Promise<ReadReply> {
  const client = new Anthropic({
    apiKey,
    baseURL,
    maxRetries: 0,
    timeout: headersTimeoutMs,
    logLevel: "off",
    openTelemetry: false,
    fetch: sendBody,
  });
  const advertised = new Map(request.tools.map(({ name }) => [apiNameOf(name), name]));
  const events = await client.messages.create(params, { signal });
  const reply = await readReply(events, (apiName) => toolNameOf(apiName, advertised), onDelta);
  // So ends, without an error, a stream that was aborted, too.
  if (reply === undefined) throw new StreamCut();
  return reply;
}

/** A redirect is an answer that nobody expects: followed, the conversation would go to whoever it names. */
async function sendBody(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const body = typeof init?.body === "string" ? { body: withoutLoneSurrogates(init.body) } : {};
  return await fetch(url, { ...init, ...body, redirect: "manual" });
}

function replyOf(
  request: ModelRequest,
  { content, stopReason, tokens }: ReadReply,
  costMicros: number,
  host: string,
): ModelReply {
  if (stopReason === "refusal")
    throw new EngineError(
      "model_refused",
      `The model ${request.model} of ${host} declined to answer this conversation`,
    );
  if (stopReason === "model_context_window_exceeded")
    throw new EngineError("prompt_too_long", `The conversation and its answer are longer than ${request.model} takes`);
  if (stopReason === "max_tokens" && content.every((block) => block.type !== "tool_use")) {
    throw new EngineError(
      "model_cut_off",
      `The answer of ${request.model} was cut off at ${request.maxOutputTokens} tokens; give the definition a higher maxOutputTokens`,
    );
  }
  const inputTokens = tokens.input + tokens.cacheWrite + tokens.cacheRead;
  return { content, usage: { inputTokens, outputTokens: tokens.output, costMicros } };
}
