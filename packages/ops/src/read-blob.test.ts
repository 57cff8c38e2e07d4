import { createHash, randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readBlobText } from "./read-blob.ts";

const { sql } = await testDatabase();

async function store(content: Buffer, chunkSize: number): Promise<{ workspaceId: string; hash: string }> {
  const workspaceId = randomUUID();
  const hash = createHash("sha256").update(content).digest("hex");
  await sql`insert into blobs (workspace_id, hash, size, media_type) values (${workspaceId}, ${hash}, ${content.length}, 'text/plain')`;
  for (let n = 0; n * chunkSize < content.length; n += 1) {
    const bytes = content.subarray(n * chunkSize, (n + 1) * chunkSize);
    await sql`insert into blob_chunks (workspace_id, hash, n, bytes) values (${workspaceId}, ${hash}, ${n}, ${bytes})`;
  }
  return { workspaceId, hash };
}

function read(at: { workspaceId: string; hash: string }, offset: number, length: number) {
  return transaction(sql, (tx) => readBlobText(tx, { ...at, offset, length }));
}

test("reading on from each end gives the whole text once, whatever the chunks cut through", async () => {
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 });
  const size = fc.integer({ min: 1, max: 9 });
  await fc.assert(
    fc.asyncProperty(text, size, size, async (content, chunkSize, length) => {
      const bytes = Buffer.from(content);
      const at = await store(bytes, chunkSize);
      let whole = "";
      for (let offset = 0; offset < bytes.length;) {
        const part = await read(at, offset, length);
        if (part.kind !== "read") throw new Error(part.kind);
        expect(part).toMatchObject({ start: offset, size: bytes.length });
        expect(part.end).toBeGreaterThan(offset);
        expect(part.end - offset).toBeLessThanOrEqual(Math.max(length, 4));
        whole += part.text;
        offset = part.end;
      }
      expect(whole).toBe(content);
    }),
    { numRuns: 40 },
  );
});

test("an offset inside a character is moved to its start", async () => {
  const at = await store(Buffer.from("aé🚀b"), 3);
  expect(await read(at, 2, 2)).toMatchObject({ text: "é", start: 1, end: 3 });
  expect(await read(at, 5, 1)).toMatchObject({ text: "🚀", start: 3, end: 7 });
  expect(await read(at, 6, 100)).toMatchObject({ text: "🚀b", start: 3, end: 8, size: 8 });
});

test("from the end on there is nothing, and empty content reads as empty", async () => {
  const at = await store(Buffer.from("abc"), 2);
  expect(await read(at, 3, 10)).toMatchObject({ text: "", start: 3, end: 3 });
  expect(await read(at, 1e15, 10)).toMatchObject({ text: "", start: 3, end: 3 });
  expect(await read(await store(Buffer.alloc(0), 2), 0, 10)).toMatchObject({ text: "", size: 0 });
});

test("content that is not UTF-8 says what it is instead", async () => {
  const at = await store(Buffer.from([0x89, 0x50, 0xff, 0xfe, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]), 4);
  expect(await read(at, 0, 10)).toEqual({ kind: "not-text", mediaType: "text/plain", size: 10 });
  expect(await read(at, 7, 2)).toMatchObject({ kind: "not-text" });
});

test("another workspace's content is missing", async () => {
  const { hash } = await store(Buffer.from("secret"), 100);
  expect(await read({ workspaceId: randomUUID(), hash }, 0, 10)).toEqual({ kind: "missing" });
});
