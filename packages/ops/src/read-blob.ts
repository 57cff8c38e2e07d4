import { createHash } from "node:crypto";
import type { Queryable, Tx } from "@countersign/db/connect.ts";

export interface BlobRange {
  readonly workspaceId: string;
  /** The sha256 of the content, 64 hexadecimal digits. */
  readonly hash: string;
  /** In bytes. */
  readonly offset: number;
  readonly length: number;
}

export type ReadBlobResult =
  | {
      readonly kind: "read";
      readonly text: string;
      /** The bytes that `text` is: from `start` to before `end` of `size`. */
      readonly start: number;
      readonly end: number;
      readonly size: number;
    }
  | { readonly kind: "not-text"; readonly mediaType: string; readonly size: number }
  | { readonly kind: "missing" };

const longestCharacter = 4;

/**
 * Reads a part of stored content as text. The range is moved to whole UTF-8 characters, its start back and its end back,
 * but at least one character is read, so reading on from `end` loses and repeats nothing. Content of another workspace is
 * missing. From `size` on the text is empty.
 */
export async function readBlobText(tx: Tx, range: BlobRange): Promise<ReadBlobResult> {
  const { workspaceId, hash } = range;
  const [blob] = await tx<{ size: number; mediaType: string }[]>`
    select size, media_type as "mediaType" from blobs where workspace_id = ${workspaceId} and hash = ${hash}`;
  if (blob === undefined) return { kind: "missing" };
  const { size, mediaType } = blob;
  const offset = Math.min(range.offset, size);
  const from = Math.max(0, offset - longestCharacter);
  const to = Math.min(size, offset + range.length + longestCharacter);
  const bytes = await readBytes(tx, range, from, to);

  const start = findBoundary(bytes, offset - from);
  let end = Math.max(start, findBoundary(bytes, Math.min(size, offset + range.length) - from));
  if (end === start) end = findNextBoundary(bytes, start);
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(start, end));
    return { kind: "read", text, start: from + start, end: from + end, size };
  } catch {
    return { kind: "not-text", mediaType, size };
  }
}

export type ReadWholeBlobResult =
  | { readonly kind: "read"; readonly bytes: Buffer; readonly mediaType: string }
  | { readonly kind: "too_large"; readonly size: number }
  | { readonly kind: "damaged" | "missing" };

/** Reads stored content whole, at most `mostBytes`, and makes sure that it is what its hash says. */
export async function readBlob(
  tx: Tx,
  { workspaceId, hash, mostBytes }: Pick<BlobRange, "workspaceId" | "hash"> & { readonly mostBytes: number },
): Promise<ReadWholeBlobResult> {
  const [blob] = await tx<{ size: number; mediaType: string }[]>`
    select size, media_type as "mediaType" from blobs where workspace_id = ${workspaceId} and hash = ${hash}`;
  if (blob === undefined) return { kind: "missing" };
  const { size, mediaType } = blob;
  if (size > mostBytes) return { kind: "too_large", size };
  const bytes = await readBytes(tx, { workspaceId, hash, offset: 0, length: size }, 0, size);
  if (createHash("sha256").update(bytes).digest("hex") !== hash) return { kind: "damaged" };
  return { kind: "read", bytes, mediaType };
}

/** What is stored is not what its hash says, or not all of it is there. */
export class BlobDamaged extends Error {
  override readonly name = "BlobDamaged";
}

/**
 * Stored content chunk by chunk, none of it held for longer. The last chunk comes only after all of them are known to be
 * what the hash says; else BlobDamaged is thrown in its place. Content that is missing has no chunk, and is damaged.
 */
export async function* readBlobChunks(
  sql: Queryable,
  { workspaceId, hash }: Pick<BlobRange, "workspaceId" | "hash">,
): AsyncGenerator<Buffer, void, undefined> {
  const digest = createHash("sha256");
  let held: Buffer | undefined;
  for (let n = 0; ; n += 1) {
    const [chunk] = await sql<{ bytes: Buffer }[]>`
      select bytes from blob_chunks where workspace_id = ${workspaceId} and hash = ${hash} and n = ${n}`;
    if (chunk === undefined) break;
    digest.update(chunk.bytes);
    if (held !== undefined) yield held;
    held = chunk.bytes;
  }
  if (digest.digest("hex") !== hash) {
    throw new BlobDamaged(`What is stored as sha256:${hash} is something else, or a part of it is missing.`);
  }
  if (held !== undefined) yield held;
}

/** The bytes from `from` to before `to`; only those chunks that hold some of them are read. */
async function readBytes(tx: Tx, { workspaceId, hash }: BlobRange, from: number, to: number): Promise<Buffer> {
  const rows = await tx<{ bytes: Buffer }[]>`
    select substring(c.bytes from greatest(${from}::bigint - s.start, 0)::int + 1
                             for (least(${to}::bigint, s.start + s.length) - greatest(${from}::bigint, s.start))::int) as bytes
      from (select n, octet_length(bytes) as length, sum(octet_length(bytes)) over (order by n) - octet_length(bytes) as start
              from blob_chunks where workspace_id = ${workspaceId} and hash = ${hash}) s
      join blob_chunks c on c.workspace_id = ${workspaceId} and c.hash = ${hash} and c.n = s.n
     where s.start < ${to}::bigint and s.start + s.length > ${from}::bigint
     order by c.n`;
  return Buffer.concat(rows.map((row) => row.bytes));
}

/** The start of the character that the byte at `index` is part of. */
function findBoundary(bytes: Uint8Array, index: number): number {
  let at = index;
  while (at > 0 && index - at < longestCharacter && isContinuation(bytes[at])) at -= 1;
  return at;
}

function findNextBoundary(bytes: Uint8Array, index: number): number {
  if (index >= bytes.length) return index;
  let at = index + 1;
  while (at - index < longestCharacter && isContinuation(bytes[at])) at += 1;
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}
