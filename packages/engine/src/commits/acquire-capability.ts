import { defineCommit, text, uuid } from "../commit.ts";
import { type Hold, holdColumns } from "../held-run.ts";

/** A capability that an executing call acquires once more. */
export interface AcquireCapability extends Hold {
  readonly callId: string;
  readonly capability: string;
}

export type AcquireOutcome =
  | { readonly kind: "acquired" | "renewed" }
  | { readonly kind: "lease_lost" | "settled" | "not_required" | "not_granted" }
  | { readonly kind: "killed"; readonly scope: string };

/** The state of the error that a commit ends with where its audit row could not be written. */
const auditUnavailable = "CSAUD";

/**
 * Afterwards the call's lease on the capability lasts five minutes from now, and the audit and the log say so; or it has
 * none and the outcome says what no longer holds. Rejects where the audit row cannot be written (`isAuditUnavailable`),
 * and then nothing is acquired.
 */
export const acquireCapability = defineCommit<
  AcquireCapability,
  { run_id: string; outcome: AcquireOutcome["kind"]; detail: string | null },
  AcquireOutcome
>({
  name: "acquire_capability",
  runOf: (acquire) => acquire.runId,
  columns: {
    ...holdColumns,
    p_calls: uuid((acquire) => acquire.callId),
    p_capabilities: text((acquire) => acquire.capability),
  },
  outcomeOf: ({ outcome, detail }) =>
    outcome === "killed" ? { kind: outcome, scope: detail ?? "" } : { kind: outcome },
});

/** Whether a commit was refused because its audit row could not be written: the credential is not to be had, and reads go on. */
export function isAuditUnavailable(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === auditUnavailable;
}
