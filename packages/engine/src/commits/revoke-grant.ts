import { type CommitKind, defineCommit, text, uuid } from "../commit.ts";

/** An administrator takes a capability back from a run. */
export interface RevokeGrant {
  readonly runId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly capability: string;
}

export type RevokeOutcome =
  /** From how many runs of the tree it was taken. */
  | { readonly kind: "revoked"; readonly runs: number }
  /** `already`: it was taken before; `ended`: nothing of the tree can use it any more; `not_granted`: the run never held it. */
  | { readonly kind: "already" | "ended" | "not_granted" | "not_found" };

/**
 * Afterwards neither the run nor a descendant can acquire the capability, and a handle that is open on it fails at its
 * next use; or nothing changed and the outcome says why. A tree spans runs, so it goes alone: never in one batch with
 * another.
 */
export const revokeGrant: CommitKind<RevokeGrant, RevokeOutcome> = {
  ...defineCommit<RevokeGrant, { run_id: string; outcome: RevokeOutcome["kind"]; revoked: number }, RevokeOutcome>({
    name: "revoke_grant",
    runOf: (grant) => grant.runId,
    columns: {
      p_runs: uuid((grant) => grant.runId),
      p_workspaces: uuid((grant) => grant.workspaceId),
      p_users: uuid((grant) => grant.userId),
      p_capabilities: text((grant) => grant.capability),
    },
    outcomeOf: ({ outcome, revoked }) => (outcome === "revoked" ? { kind: outcome, runs: revoked } : { kind: outcome }),
  }),
  max: 1,
};
