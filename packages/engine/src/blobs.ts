import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";

const chunkBytes = 1024 * 1024;

// As text: the driver would declare an array of buffers as one buffer, and encode strings for bytea[] a second time.
const store = `
  with stored as (
    insert into blobs (workspace_id, hash, size, media_type) values ($1::uuid, $2::text, $3::bigint, $4::text)
        on conflict do nothing
    returning workspace_id, hash)
  insert into blob_chunks (workspace_id, hash, n, bytes)
  select s.workspace_id, s.hash, c.n - 1, decode(c.hex, 'hex')
    from stored s cross join unnest($5::text[]) with ordinality c (hex, n)`;

/** Afterwards the bytes can be read by the returned sha256 (hex), stored once per workspace however often they are produced. */
export async function storeBlob(
  sql: Queryable,
  workspaceId: string,
  bytes: Buffer,
  mediaType: string,
): Promise<string> {
  const hash = createHash("sha256").update(bytes).digest("hex");
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, n) =>
    bytes.subarray(n * chunkBytes, (n + 1) * chunkBytes).toString("hex"),
  );
  await sql.unsafe(store, [workspaceId, hash, bytes.length, mediaType, chunks], { prepare: true });
  return hash;
}
