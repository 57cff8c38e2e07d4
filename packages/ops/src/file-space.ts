import type { Queryable, Tx } from "@countersign/db/connect.ts";

/** What a workspace stores as files; content that several files share counts once. */
export interface FileSpace {
  readonly fileCount: number;
  readonly usedBytes: number;
  /** Null where nothing limits it. */
  readonly quotaBytes: number | null;
}

export type SpaceFor = { readonly kind: "fits" } | OverQuota;

/** The content is more than there is room for; nothing was stored. */
export interface OverQuota {
  readonly kind: "over_quota";
  readonly quotaBytes: number;
  readonly usedBytes: number;
}

/** How much a workspace stores as files, and may. */
export async function readFileSpace(db: Queryable, workspaceId: string): Promise<FileSpace> {
  const [space] = await db<FileSpace[]>`
    select (select count(*) from files where workspace_id = w.id) as "fileCount", ${usedBytes(db, workspaceId)} as "usedBytes",
           w.file_quota_bytes as "quotaBytes"
      from workspaces w where w.id = ${workspaceId}`;
  if (space === undefined) throw new Error(`There is no workspace ${workspaceId}`);
  return space;
}

/** Afterwards the workspace may store so much; null lifts the limit. What is stored already stays, whatever its size. */
export async function setFileQuota(tx: Tx, workspaceId: string, quotaBytes: number | null): Promise<FileSpace> {
  await lockFileSpace(tx, workspaceId);
  await tx`update workspaces set file_quota_bytes = ${quotaBytes} where id = ${workspaceId}`;
  return await readFileSpace(tx, workspaceId);
}

/** Those who store and delete files of a workspace take turns from here to the end of their transactions. */
export async function lockFileSpace(tx: Tx, workspaceId: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`files ${workspaceId}`}, 0))`;
}

/**
 * Whether this content may become a file: a file has it already, or there is room for it. In a transaction that first took
 * `lockFileSpace` the answer stands until its end; else it is what can be said before anything is sent.
 */
export async function findSpace(
  db: Queryable,
  workspaceId: string,
  { hash, size }: { readonly hash: string; readonly size: number },
): Promise<SpaceFor> {
  const [limit] = await db<{ quotaBytes: number | null; isThere: boolean }[]>`
    select file_quota_bytes as "quotaBytes",
           exists (select from files f where f.workspace_id = w.id and f.hash = ${hash}) as "isThere"
      from workspaces w where w.id = ${workspaceId}`;
  const quotaBytes = limit?.quotaBytes ?? null;
  if (quotaBytes === null || limit?.isThere === true) return { kind: "fits" };
  const [used] = await db<{ bytes: number }[]>`select ${usedBytes(db, workspaceId)} as bytes`;
  const bytes = used?.bytes ?? 0;
  return bytes + size <= quotaBytes ? { kind: "fits" } : { kind: "over_quota", quotaBytes, usedBytes: bytes };
}

/** Says that content does not fit, for whoever wanted to store it. */
export function explainOverQuota(size: number, { quotaBytes, usedBytes }: OverQuota): string {
  return `The workspace may store ${quotaBytes} bytes as files, and ${usedBytes} are taken; there is no room for ${size} more. Nothing was stored: delete files, or ask an administrator for a larger quota.`;
}

function usedBytes(db: Queryable, workspaceId: string) {
  return db`
    (select coalesce(sum(b.size), 0)::int8 from blobs b
      where b.workspace_id = ${workspaceId}
        and exists (select from files f where f.workspace_id = b.workspace_id and f.hash = b.hash))`;
}
