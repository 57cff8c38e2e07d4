import { defineCommit, text } from "../commit.ts";
import { type Hold, holdColumns } from "../held-run.ts";

export interface FailRun extends Hold {
  /** Closed in its first word: `error: …`, `limit:turns`, `blocked_by_approval`. */
  readonly reason: string;
}

export type FailOutcome = { readonly kind: "failed" | "lease_lost" };

/** Afterwards the run has failed for `reason`, and everything that was open under it is closed. */
export const failRun = defineCommit<FailRun, { run_id: string; outcome: FailOutcome["kind"] }, FailOutcome>({
  name: "fail_run",
  runOf: (run) => run.runId,
  columns: { ...holdColumns, p_reasons: text((run) => run.reason) },
  outcomeOf: (row) => ({ kind: row.outcome }),
});
