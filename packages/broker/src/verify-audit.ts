import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { isHeadGenuine, type AuditHead } from "./audit-heads.ts";
import type { AuditKey } from "./audit-key.ts";
import { auditColumns, chainStart, hashLink, type AuditRow } from "./audit-link.ts";
import { verifyReceipts } from "./verify-receipts.ts";

/** Where the audit is not what was sealed. `seq` is the number in the chain. */
export interface AuditBreak {
  readonly workspaceId: string;
  readonly what:
    /** The row, or its hash, is another than was sealed. */
    | "changed"
    /** The row is gone, its place in the chain is left. */
    | "removed"
    /** Numbers are missing: rows are gone with their places. */
    | "gap"
    /** The chain ends before, or says something else than, a head that was signed. */
    | "cut"
    /** A row lies among sealed ones and is not sealed: it was put there later. */
    | "inserted"
    /** The row was sealed with a key that is not at hand. */
    | "other_key"
    /** A head that was not signed with this key, or changed since. */
    | "head_not_genuine"
    /** An approval is not what was shown and decided. */
    | "receipt";
  readonly seq?: number;
  readonly auditId?: string;
  readonly message: string;
}

export interface AuditReport {
  readonly isSound: boolean;
  readonly sealed: number;
  /** Rows that no sealer has come to yet. */
  readonly unsealed: number;
  readonly workspaces: number;
  /** The last row of each chain, as it was read. */
  readonly ends: readonly ChainEnd[];
  /** How many there are; `breaks` has the first thousand of each chain. */
  readonly broken: number;
  readonly breaks: readonly AuditBreak[];
}

export interface ChainEnd {
  readonly workspaceId: string;
  readonly seq: number;
  /** In hex. */
  readonly hash: string;
}

export interface VerifyOptions {
  /** This workspace alone; else all of them. */
  readonly workspaceId?: string;
  /** Told now and then how many rows were read so far. */
  readonly onRead?: (rows: number) => Promise<void>;
}

/** A worker does other things meanwhile: it is kept from them for no longer than a page takes. */
const pageSize = 500;

/** After so many rows it is told how far it has come. */
const toldEvery = 2_000;

/** A key that was replaced breaks every row; nobody reads a million of them, and no memory should have to hold them. */
const mostBreaks = 1_000;

/**
 * Goes through every chain as it stands at this moment, and compares it with `heads` that were kept elsewhere and with
 * those in the database, and approvals with what was sealed of them. Reports how much is sealed and not yet sealed, and
 * each break with its place; a broken row is one break, not everything after it. Reads all rows, in pages.
 */
export async function verifyAudit(
  sql: Sql,
  key: AuditKey,
  heads: readonly AuditHead[],
  { workspaceId: only, onRead }: VerifyOptions = {},
): Promise<AuditReport> {
  return transaction(
    sql,
    async (tx) => {
      const all = dedupe([...heads, ...(await readHeads(tx, only))]);
      const workspaceIds = only === undefined ? await readWorkspaces(tx, all) : [only];
      const breaks: AuditBreak[] = [];
      const ends: ChainEnd[] = [];
      let [sealed, broken] = [0, 0];
      for (const workspaceId of workspaceIds) {
        const mine = all.filter((head) => head.workspaceId === workspaceId);
        const before = sealed;
        const chain = await verifyChain(tx, key, workspaceId, mine, async (rows) => onRead?.(before + rows));
        sealed += chain.rows;
        broken += chain.broken;
        breaks.push(...chain.breaks);
        if (chain.rows > 0) ends.push({ workspaceId, ...chain.end });
      }
      const unsealed = await readUnsealed(tx, only);
      const others = [...unsealed.inserted, ...(await verifyReceipts(tx, only))];
      broken += others.length;
      return {
        isSound: broken === 0,
        sealed,
        unsealed: unsealed.waiting,
        workspaces: workspaceIds.length,
        ends,
        broken,
        breaks: [...breaks, ...others],
      };
    },
    { isolation: "repeatable read", isReadOnly: true },
  );
}

interface ChainRow extends Omit<AuditRow, "id" | "workspace_id"> {
  readonly id: string | null;
  readonly workspace_id: string;
  readonly seq: number;
  readonly audit_id: string;
  readonly key_id: string;
  readonly hash: Buffer;
}

