import type { CommitKind } from "@countersign/engine/commit.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import { traceOf } from "@countersign/engine/run-trace.ts";
import { context, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";

/** Commits that somebody asked for, as the traces call them. */
const names: Readonly<Record<string, string>> = {
  start_run: "run.start",
  decide_approval: "approval.decide",
  answer_question: "question.answer",
  steer_run: "run.steer",
  cancel_run: "run.cancel",
  resume_run: "run.resume",
};

/** Hears of each commit with its outcome. */
type Observer = <T, R>(kind: CommitKind<T, R>, outcome: R) => void;

const tracer = trace.getTracer("countersign");

/**
 * A committer that leaves a span in the run's own trace for each commit a person asked for, with its outcome, and tells
 * `onCommitted` of each. Without an OpenTelemetry SDK in the process the spans cost nothing.
 */
export function observeCommits(commit: Committer, onCommitted: Observer): Committer {
  return async (kind, transition) => {
    const name = names[kind.name];
    const [runId] = kind.runsOf(transition);
    if (name === undefined || runId === undefined) {
      const outcome = await commit(kind, transition);
      onCommitted(kind, outcome);
      return outcome;
    }
    const parent = trace.setSpanContext(context.active(), {
      ...traceOf(runId),
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    });
    const span = tracer.startSpan(name, { attributes: { "countersign.run_id": runId } }, parent);
    try {
      const outcome = await commit(kind, transition);
      span.setAttribute("countersign.outcome", kindOf(outcome));
      onCommitted(kind, outcome);
      return outcome;
    } catch (error) {
      // The error itself can quote a request; it is told in the log.
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  };
}

function kindOf(outcome: unknown): string {
  return typeof outcome === "object" && outcome !== null && "kind" in outcome ? String(outcome.kind) : "done";
}
