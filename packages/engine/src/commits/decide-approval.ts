import { defineCommit, integer, text, uuid } from "../commit.ts";

/** `approve` and `deny` answer a permission; `done`, `retry` and `give_up` say what became of an unknown effect. */
export type Answer = "approve" | "deny" | "done" | "retry" | "give_up";

/** A person's decision. Who it is comes from authentication, never from a request's body. */
export interface DecideApproval {
  readonly runId: string;
  readonly approvalId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly answer: Answer;
  /** The version and the arguments hash of the card the person saw: anything else is `stale`. */
  readonly version: number;
  readonly argsHash: string;
  /** Goes to the model with the result. */
  readonly feedback?: string;
  /** Stays with the approval; the model never sees it. */
  readonly note?: string;
  /** How the person was authenticated and through which channel, for the audit, such as `token:<id> over http`. */
  readonly way?: string;
}

/** How the approval stands: who decided what, and when. */
export interface Settlement {
  readonly status: string;
  readonly answer: Answer | null;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  readonly version: number;
}

export type DecisionOutcome =
  | ({ readonly kind: "decided" | "repeated" | "settled" | "expired" | "stale" } & Settlement)
  | { readonly kind: "killed" | "forbidden" | "not_found" | "wrong_answer" };

interface Row {
  run_id: string;
  outcome: DecisionOutcome["kind"];
  status: string;
  answer: Answer | null;
  decided_by: string | null;
  decided_at: Date | null;
  version: number;
}

/** Afterwards the approval is decided, its card resolved, its call on its way and the run ready; or nothing changed and the outcome says why, and who was first. */
export const decideApproval = defineCommit<DecideApproval, Row, DecisionOutcome>({
  name: "decide_approval",
  runOf: (decision) => decision.runId,
  columns: {
    p_runs: uuid((decision) => decision.runId),
    p_approvals: uuid((decision) => decision.approvalId),
    p_workspaces: uuid((decision) => decision.workspaceId),
    p_users: uuid((decision) => decision.userId),
    p_answers: text((decision) => decision.answer),
    p_versions: integer((decision) => decision.version),
    p_args_hashes: text((decision) => decision.argsHash),
    p_feedbacks: text((decision) => decision.feedback),
    p_notes: text((decision) => decision.note),
    p_ways: text((decision) => decision.way),
  },
  outcomeOf: (row) => ({
    kind: row.outcome,
    status: row.status,
    answer: row.answer,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at,
    version: row.version,
  }),
  wakes: (outcome) => outcome.kind === "decided",
});
