import { boolean, defineCommit } from "../commit.ts";
import { type Hold, holdColumns } from "../held-run.ts";

export interface ReleaseRun extends Hold {
  /** The process is going away: give the run back whatever is ready on it. */
  readonly isLeaving: boolean;
}

export type ReleaseOutcome = { readonly kind: "released" | "busy" | "lease_lost" };

/** Afterwards nobody holds the run: it is parked, or ready for another. `busy`: something became ready; go on with it. */
export const releaseRun = defineCommit<ReleaseRun, { run_id: string; outcome: ReleaseOutcome["kind"] }, ReleaseOutcome>(
  {
    name: "release_run",
    runOf: (run) => run.runId,
    columns: { ...holdColumns, p_leaving: boolean((run) => run.isLeaving) },
    outcomeOf: (row) => ({ kind: row.outcome }),
  },
);
