import { type CommitKind, defineCommit, text, uuid } from "../commit.ts";

export interface CancelRun {
  readonly runId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly reason: string;
}

export type CancelOutcome =
  | { readonly kind: "canceled"; readonly runs: number }
  | { readonly kind: "not_found" | "completed" | "failed" };

/**
 * Afterwards the run and all its descendants are canceled and fenced, and nothing is left open under them; or it had ended
 * before, and the outcome says how. A tree spans runs, so it goes alone: never in one batch with another.
 */
export const cancelRun: CommitKind<CancelRun, CancelOutcome> = {
  ...defineCommit<CancelRun, { run_id: string; outcome: CancelOutcome["kind"]; canceled: number }, CancelOutcome>({
    name: "cancel_run",
    runOf: (run) => run.runId,
    columns: {
      p_runs: uuid((run) => run.runId),
      p_workspaces: uuid((run) => run.workspaceId),
      p_users: uuid((run) => run.userId),
      p_reasons: text((run) => run.reason),
    },
    outcomeOf: (row) => ({ kind: row.outcome, runs: row.canceled }),
  }),
  max: 1,
};
