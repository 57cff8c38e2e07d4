import { createHash, randomBytes, randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { findNameProblem, listFiles, type NewFile, putFile, readFile, readMediaType } from "./files.ts";
import { BlobDamaged, readBlobChunks } from "./read-blob.ts";
import { removeLeftUploads, storeUpload } from "./store-upload.ts";

const { sql } = await testDatabase();
const userId = randomUUID();
const megabyte = 1024 * 1024;
const mostBytes = 8 * megabyte;

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function fileOf(workspaceId: string, bytes: Uint8Array, over: Partial<NewFile> = {}): NewFile {
  return { workspaceId, hash: sha256(bytes), name: "a.bin", mediaType: "image/png", createdBy: "user:1", ...over };
}

/** The bytes in pieces of these sizes, over and over. */
async function* inPieces(bytes: Uint8Array, ...sizes: number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

async function readBack(workspaceId: string, hash: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readBlobChunks(sql, { workspaceId, hash })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function rowsOf(workspaceId: string): Promise<{ blobs: number; chunks: number; staged: number }> {
  const [row] = await sql<{ blobs: number; chunks: number; staged: number }[]>`
    select (select count(*) from blobs where workspace_id = ${workspaceId})::int as blobs,
           (select count(*) from blob_chunks where workspace_id = ${workspaceId})::int as chunks,
           (select count(*) from upload_chunks)::int as staged`;
  return row ?? { blobs: -1, chunks: -1, staged: -1 };
}

test.each([
  [0, 0],
  [1, 1],
  [megabyte, 1],
  [megabyte + 1, 2],
  [3 * megabyte + 7, 4],
])("%i bytes come back as they came, however they were cut, in chunks of a megabyte", async (size, chunks) => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(size);
  const file = fileOf(workspaceId, bytes);
  const stored = await storeUpload(sql, file, inPieces(bytes, 65_536, 1, 700_000), mostBytes);
  expect(stored).toMatchObject({ kind: "stored", file: { hash: file.hash, size, name: "a.bin" } });
  expect((await readBack(workspaceId, file.hash)).equals(bytes)).toBe(true);
  expect(await rowsOf(workspaceId)).toEqual({ blobs: 1, chunks, staged: 0 });
});

test("the same content is stored once, whoever uploads it under whatever name, and the same upload is the same file", async () => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(2 * megabyte);
  const store = async (over: Partial<NewFile> = {}): Promise<string> => {
    const stored = await storeUpload(sql, fileOf(workspaceId, bytes, over), inPieces(bytes, 300_000), mostBytes);
    return stored.kind === "stored" ? stored.file.id : stored.kind;
  };
  const first = await store();
  const ids = await Promise.all([store(), store(), store({ name: "b.bin" }), store({ createdBy: "user:2" })]);
  expect(ids.slice(0, 2)).toEqual([first, first]);
  expect(new Set(ids).size).toBe(3);
  expect(await rowsOf(workspaceId)).toEqual({ blobs: 1, chunks: 2, staged: 0 });
});

test("of uploads of the same content at once each is stored, and the content is there once", async () => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(2 * megabyte + 5);
  const stored = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      storeUpload(sql, fileOf(workspaceId, bytes, { createdBy: `user:${n}` }), inPieces(bytes, 500_000), mostBytes),
    ),
  );
  expect(stored.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => "stored"));
  expect(await rowsOf(workspaceId)).toEqual({ blobs: 1, chunks: 3, staged: 0 });
  expect((await readBack(workspaceId, sha256(bytes))).equals(bytes)).toBe(true);
});

test("what is not what it was announced as, or more than may be, leaves nothing, and is not read on", async () => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(2 * megabyte);
  const announced = { ...fileOf(workspaceId, bytes), hash: sha256(Buffer.from("other")) };
  expect(await storeUpload(sql, announced, inPieces(bytes, 100_000), mostBytes)).toEqual({
    kind: "mismatch",
    hash: sha256(bytes),
    size: bytes.length,
  });
  let asked = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      asked += 1;
      yield Buffer.alloc(100_000);
    }
  }
  const tooMuch = await storeUpload(sql, fileOf(workspaceId, bytes), endless(), 1_500_000);
  expect(tooMuch).toEqual({ kind: "too_large" });
  expect(asked).toBe(16);
  expect(await rowsOf(workspaceId)).toEqual({ blobs: 0, chunks: 0, staged: 0 });
});

test("an upload that breaks off leaves nothing, and its error is passed on", async () => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(2 * megabyte);
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 1_500_000);
    throw new Error("the client left");
  }
  await expect(storeUpload(sql, fileOf(workspaceId, bytes), broken(), mostBytes)).rejects.toThrow("the client left");
  expect(await rowsOf(workspaceId)).toEqual({ blobs: 0, chunks: 0, staged: 0 });
});

