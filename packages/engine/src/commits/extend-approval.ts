import { defineCommit, text, uuid } from "../commit.ts";

/** A person gives an approval more time. */
export interface ExtendApproval {
  readonly runId: string;
  readonly approvalId: string;
  readonly workspaceId: string;
  readonly userId: string;
  /** The new deadline; later than the one it has. */
  readonly until: Date;
  /** How the person was authenticated, for the audit. */
  readonly way?: string;
}

export type ExtendOutcome =
  | { readonly kind: "extended"; readonly expiresAt: Date }
  | { readonly kind: "settled" | "expired" | "not_later"; readonly status: string; readonly expiresAt: Date | null }
  | { readonly kind: "never_expires" | "killed" | "forbidden" | "not_found" };

interface Row {
  run_id: string;
  outcome: ExtendOutcome["kind"];
  status: string;
  expires_at: Date;
}

/** Afterwards the approval, and the call that waits for it, expire at the later moment; or nothing changed and the outcome says why. */
export const extendApproval = defineCommit<ExtendApproval, Row, ExtendOutcome>({
  name: "extend_approval",
  runOf: (extension) => extension.runId,
  columns: {
    p_runs: uuid((extension) => extension.runId),
    p_approvals: uuid((extension) => extension.approvalId),
    p_workspaces: uuid((extension) => extension.workspaceId),
    p_users: uuid((extension) => extension.userId),
    p_untils: text((extension) => extension.until.toISOString()),
    p_ways: text((extension) => extension.way),
  },
  outcomeOf: (row) => ({ kind: row.outcome, status: row.status, expiresAt: row.expires_at }),
});
