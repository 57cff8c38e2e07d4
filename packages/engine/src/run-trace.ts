/** Where the spans of a run belong, in the terms of the W3C trace context. */
export interface RunTrace {
  readonly traceId: string;
  readonly spanId: string;
}

/**
 * The one trace of a run, from its id alone, so that every process that does something for it agrees without being told:
 * the id is the trace, its last eight bytes are the span that all others lie under.
 */
export function traceOf(runId: string): RunTrace {
  const traceId = runId.replaceAll("-", "").toLowerCase();
  return { traceId, spanId: traceId.slice(16) };
}
