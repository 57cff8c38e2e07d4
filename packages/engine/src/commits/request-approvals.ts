import { bigint, boolean, defineCommit, text, uuid } from "../commit.ts";
import { type Hold, holdColumns, type Standing, standingOf, type StandingRow } from "../held-run.ts";
import type { Card } from "./record-turn.ts";

/** A call that must be asked about, as the gate judged it under `policyVersions`. */
export interface RequestApproval extends Hold {
  readonly callId: string;
  readonly approvalId: string;
  readonly card: Card;
  readonly verdict: "ask" | "pick";
  readonly gateRow: string;
  readonly gateReason: string;
  readonly policyVersions: string;
  /** The tool as it is now: the new approval is bound to it. */
  readonly definitionHash: string;
  readonly expiresMs: number | undefined;
  /** JSON text of what the preview on the card rests on. */
  readonly preconditions?: string | undefined;
  /** JSON text of the ids that a person picks from. */
  readonly options?: string | undefined;
  /** The attempt under way did nothing, as its tool says, and does not count. */
  readonly isUndone?: boolean;
}

export type RequestOutcome = { readonly kind: "requested" | "settled" | "lease_lost" } & Standing;

interface Row extends StandingRow {
  outcome: RequestOutcome["kind"];
}

/** Afterwards the call waits on a pending approval with its card, and the run is paused on it; all in one commit. */
export const requestApprovals = defineCommit<RequestApproval, Row, RequestOutcome>({
  name: "request_approvals",
  runOf: (request) => request.runId,
  columns: {
    ...holdColumns,
    p_calls: uuid((request) => request.callId),
    p_approvals: uuid((request) => request.approvalId),
    p_tasks: uuid((request) => request.card.taskId),
    p_titles: text((request) => request.card.title),
    p_cards: text((request) => request.card.body),
    p_verdicts: text((request) => request.verdict),
    p_rows: text((request) => request.gateRow),
    p_reasons: text((request) => request.gateReason),
    p_versions: text((request) => request.policyVersions),
    p_definition_hashes: text((request) => request.definitionHash),
    p_expires_ms: bigint((request) => request.expiresMs),
    p_preconditions: text((request) => request.preconditions),
    p_options: text((request) => request.options),
    p_undone: boolean((request) => request.isUndone ?? false),
  },
  outcomeOf: (row) => ({ kind: row.outcome, ...standingOf(row) }),
});
