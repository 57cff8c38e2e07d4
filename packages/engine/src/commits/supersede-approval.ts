import { bigint, defineCommit, text, uuid } from "../commit.ts";
import type { Card } from "./record-turn.ts";

/** A pending approval, gated again under newer policy. */
export interface SupersedeApproval {
  readonly runId: string;
  readonly approvalId: string;
  /** The versions it was judged under when it was read: somebody else's judgement meanwhile wins. */
  readonly seenVersions: string;
  readonly policyVersions: string;
  readonly gateRow: string;
  readonly gateReason: string;
  readonly next:
    | { readonly kind: "keep" }
    | { readonly kind: "allow" }
    | { readonly kind: "deny"; readonly result: string; readonly code: string }
    | {
        readonly kind: "ask";
        readonly approvalId: string;
        readonly card: Card;
        readonly expiresMs: number | undefined;
      };
}

export type SupersedeOutcome = { readonly kind: "superseded" | "kept" | "settled" };

/** Afterwards the old card is closed and the call allowed, denied or asked anew; `keep` only notes the newer versions. */
export const supersedeApproval = defineCommit<
  SupersedeApproval,
  { run_id: string; outcome: SupersedeOutcome["kind"] },
  SupersedeOutcome
>({
  name: "supersede_approval",
  runOf: (change) => change.runId,
  columns: {
    p_runs: uuid((change) => change.runId),
    p_approvals: uuid((change) => change.approvalId),
    p_seen_versions: text((change) => change.seenVersions),
    p_verdicts: text((change) => change.next.kind),
    p_rows: text((change) => change.gateRow),
    p_reasons: text((change) => change.gateReason),
    p_versions: text((change) => change.policyVersions),
    p_results: text(({ next }) => (next.kind === "deny" ? next.result : null)),
    p_codes: text(({ next }) => (next.kind === "deny" ? next.code : null)),
    p_new_approvals: uuid(({ next }) => (next.kind === "ask" ? next.approvalId : null)),
    p_tasks: uuid(({ next }) => (next.kind === "ask" ? next.card.taskId : null)),
    p_titles: text(({ next }) => (next.kind === "ask" ? next.card.title : null)),
    p_cards: text(({ next }) => (next.kind === "ask" ? next.card.body : null)),
    p_expires_ms: bigint(({ next }) => (next.kind === "ask" ? next.expiresMs : null)),
  },
  outcomeOf: (row) => ({ kind: row.outcome }),
  wakes: (outcome) => outcome.kind === "superseded",
});