async function verifyChain(
  tx: Queryable,
  key: AuditKey,
  workspaceId: string,
  heads: readonly AuditHead[],
  onRead: (rows: number) => Promise<void>,
): Promise<{ rows: number; end: Omit<ChainEnd, "workspaceId">; broken: number; breaks: AuditBreak[] }> {
  const breaks: AuditBreak[] = [];
  let broken = 0;
  const note = (what: AuditBreak["what"], message: string, row?: { seq: number; audit_id?: string }): void => {
    broken += 1;
    if (broken > mostBreaks) return;
    breaks.push({
      workspaceId,
      what,
      message,
      ...(row === undefined ? {} : { seq: row.seq }),
      ...(row?.audit_id === undefined ? {} : { auditId: row.audit_id }),
    });
  };
  const genuine = heads.filter((head) => isHeadGenuine(key, head));
  for (const head of heads.filter((one) => !genuine.includes(one)))
    note(
      "head_not_genuine",
      `the head of row ${head.seq}, signed at ${head.signedAt}, was not signed with this key or was changed`,
      head,
    );
  const headsBySeq = Map.groupBy(genuine, (head) => head.seq);
  let [rows, seq] = [0, 0];
  let before: Buffer = chainStart;

  for await (const row of readChain(tx, workspaceId)) {
    rows += 1;
    if (rows % toldEvery === 0) await onRead(rows);
    const isNext = row.seq === seq + 1;
    if (!isNext) note("gap", `rows ${seq + 1} to ${row.seq - 1} are gone`, { seq: seq + 1 });
    const { id } = row;
    if (row.key_id !== key.keyId) note("other_key", `row ${row.seq} was sealed with the key ${row.key_id}`, row);
    else if (id === null) note("removed", `row ${row.seq} is gone`, row);
    // After a gap the hash before is gone too, so the row's own cannot be checked.
    else if (isNext && !hashLink(key, before, row.seq, { ...row, id }).equals(row.hash))
      note("changed", `row ${row.seq} is not what was sealed`, row);
    for (const head of headsBySeq.get(row.seq) ?? [])
      if (head.hash !== row.hash.toString("hex"))
        note("cut", `row ${row.seq} is not the one of the head signed at ${head.signedAt}`, row);
    seq = row.seq;
    before = row.hash;
  }

  const furthest = genuine.toSorted((one, other) => other.seq - one.seq)[0];
  if (furthest !== undefined && furthest.seq > seq)
    note("cut", `the chain ends at row ${seq}; a head signed at ${furthest.signedAt} says ${furthest.seq}`, {
      seq: seq + 1,
    });
  await onRead(rows);
  return { rows, end: { seq, hash: before.toString("hex") }, broken, breaks };
}

async function* readChain(tx: Queryable, workspaceId: string): AsyncGenerator<ChainRow> {
  for (let after = 0; ;) {
    const page = await tx.unsafe<ChainRow[]>(
      `select ${auditColumns}, c.workspace_id::text as workspace_id, c.seq, c.audit_id::text as audit_id, c.key_id, c.hash
         from audit_chain c
         left join audit a on a.id = c.audit_id and a.workspace_id = c.workspace_id
        where c.workspace_id = $1::uuid and c.seq > $2::bigint
        order by c.seq
        limit ${pageSize}`,
      [workspaceId, after],
      { prepare: true },
    );
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last.seq;
  }
}

/** What is not sealed: behind the sealer's progress it should be, ahead of it it waits. */
async function readUnsealed(
  tx: Queryable,
  only: string | undefined,
): Promise<{ waiting: number; inserted: AuditBreak[] }> {
  const mine = only === undefined ? tx`true` : tx`a.workspace_id = ${only}::uuid`;
  const [count] = await tx<{ waiting: number }[]>`
    select count(*) as waiting
      from audit a
      join audit_progress p on (a.xid, a.id) > (p.xid, p.id)
     where ${mine} and not exists (select from audit_chain c where c.audit_id = a.id)`;
  const strays = await tx<{ workspace_id: string; id: string }[]>`
    select a.workspace_id, a.id::text as id
      from audit a
      join audit_progress p on (a.xid, a.id) <= (p.xid, p.id)
     where ${mine} and not exists (select from audit_chain c where c.audit_id = a.id)
     order by a.id
     limit 1000`;
  const inserted = strays.map(({ workspace_id, id }) => ({
    workspaceId: workspace_id,
    what: "inserted" as const,
    auditId: id,
    message: `the row with id ${id} lies among sealed rows and is not sealed`,
  }));
  return { waiting: count?.waiting ?? 0, inserted };
}

async function readWorkspaces(tx: Queryable, heads: readonly AuditHead[]): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`select distinct workspace_id::text as id from audit_chain`;
  return [...new Set([...rows.map((row) => row.id), ...heads.map((head) => head.workspaceId)])].toSorted();
}

async function readHeads(tx: Queryable, only: string | undefined): Promise<AuditHead[]> {
  return tx<AuditHead[]>`
    select workspace_id as "workspaceId", seq, encode(hash, 'hex') as hash, rows, key_id as "keyId",
           replace(encode(signature, 'base64'), E'\n', '') as signature,
           to_char(signed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "signedAt"
      from audit_heads
     where ${only === undefined ? tx`true` : tx`workspace_id = ${only}::uuid`}`;
}

function dedupe(heads: readonly AuditHead[]): AuditHead[] {
  return [...new Map(heads.map((head) => [JSON.stringify(head, Object.keys(head).toSorted()), head])).values()];
}
