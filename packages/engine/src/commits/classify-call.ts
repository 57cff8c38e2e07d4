import { bigint, defineCommit, integer, text, uuid } from "../commit.ts";
import { type Hold, holdColumns } from "../held-run.ts";

/** What the classifier said of a call, and the verdict that follows from it. */
export interface ClassifyCall extends Hold {
  readonly callId: string;
  /** JSON text of the classification, bound to arguments and prompt. */
  readonly classified: string;
  readonly verdict: string;
  readonly gateRow: string;
  readonly gateReason: string;
  /** JSON text of the line in the log: purpose, level, model, latency. */
  readonly line: string;
  /** Apart from the run's own: none of it counts towards a limit. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number; readonly costMicros: number };
}

export type ClassifyCallOutcome = { readonly kind: "classified" | "settled" | "lease_lost" };

/** Afterwards the call carries what the classifier said and the verdict that follows, and the log what it cost. */
export const classifyCall = defineCommit<
  ClassifyCall,
  { run_id: string; outcome: ClassifyCallOutcome["kind"] },
  ClassifyCallOutcome
>({
  name: "classify_call",
  runOf: (call) => call.runId,
  columns: {
    ...holdColumns,
    p_calls: uuid((call) => call.callId),
    p_classified: text((call) => call.classified),
    p_verdicts: text((call) => call.verdict),
    p_rows: text((call) => call.gateRow),
    p_reasons: text((call) => call.gateReason),
    p_lines: text((call) => call.line),
    p_input_tokens: integer((call) => call.usage.inputTokens),
    p_output_tokens: integer((call) => call.usage.outputTokens),
    p_cost_micros: bigint((call) => call.usage.costMicros),
  },
  outcomeOf: (row) => ({ kind: row.outcome }),
});
