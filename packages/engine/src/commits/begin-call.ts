import { boolean, defineCommit, moment, text, uuid } from "../commit.ts";
import { type Hold, holdColumns } from "../held-run.ts";

/** A call about to start, as its worker has just judged it again. */
export interface BeginCall extends Hold {
  readonly callId: string;
  /** The policy versions the gate has just judged it under. */
  readonly policyVersions: string;
  /** The next moment at which a rule or a dial of that policy stops to count: from then on the call must be judged again. */
  readonly validUntil?: Date | undefined;
  /** The hash of the tool as this worker would run it. */
  readonly definitionHash: string;
  /** The gate asks: the call's own approval must carry it. */
  readonly needsApproval: boolean;
  /** The tool may repeat what an earlier attempt left executing. */
  readonly again: boolean;
}

export type BeginOutcome =
  | {
      readonly kind: "begun" | "already" | "lease_lost" | "settled" | "not_approved" | "definition_changed";
    }
  | { readonly kind: "killed"; readonly scope: string }
  | { readonly kind: "policy_moved"; readonly versions: string }
  | { readonly kind: "not_granted"; readonly capability: string };

interface Row {
  run_id: string;
  outcome: BeginOutcome["kind"];
  detail: string | null;
}

/**
 * Afterwards the call executes under the holder's epoch, its effect claimed, its approval consumed and its capabilities
 * acquired; or nothing changed, and the outcome says what no longer holds.
 */
export const beginCall = defineCommit<BeginCall, Row, BeginOutcome>({
  name: "begin_call",
  runOf: (call) => call.runId,
  columns: {
    ...holdColumns,
    p_calls: uuid((call) => call.callId),
    p_versions: text((call) => call.policyVersions),
    p_valid_until: moment((call) => call.validUntil),
    p_definition_hashes: text((call) => call.definitionHash),
    p_needs_approval: boolean((call) => call.needsApproval),
    p_again: boolean((call) => call.again),
  },
  outcomeOf: ({ outcome, detail }) => {
    switch (outcome) {
      case "killed":
        return { kind: outcome, scope: detail ?? "" };
      case "policy_moved":
        return { kind: outcome, versions: detail ?? "" };
      case "not_granted":
        return { kind: outcome, capability: detail ?? "" };
      default:
        return { kind: outcome };
    }
  },
});
