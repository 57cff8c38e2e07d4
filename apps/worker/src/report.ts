import type { EngineEvent } from "@countersign/engine/engine.ts";
import { Refusal } from "@countersign/db/refusal.ts";
import type { ModelEvent } from "@countersign/model/anthropic.ts";
import type { Logger } from "pino";

/** What each event means to whoever reads the log, and how loud it is. */
const lines = {
  "run.dropped": ["error", "a run was dropped; its lease runs out and it is taken up again"],
  "run.failed": ["warn", "a run failed"],
  "run.quarantined": [
    "error",
    "a run was claimed again and again without progress and is quarantined; cancel it, and start another",
  ],
  "tool.failed": ["warn", "a tool failed with an error of its own"],
  "classifier.failed": ["warn", "the classifier could not be asked; the call asks a person instead"],
  "claim.failed": ["warn", "looking for ready runs failed; the next look comes by itself"],
  "lease.lost": ["warn", "a lease was lost; whoever holds the run now goes on with it"],
  "sweep.failed": ["warn", "a sweep failed; the next one comes by itself"],
  "bell.unavailable": ["warn", "the bell is not heard; ready runs are found by polling"],
} as const satisfies Record<EngineEvent["kind"], readonly ["warn" | "error", string]>;

/**
 * Writes the engine's events as log lines with the run's id. Never contents: of an error the name, the code, and the
 * message where it is one of ours; its stack only where the level is debug.
 */
export function createReport(log: Logger): (event: EngineEvent) => void {
  return (event) => {
    const [level, message] = lines[event.kind];
    const { kind } = event;
    const error = "error" in event && event.error !== undefined ? describeError(event.error, log) : undefined;
    log[level](
      {
        event: kind,
        ...("runId" in event ? { runId: event.runId } : {}),
        ...("tool" in event ? { tool: event.tool } : {}),
        ...(error === undefined ? {} : { error }),
      },
      message,
    );
  };
}

/** Writes what the model's provider tells an operator; its reasons are in words of our own. */
export function createModelReport(log: Logger): (event: ModelEvent) => void {
  return (event) => {
    if (event.kind === "model.retried")
      log.warn({ event: event.kind, ...event }, "the model did not answer and is asked again");
    else
      log.warn(
        { event: event.kind, ...event },
        `the price of the model ${event.model} is not known, so its cost counts as nothing; a file that COUNTERSIGN_MODELS names can say it`,
      );
  };
}

/** Beside refusals, what is told in words of our own. */
const ours = new Set(["CapabilityRefused", "TransactionAborted"]);

/**
 * What may be told of an error. A driver's or provider's message can quote a row, a request or a credential, so it is left
 * out, also of the stack; of a code only what has the shape of one is told.
 */
export function describeError(error: unknown, log: Pick<Logger, "isLevelEnabled">): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const code =
    "code" in error && typeof error.code === "string" && /^\w{1,40}$/.test(error.code) ? { code: error.code } : {};
  const message = error instanceof Refusal || ours.has(error.name) ? { message: error.message } : {};
  const stack = log.isLevelEnabled("debug") ? { stack: framesOf(error) } : {};
  return { name: error.name, ...code, ...message, ...stack };
}

/** Where an error comes from: its stack after the message, which may itself look like a stack. */
function framesOf({ stack = "", message }: Error): string {
  const at = stack.indexOf(message);
  return at < 0 ? "" : stack.slice(at + message.length).trim();
}
