import { bigint, defineCommit, text, uuid } from "../commit.ts";

/** What an attempt found out after it had lost its lease. */
export interface LateResult {
  readonly runId: string;
  readonly callId: string;
  readonly epoch: number;
  readonly status: "done" | "failed" | "unknown";
  /** As JSON text of a string. */
  readonly result: string;
}

export type LateOutcome = { readonly kind: "kept" | "unknown_call" };

/** Afterwards the evidence stands beside the call; the call, the run and everything else are as before. */
export const recordLateResult = defineCommit<LateResult, { run_id: string; outcome: LateOutcome["kind"] }, LateOutcome>(
  {
    name: "record_late_result",
    runOf: (late) => late.runId,
    columns: {
      p_runs: uuid((late) => late.runId),
      p_calls: uuid((late) => late.callId),
      p_epochs: bigint((late) => late.epoch),
      p_statuses: text((late) => late.status),
      p_results: text((late) => late.result),
    },
    outcomeOf: (row) => ({ kind: row.outcome }),
  },
);
