import { createHash, randomUUID } from "node:crypto";
import { capResult } from "@countersign/engine/cap-result.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { putFile } from "@countersign/ops/files.ts";
import { filesRead } from "./files-read.ts";
import { callTool, type Caller } from "./testing/call-tool.ts";

const { sql } = await testDatabase();

async function store(text: string, mediaType = "text/plain"): Promise<{ me: Caller; handle: string }> {
  const bytes = Buffer.from(text, text.startsWith("\x89") ? "latin1" : "utf8");
  const workspaceId = randomUUID();
  const hash = createHash("sha256").update(bytes).digest("hex");
  await sql`insert into blobs (workspace_id, hash, size, media_type) values (${workspaceId}, ${hash}, ${bytes.length}, ${mediaType})`;
  await sql`insert into blob_chunks (workspace_id, hash, n, bytes) values (${workspaceId}, ${hash}, 0, ${bytes})`;
  await nameIt(workspaceId, hash);
  return { me: { workspaceId, runId: randomUUID(), userId: randomUUID() }, handle: `sha256:${hash}` };
}

/** A file of no page, which everybody in the workspace sees. */
async function nameIt(workspaceId: string, hash: string): Promise<void> {
  await putFile(sql, { workspaceId, hash, name: "a", mediaType: "text/plain", createdBy: "user:1" });
}

test("a large result is read in parts, each saying the size and where to go on", async () => {
  const text = "é".repeat(20_000);
  const { me, handle } = await store(text);
  const first = await callTool(sql, filesRead, me, { handle });
  expect(first.content).toMatch(/^bytes 0 to 16384 of 40000; next offset 16384\n\né+$/);
  const odd = await callTool(sql, filesRead, me, { handle, offset: 3, length: 4 });
  expect(odd.content).toBe("bytes 2 to 6 of 40000; next offset 6\n\néé");
  const last = await callTool(sql, filesRead, me, { handle, offset: 39_998 });
  expect(last.content).toBe("bytes 39998 to 40000 of 40000; this is the end\n\né");
  const beyond = await callTool(sql, filesRead, me, { handle, offset: 40_000 });
  expect(beyond.content).toBe("Nothing at offset 40000: the content ends at 40000 bytes.");
});

test("what the head of a result leaves out is read on by the handle and the offset that it names, to the last byte", async () => {
  const me = { workspaceId: randomUUID(), runId: randomUUID(), userId: randomUUID() };
  const whole = "a漢é😀".repeat(100_000);
  const { content } = await capResult(sql, me.workspaceId, whole);
  const [, hash = ""] = /sha256:([0-9a-f]{64})/.exec(content) ?? [];
  await nameIt(me.workspaceId, hash);
  const [note = "", handle = "", start] = /\n\[truncated: .* handle "(.*)", offset (\d+)\]$/.exec(content) ?? [];
  let text = content.slice(0, -note.length);
  for (let offset: number | undefined = Number(start); offset !== undefined;) {
    const part = await callTool(sql, filesRead, me, { handle, offset, length: 65_536 });
    const [, next] = /next offset (\d+)/.exec(part.content.split("\n", 1)[0] ?? "") ?? [];
    text += part.content.slice(part.content.indexOf("\n\n") + 2);
    offset = next === undefined ? undefined : Number(next);
  }
  expect(text === whole).toBe(true);
});

test("what is no text is named, not shown", async () => {
  const { me, handle } = await store("\x89PNG\xff\xfe", "image/png");
  expect(await callTool(sql, filesRead, me, { handle })).toMatchObject({
    kind: "failed",
    content: expect.stringContaining("image/png, 6 bytes"),
  });
});

test("another workspace's handle is not found, just as one that never was", async () => {
  const { handle } = await store("secret");
  const { me: other } = await store("theirs");
  const never = `sha256:${"0".repeat(64)}`;
  for (const asked of [handle, never]) {
    expect(await callTool(sql, filesRead, other, { handle: asked })).toEqual({
      kind: "failed",
      content: `${asked} is not found. Use a handle exactly as a result gave it.`,
    });
  }
});

test.each([
  [{ handle: "sha256:ABC" }],
  [{ handle: "../../etc/passwd" }],
  [{ handle: `sha256:${"a".repeat(64)}`, offset: -1 }],
  [{ handle: `sha256:${"a".repeat(64)}`, length: 65_537 }],
])("the schema refuses %j", (args) => {
  expect(filesRead.schema.safeParse(args).success).toBe(false);
});
