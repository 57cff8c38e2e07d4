import type { Queryable } from "@countersign/db/connect.ts";

/** One thing that somebody did. Holds ids, names and codes; never a value, nor what a person or a model wrote. */
export interface AuditEntry {
  readonly workspaceId: string;
  /** `user:<id>`, `run:<id>` or `system`. */
  readonly actor: string;
  /** Noun and past verb, such as `secret.deleted`. */
  readonly action: string;
  readonly runId?: string;
  readonly callId?: string;
  readonly subject?: string;
  readonly details?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Afterwards the entry is an audit row of the transaction that `tx` is in; it is sealed into the chain a moment later. */
export async function appendAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  const { workspaceId, actor, action, runId, callId, subject, details } = entry;
  await tx`
    insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
    values (${workspaceId}, ${actor}, ${action}, ${runId ?? null}, ${callId ?? null}, ${subject ?? null},
            ${details === undefined ? null : JSON.stringify(details)}::text::json)`;
}

/** Who is meant by the id of a user, where there is one. */
export function actorOf(userId: string | undefined): string {
  return userId === undefined ? "system" : `user:${userId}`;
}
