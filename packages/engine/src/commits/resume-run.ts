import { defineCommit, uuid } from "../commit.ts";

export interface ResumeRun {
  readonly runId: string;
  readonly workspaceId: string;
  readonly userId: string;
}

export type ResumeOutcome = {
  readonly kind: "resumed" | "not_quarantined" | "not_found" | "completed" | "failed" | "canceled";
};

/**
 * Afterwards the run is in quarantine no more and may be claimed as often as a new one, where there is something to do; or
 * nothing was done, since it was in none or had ended.
 */
export const resumeRun = defineCommit<ResumeRun, { run_id: string; outcome: ResumeOutcome["kind"] }, ResumeOutcome>({
  name: "resume_run",
  runOf: (run) => run.runId,
  columns: {
    p_runs: uuid((run) => run.runId),
    p_workspaces: uuid((run) => run.workspaceId),
    p_users: uuid((run) => run.userId),
  },
  outcomeOf: (row) => ({ kind: row.outcome }),
  wakes: ({ kind }) => kind === "resumed",
});
