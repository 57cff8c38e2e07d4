import type { Queryable } from "@countersign/db/connect.ts";
import { z } from "zod";
import type { AuditKey } from "./audit-key.ts";

/** The end of a workspace's chain at a moment, signed: kept elsewhere, it shows when a tail was cut off later. */
export interface AuditHead {
  readonly workspaceId: string;
  /** The number of the last sealed row. */
  readonly seq: number;
  /** Its hash, in hex. */
  readonly hash: string;
  /** How many rows the chain has. */
  readonly rows: number;
  readonly signedAt: string;
  readonly keyId: string;
  /** Ed25519, in base64. */
  readonly signature: string;
}

const headShape = z.object({
  workspaceId: z.uuid(),
  seq: z.int().positive(),
  hash: z.hex().length(64),
  rows: z.int().positive(),
  signedAt: z.iso.datetime(),
  keyId: z.string(),
  signature: z.base64(),
});

/**
 * Signs the head of every chain that has grown since its last head, stores it, and answers the new ones, to be kept where
 * this database cannot reach: a line of JSON each. Of several processes at once, one gets each head. A chain whose head
 * cannot be stored is told to `onFailure`, or thrown at the end, and keeps no other from its head.
 */
export async function signHeads(
  sql: Queryable,
  key: AuditKey,
  onFailure?: (workspaceId: string, error: unknown) => void,
): Promise<AuditHead[]> {
  const ends = await sql<{ workspaceId: string; seq: number; hash: Buffer; rows: number; signedAt: string }[]>`
    with recursive chains as (
      (select workspace_id from audit_chain order by workspace_id limit 1)
       union all
      select (select c.workspace_id from audit_chain c where c.workspace_id > w.workspace_id order by c.workspace_id limit 1)
        from chains w where w.workspace_id is not null)
    select w.workspace_id as "workspaceId", e.seq, e.hash, e.seq - f.seq + 1 as rows,
           to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "signedAt"
      from chains w
     cross join lateral (select seq, hash from audit_chain c where c.workspace_id = w.workspace_id order by seq desc limit 1) e
     cross join lateral (select seq from audit_chain c where c.workspace_id = w.workspace_id order by seq limit 1) f
     where not exists (select from audit_heads h where h.workspace_id = w.workspace_id and h.seq = e.seq)`;
  const signed: AuditHead[] = [];
  const errors: unknown[] = [];
  for (const end of ends) {
    const head = { ...end, hash: end.hash.toString("hex"), keyId: key.keyId };
    const signature = key.sign(textOf(head));
    try {
      const stored = await sql`
        insert into audit_heads (workspace_id, seq, hash, rows, key_id, signature, signed_at)
        values (${head.workspaceId}, ${head.seq}, ${end.hash}, ${head.rows}, ${head.keyId}, ${signature}, ${head.signedAt}::text::timestamptz)
        on conflict do nothing`;
      if (stored.count === 1) signed.push({ ...head, signature: signature.toString("base64") });
    } catch (error) {
      errors.push(error);
      onFailure?.(head.workspaceId, error);
    }
  }
  if (onFailure === undefined && errors.length > 0) throw errors[0];
  return signed;
}

/** Whether a head was signed with this key and not changed since. */
export function isHeadGenuine(key: AuditKey, head: AuditHead): boolean {
  return head.keyId === key.keyId && key.isSignedBy(textOf(head), Buffer.from(head.signature, "base64"));
}

/** Reads heads from lines of JSON; answers the numbers of the lines that are none. */
export function parseHeads(text: string): { heads: AuditHead[]; badLines: number[] } {
  const heads: AuditHead[] = [];
  const badLines: number[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const head = parseHead(line);
    if (head === undefined) badLines.push(index + 1);
    else heads.push(head);
  }
  return { heads, badLines };
}

function parseHead(line: string): AuditHead | undefined {
  try {
    return headShape.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function textOf({ workspaceId, seq, hash, rows, signedAt, keyId }: Omit<AuditHead, "signature">): string {
  return JSON.stringify(["countersign.audit-head.v1", workspaceId, seq, hash, rows, signedAt, keyId]);
}
