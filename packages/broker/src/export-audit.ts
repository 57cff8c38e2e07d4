import type { Queryable } from "@countersign/db/connect.ts";
import { auditColumns, type AuditRow } from "./audit-link.ts";

const pageSize = 1_000;

/**
 * The audit of a workspace as lines of JSON, sealed rows by their number in the chain and then what is not sealed yet, each
 * with its number and hash. Read in pages, so it may run while rows are added; those that come meanwhile may be missing.
 */
export async function* exportAudit(sql: Queryable, workspaceId: string): AsyncGenerator<string> {
  for (let after = 0; ;) {
    const page = await sql.unsafe<(AuditRow & { seq: number; hash: string })[]>(
      `select c.seq, encode(c.hash, 'hex') as hash, ${auditColumns}
         from audit_chain c
         join audit a on a.id = c.audit_id
        where c.workspace_id = $1::uuid and c.seq > $2::bigint
        order by c.seq
        limit ${pageSize}`,
      [workspaceId, after],
      { prepare: true },
    );
    for (const row of page) yield lineOf(row, row.seq, row.hash);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    after = last.seq;
  }
  for (let after = "0"; ;) {
    const page = await sql.unsafe<AuditRow[]>(
      `select ${auditColumns}
         from audit a
        where a.workspace_id = $1::uuid and a.id > $2::bigint
          and not exists (select from audit_chain c where c.audit_id = a.id)
        order by a.id
        limit ${pageSize}`,
      [workspaceId, after],
      { prepare: true },
    );
    for (const row of page) yield lineOf(row, null, null);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.id;
  }
}

function lineOf(row: AuditRow, seq: number | null, hash: string | null): string {
  const { id, workspace_id, at, actor, action, run_id, call_id, subject, details } = row;
  return JSON.stringify({
    seq,
    id,
    workspaceId: workspace_id,
    at,
    actor,
    action,
    runId: run_id,
    callId: call_id,
    subject,
    // The exact text that is sealed: read and written again, it could differ in spaces or numbers.
    details,
    hash,
  });
}
