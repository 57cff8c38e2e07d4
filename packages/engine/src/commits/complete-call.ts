import { defineCommit, text, uuid } from "../commit.ts";
import { type Hold, holdColumns, type Standing, standingOf, type StandingRow } from "../held-run.ts";

/** What came of a call. */
export interface CompleteCall extends Hold {
  readonly callId: string;
  readonly status: "done" | "failed" | "denied";
  /** What the model reads, as JSON text of a string. */
  readonly result: string;
  readonly code?: string;
  /** The hash of the whole result where `result` is only its head. */
  readonly blob?: string;
}

export type CompleteOutcome = {
  readonly kind: "completed" | "already" | "refused" | "lease_lost";
} & Standing;

interface Row extends StandingRow {
  outcome: CompleteOutcome["kind"];
}

/** Afterwards the call is settled with its result, and the run goes on or is parked. A result recorded before stays. */
export const completeCall = defineCommit<CompleteCall, Row, CompleteOutcome>({
  name: "complete_call",
  runOf: (call) => call.runId,
  columns: {
    ...holdColumns,
    p_calls: uuid((call) => call.callId),
    p_statuses: text((call) => call.status),
    p_results: text((call) => call.result),
    p_codes: text((call) => call.code),
    p_blobs: text((call) => call.blob),
  },
  outcomeOf: (row) => ({ kind: row.outcome, ...standingOf(row) }),
});
