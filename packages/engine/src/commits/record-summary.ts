import { bigint, defineCommit, integer, text } from "../commit.ts";
import { type Hold, holdColumns, type Standing, standingOf, type StandingRow } from "../held-run.ts";

/** A summary of the conversation up to an entry of its log. */
export interface RecordSummary extends Hold {
  /** The log number of the summary that its writer had in the prompt; 0 where there was none. */
  readonly previous: number;
  /** JSON text of a `Summary`. */
  readonly content: string;
  /** What writing it took. */
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costMicros: number;
  };
}

export type SummaryOutcome =
  | ({ readonly kind: "recorded"; readonly seq: number } & Standing)
  | { readonly kind: "already" }
  | { readonly kind: "lease_lost" };

interface Row extends StandingRow {
  outcome: SummaryOutcome["kind"];
  seq: number;
}

/**
 * Afterwards the summary is in the run's log and stands in for what it sums up in every prompt to come; its usage counts
 * towards the run's. `already`: the run has one that is later than `previous`, and nothing was recorded.
 */
export const recordSummary = defineCommit<RecordSummary, Row, SummaryOutcome>({
  name: "record_summary",
  runOf: (summary) => summary.runId,
  columns: {
    ...holdColumns,
    p_previous: integer((summary) => summary.previous),
    p_contents: text((summary) => summary.content),
    p_input_tokens: integer((summary) => summary.usage.inputTokens),
    p_output_tokens: integer((summary) => summary.usage.outputTokens),
    p_cost_micros: bigint((summary) => summary.usage.costMicros),
  },
  outcomeOf: (row) => ({ kind: row.outcome, seq: row.seq, ...standingOf(row) }),
});