test("an upload whose parts a crash of the database took away is refused, not stored by halves", async () => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(2 * megabyte + 5);
  async function* crashing(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 1_500_000);
    yield bytes.subarray(1_500_000, 2_100_000);
    await sql`delete from upload_chunks`;
    yield bytes.subarray(2_100_000);
  }
  const storing = storeUpload(sql, fileOf(workspaceId, bytes), crashing(), mostBytes);
  await expect(storing).rejects.toThrow(/send it again/);
  expect(await rowsOf(workspaceId)).toMatchObject({ blobs: 0, chunks: 0 });
});

test("what a process left behind that died is removed after an hour", async () => {
  const left = randomUUID();
  const fresh = randomUUID();
  await sql`insert into upload_chunks (upload_id, n, bytes, arrived_at)
            values (${left}, 0, 'a'::bytea, clock_timestamp() - interval '61 minutes'), (${fresh}, 0, 'a'::bytea, clock_timestamp())`;
  await removeLeftUploads(sql);
  expect(await sql`select upload_id from upload_chunks`).toEqual([{ upload_id: fresh }]);
  await sql`delete from upload_chunks`;
});

test("an upload that is on its way for longer than an hour loses none of its parts", async () => {
  const workspaceId = randomUUID();
  const bytes = randomBytes(2 * megabyte + 5);
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, megabyte);
    await sql`update upload_chunks set arrived_at = arrived_at - interval '61 minutes'`;
    yield bytes.subarray(megabyte, 2 * megabyte);
    await removeLeftUploads(sql);
    yield bytes.subarray(2 * megabyte);
  }
  const stored = await storeUpload(sql, fileOf(workspaceId, bytes), slow(), mostBytes);
  expect(stored).toMatchObject({ kind: "stored" });
});

test.each([
  "update blob_chunks set bytes = set_byte(bytes, 0, 0) where n = 2",
  "delete from blob_chunks where n = 1",
  "delete from blob_chunks where n = 2",
])("content that was changed or lost in the store is not handed out whole: %s", async (damage) => {
  const workspaceId = randomUUID();
  const bytes = Buffer.concat([randomBytes(2 * megabyte), Buffer.from([1, 2, 3])]);
  await storeUpload(sql, fileOf(workspaceId, bytes), inPieces(bytes, 65_536), mostBytes);
  await sql.unsafe(`${damage} and workspace_id = '${workspaceId}'`);
  let read = 0;
  const reading = (async () => {
    for await (const chunk of readBlobChunks(sql, { workspaceId, hash: sha256(bytes) })) read += chunk.length;
  })();
  await expect(reading).rejects.toThrow(BlobDamaged);
  expect(read).toBeLessThan(bytes.length);
});

test("another workspace's content and files are not there", async () => {
  const workspaceId = randomUUID();
  const bytes = Buffer.from("secret");
  const stored = await storeUpload(sql, fileOf(workspaceId, bytes), inPieces(bytes, 3), mostBytes);
  const id = stored.kind === "stored" ? stored.file.id : "";
  const other = randomUUID();
  expect(await readFile(sql, other, id)).toBeUndefined();
  expect(await listFiles(sql, { workspaceId: other, userId, limit: 10 })).toEqual([]);
  expect(await putFile(sql, fileOf(other, bytes))).toBeUndefined();
  await expect(readBack(other, sha256(bytes))).rejects.toThrow(BlobDamaged);
  expect(await readFile(sql, workspaceId, id)).toMatchObject({ id, name: "a.bin" });
});

test("files are listed newest first, a page at a time", async () => {
  const workspaceId = randomUUID();
  for (const name of ["1", "2", "3"]) {
    await storeUpload(sql, fileOf(workspaceId, Buffer.from("x"), { name }), inPieces(Buffer.from("x"), 1), mostBytes);
  }
  const first = await listFiles(sql, { workspaceId, userId, limit: 1 });
  expect(first.map(({ name }) => name)).toEqual(["3", "2"]);
  const rest = await listFiles(sql, { workspaceId, userId, limit: 2, cursorId: first[0]?.id });
  expect(rest.map(({ name }) => name)).toEqual(["2", "1"]);
});

test.each(["", " ", "a/b", "..", ".", "a\\b", "a\nb", "a\0b", "a\u202eb", "\ud800", "x".repeat(201)])(
  "a file is not called %j",
  (name) => {
    expect(findNameProblem(name)).toBeTypeOf("string");
  },
);

test("a media type is kept in lower case, with one parameter, and nothing else is one", () => {
  expect(readMediaType("Text/Plain; charset=UTF-8")).toBe("text/plain; charset=utf-8");
  expect(readMediaType("application/vnd.oasis.opendocument.text")).toBe("application/vnd.oasis.opendocument.text");
  for (const none of ["", "text", "text/", "text/html\r\nX: y", "a/b; c", "a/b/c", 'text/html; x="\r\n"']) {
    expect(readMediaType(none)).toBeUndefined();
  }
});
