import { defineCommit, text, uuid } from "../commit.ts";
import { type Hold, holdColumns, type Standing, standingOf, type StandingRow } from "../held-run.ts";
import type { Card } from "./record-turn.ts";

/** A call of which nobody can tell whether its effect happened. */
export interface MarkUnknown extends Hold {
  readonly callId: string;
  /** What is known, as JSON text of a string. */
  readonly result: string;
  readonly approvalId: string;
  readonly card: Card;
}

export type UnknownOutcome = { readonly kind: "unknown" | "settled" | "lease_lost" } & Standing;

interface Row extends StandingRow {
  outcome: UnknownOutcome["kind"];
}

/**
 * Afterwards the call is unknown, an outcome approval that never expires stands in the queue with its card, and the run is
 * paused on it.
 */
export const markUnknown = defineCommit<MarkUnknown, Row, UnknownOutcome>({
  name: "mark_unknown",
  runOf: (call) => call.runId,
  columns: {
    ...holdColumns,
    p_calls: uuid((call) => call.callId),
    p_results: text((call) => call.result),
    p_approvals: uuid((call) => call.approvalId),
    p_tasks: uuid((call) => call.card.taskId),
    p_titles: text((call) => call.card.title),
    p_cards: text((call) => call.card.body),
  },
  outcomeOf: (row) => ({ kind: row.outcome, ...standingOf(row) }),
});
