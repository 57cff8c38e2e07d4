import type { Queryable, Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import type { AuditKey } from "./audit-key.ts";
import { auditColumns, chainStart, hashLink, type AuditRow } from "./audit-link.ts";

export type SealOutcome =
  /** `hasMore`: more is waiting than one turn takes. */
  | { readonly kind: "sealed"; readonly rows: number; readonly hasMore: boolean }
  /** Another sealer is at it. */
  | { readonly kind: "busy" };

/** How many rows one transaction chains. */
const batchSize = 1_000;

/**
 * Numbers and chains, per workspace, the audit rows that are complete: those of transactions older than any that is still
 * in progress, so that none can come to lie before a row that is sealed. Any number of sealers at once are safe: one works
 * and the others are told `busy`. Call it every second or so, and again at once while it `hasMore`.
 */
export async function sealAudit(sql: Sql, key: AuditKey): Promise<SealOutcome> {
  return transaction(sql, async (tx) => {
    const progress = await takeProgress(tx);
    if (progress === undefined) return { kind: "busy" };
    const rows = await readComplete(tx, progress);
    const last = rows.at(-1);
    if (last === undefined) return { kind: "sealed", rows: 0, hasMore: false };
    await chain(tx, key, rows);
    await tx.unsafe(`update audit_progress set xid = $1::xid8, id = $2::bigint`, [last.xid, last.id], {
      prepare: true,
    });
    return { kind: "sealed", rows: rows.length, hasMore: rows.length === batchSize };
  });
}

interface Progress {
  readonly xid: string;
  readonly id: string;
}

interface CompleteRow extends AuditRow {
  readonly xid: string;
}

/**
 * Takes the sealer's row. In a database that was restored into another cluster, transactions count from anew: what is
 * older than every present transaction is then made so, and the chain's own record tells what was sealed.
 */
async function takeProgress(tx: Tx): Promise<Progress | undefined> {
  const [row] = await tx<(Progress & { is_foreign: boolean })[]>`
    select xid::text as xid, id::text as id, xid >= pg_snapshot_xmax(pg_current_snapshot()) as is_foreign
      from audit_progress for no key update skip locked`;
  if (row === undefined || !row.is_foreign) return row;
  await tx`update audit set xid = '0' where xid >= pg_snapshot_xmax(pg_current_snapshot())`;
  return { xid: "0", id: "0" };
}

/**
 * In one order for ever: whatever commits later has a transaction at least as new as the oldest in progress now. The
 * chain is asked by a subquery because the planner would read all of it for `not exists`.
 */
async function readComplete(tx: Queryable, after: Progress): Promise<CompleteRow[]> {
  return tx.unsafe<CompleteRow[]>(
    `select ${auditColumns}, a.xid::text as xid
       from audit a
      where (a.xid, a.id) > ($1::xid8, $2::bigint)
        and a.xid < pg_snapshot_xmin(pg_current_snapshot())
        and (select c.seq from audit_chain c where c.audit_id = a.id) is null
      order by a.xid, a.id
      limit ${batchSize}`,
    [after.xid, after.id],
    { prepare: true },
  );
}

async function chain(tx: Queryable, key: AuditKey, rows: readonly CompleteRow[]): Promise<void> {
  const ends = await readEnds(tx, [...new Set(rows.map((row) => row.workspace_id))]);
  const seqs: number[] = [];
  const hashes: string[] = [];
  for (const row of rows) {
    const end = ends.get(row.workspace_id) ?? { seq: 0, hash: chainStart };
    const seq = end.seq + 1;
    const hash = hashLink(key, end.hash, seq, row);
    ends.set(row.workspace_id, { seq, hash });
    seqs.push(seq);
    hashes.push(hash.toString("hex"));
  }
  await tx.unsafe(
    `insert into audit_chain (workspace_id, seq, audit_id, key_id, hash)
     select n.workspace_id, n.seq, n.audit_id, $5, decode(n.hash, 'hex')
       from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]) n (workspace_id, seq, audit_id, hash)`,
    [rows.map((row) => row.workspace_id), seqs, rows.map((row) => row.id), hashes, key.keyId],
    { prepare: true },
  );
}

/** The last number and hash of each of these chains. */
async function readEnds(
  tx: Queryable,
  workspaceIds: readonly string[],
): Promise<Map<string, { readonly seq: number; readonly hash: Buffer }>> {
  const rows = await tx.unsafe<{ workspace_id: string; seq: number; hash: Buffer }[]>(
    `select w.id as workspace_id, c.seq, c.hash
       from unnest($1::uuid[]) w (id)
      cross join lateral (select seq, hash from audit_chain where workspace_id = w.id order by seq desc limit 1) c`,
    [[...workspaceIds]],
    { prepare: true },
  );
  return new Map(rows.map(({ workspace_id, seq, hash }) => [workspace_id, { seq, hash }]));
}
