import { APIConnectionError, APIError, APIUserAbortError } from "@anthropic-ai/sdk";
import { EngineError } from "@countersign/engine/engine-error.ts";

/** What one attempt failed with, in our own words: nothing of the provider's body or headers but what is checked here. */
export interface Failure {
  /** Another attempt may succeed. */
  readonly isPassing: boolean;
  /** How long the provider asked to be left alone. */
  readonly retryAfterMs: number | undefined;
  readonly error: EngineError;
}

/** Types of errors that pass, as the last event of a stream names them; in a stream there is no status. */
const passingTypes: ReadonlySet<string> = new Set([
  "overloaded_error",
  "api_error",
  "rate_limit_error",
  "timeout_error",
]);

/** The stream ended in good order, but not with the event that ends a message. */
export class StreamCut extends Error {
  override readonly name = "StreamCut";
}

/** What an attempt threw, or undefined where it is no fault of the request: a bug of ours, to be thrown on. */
export function failureOf(thrown: unknown, host: string, now: number): Failure | undefined {
  if (thrown instanceof APIUserAbortError) return undefined;
  if (thrown instanceof StreamCut || thrown instanceof APIConnectionError || isNetworkError(thrown)) {
    const what = thrown instanceof StreamCut ? "ended its answer in the middle" : "could not be reached or broke off";
    return failure({
      isPassing: true,
      error: new EngineError("model_unavailable", `The model provider ${host} ${what}`),
    });
  }
  if (!(thrown instanceof APIError)) return undefined;
  const { status, headers } = thrown as APIError;
  const answered = describe(thrown, host);
  const shouldRetry = headers?.get("x-should-retry");
  const passes = status === undefined ? passingTypes.has(thrown.type ?? "") : isPassingStatus(status);
  if (shouldRetry === "true" || (passes && shouldRetry !== "false")) {
    const error = new EngineError("model_unavailable", `The model provider ${answered}`);
    return failure({ isPassing: true, retryAfterMs: retryAfterMsOf(headers, now), error });
  }
  return failure({ isPassing: false, error: refusalOf(thrown, answered) });
}

function failure(of: { isPassing: boolean; retryAfterMs?: number | undefined; error: EngineError }): Failure {
  return { retryAfterMs: undefined, ...of };
}

function isPassingStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function refusalOf(thrown: APIError, answered: string): EngineError {
  const { status } = thrown;
  if (
    status === 413 ||
    (status === 400 && /^prompt is too long|exceeds? (?:(?!exceeds? ).)*context/i.test(thrown.apiMessage ?? ""))
  ) {
    return new EngineError("prompt_too_long", `The conversation is longer than the model takes: ${answered}`);
  }
  const advice =
    status === 401 || status === 403
      ? "; check the key that is stored for llm.anthropic and what it may use"
      : status === 404
        ? "; check the model's name in the definition"
        : "; the provider's own log says why, under the request id";
  return new EngineError("model_refused", `The model provider refused the request: ${answered}${advice}`);
}

/** Status, kind and request id, each only in the shape that it has in the provider's documentation. */
function describe({ status, type, requestID }: APIError, host: string): string {
  const kind = /^[a-z_]{1,60}$/.test(type ?? "") ? ` (${type})` : "";
  const id = /^[\w-]{1,100}$/.test(requestID ?? "") ? `, request ${requestID}` : "";
  return `${host} answered ${status === undefined ? "with an error in its stream" : `status ${status}`}${kind}${id}`;
}

/** `retry-after` in seconds or as a date; undefined where it is missing or neither. */
function retryAfterMsOf(headers: Headers | undefined, now: number): number | undefined {
  const value = headers?.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0);
}

/** What fetch throws while a body is read, and what the SDK throws over an event that arrived in pieces. */
function isNetworkError(thrown: unknown): boolean {
  if (thrown instanceof SyntaxError) return true;
  return thrown instanceof TypeError && /^(?:terminated|fetch failed|network error)/.test(thrown.message);
}
