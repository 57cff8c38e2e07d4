import type { AuditKey } from "./audit-key.ts";

/** An audit row as it is chained: every column as exact text. */
export interface AuditRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly run_id: string | null;
  readonly call_id: string | null;
  readonly subject: string | null;
  readonly details: string | null;
}

/** The columns of an audit row `a`, each as text that no setting of the session changes. */
export const auditColumns = `
  a.id::text as id, a.workspace_id::text as workspace_id,
  to_char(a.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
  a.actor, a.action, a.run_id::text as run_id, a.call_id::text as call_id, a.subject, a.details::text as details`;

/** What stands before the first row of a chain. */
export const chainStart = Buffer.alloc(32);

/** The hash of a row at its place: it binds the workspace, the number, everything in the row and the hash before it. */
export function hashLink(key: AuditKey, before: Buffer, seq: number, row: AuditRow): Buffer {
  const { id, workspace_id, at, actor, action, run_id, call_id, subject, details } = row;
  const fields = [id, workspace_id, at, actor, action, run_id, call_id, subject, details];
  return key.link(JSON.stringify(["countersign.audit.v1", before.toString("hex"), seq, ...fields]));
}
