import type { Decorator } from "@countersign/engine/decorate-tool.ts";
import type { Model } from "@countersign/engine/model.ts";
import { traceOf } from "@countersign/engine/run-trace.ts";
import { type Attributes, context, type Span, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";

const tracer = trace.getTracer("countersign");

/**
 * Does `work` as a span of the run's own trace, which every process derives from the run's id. Names, ids and counts go
 * into spans, never contents. Without an OpenTelemetry SDK in the process this costs nothing.
 */
async function inSpan<T>(
  runId: string,
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const of = { ...traceOf(runId), traceFlags: TraceFlags.SAMPLED, isRemote: true };
  const parent = trace.setSpanContext(context.active(), of);
  const all = { "countersign.run_id": runId, ...attributes };
  return await tracer.startActiveSpan(name, { attributes: all }, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      // The error itself can quote a request or a row; it is told in the log, in words of ours.
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The model, with a span for each turn and what it cost. */
export function traceModel(model: Model): Model {
  return async (request, signal, onDelta) =>
    await inSpan(request.runId, "model.turn", { "gen_ai.request.model": request.model }, async (span) => {
      const reply = await model(request, signal, onDelta);
      span.setAttributes({
        "gen_ai.usage.input_tokens": reply.usage.inputTokens,
        "gen_ai.usage.output_tokens": reply.usage.outputTokens,
        "countersign.cost_micros": reply.usage.costMicros,
      });
      return reply;
    });
}

/** A span for each attempt of a call. */
export const traceCalls: Decorator =
  (next, { name }) =>
  async (args, call) =>
    await inSpan(
      call.runId,
      "tool.call",
      { "countersign.tool": name, "countersign.call_id": call.callId },
      async (span) => {
        const result = await next(args, call);
        span.setAttribute("countersign.outcome", result.kind);
        if (result.kind !== "done") span.setStatus({ code: SpanStatusCode.ERROR });
        return result;
      },
    );
