import { createHash } from "node:crypto";
import type { Queryable, Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { v7 as newId } from "uuid";
import { findSpace, lockFileSpace, type OverQuota } from "./file-space.ts";
import { type NewFile, putFile, type StoredFile } from "./files.ts";

export type StoreUploadResult =
  | { readonly kind: "stored"; readonly file: StoredFile }
  /** More than may be stored arrived; the rest was not read. */
  | { readonly kind: "too_large" }
  /** What arrived has another sha256 than it was announced with. */
  | { readonly kind: "mismatch"; readonly hash: string; readonly size: number }
  | (OverQuota & { readonly size: number });

const chunkBytes = 1024 * 1024;

/**
 * Stores what `body` brings as a file, holding about two chunks of it in memory at a time. When it resolves with `stored`
 * the whole content is there once, however often it was uploaded, and it is what `file.hash` says; else nothing is. What
 * `body` throws is passed on.
 */
export async function storeUpload(
  sql: Sql,
  file: NewFile,
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<StoreUploadResult> {
  const uploadId = newId();
  const digest = createHash("sha256");
  let size = 0;
  let n = 0;
  let gathered: Uint8Array[] = [];
  let room = chunkBytes;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > mostBytes) return { kind: "too_large" };
      digest.update(piece);
      for (let rest = piece; rest.length > 0;) {
        const part = rest.subarray(0, room);
        rest = rest.subarray(part.length);
        room -= part.length;
        gathered.push(part);
        if (room > 0) continue;
        await keepChunk(sql, uploadId, n, gathered);
        n += 1;
        gathered = [];
        room = chunkBytes;
      }
    }
    if (gathered.length > 0) await keepChunk(sql, uploadId, n, gathered);
    const hash = digest.digest("hex");
    if (hash !== file.hash) return { kind: "mismatch", hash, size };
    return await transaction(sql, async (tx) => await makeFile(tx, uploadId, file, size));
  } finally {
    if (size > 0) await sql`delete from upload_chunks where upload_id = ${uploadId}`;
  }
}

async function keepChunk(sql: Queryable, uploadId: string, n: number, pieces: readonly Uint8Array[]): Promise<void> {
  await sql`insert into upload_chunks (upload_id, n, bytes) values (${uploadId}, ${n}, ${Buffer.concat(pieces)})`;
}

async function makeFile(tx: Tx, uploadId: string, file: NewFile, size: number): Promise<StoreUploadResult> {
  const { workspaceId, hash, mediaType } = file;
  await lockFileSpace(tx, workspaceId);
  const space = await findSpace(tx, workspaceId, { hash, size });
  if (space.kind === "over_quota") return { ...space, size };
  // An unlogged table is empty after a crash of the database, and this must not become an empty blob.
  const [arrived] = await tx<{ size: number }[]>`
    select coalesce(sum(octet_length(bytes)), 0)::int8 as size from upload_chunks where upload_id = ${uploadId}`;
  if (arrived?.size !== size) throw new Error(`Of an upload of ${size} bytes ${arrived?.size} are left; send it again`);
  const stored = await tx`
    insert into blobs (workspace_id, hash, size, media_type) values (${workspaceId}, ${hash}, ${size}, ${mediaType})
    on conflict do nothing returning hash`;
  if (stored.length > 0) {
    await tx`
      insert into blob_chunks (workspace_id, hash, n, bytes)
      select ${workspaceId}::uuid, ${hash}, n, bytes from upload_chunks where upload_id = ${uploadId}`;
  }
  const named = await putFile(tx, file);
  if (named === undefined) throw new Error(`The content ${hash} is not in the store after it was put there`);
  return { kind: "stored", file: named };
}

/** Removes what uploads left behind whose process died. */
export async function removeLeftUploads(sql: Queryable): Promise<void> {
  // By its last part: an upload in course may be longer on its way than that.
  await sql`
    delete from upload_chunks
     where upload_id in (select upload_id from upload_chunks group by upload_id
                         having max(arrived_at) < clock_timestamp() - interval '1 hour')`;
}
