import { createHash } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { storeBlob } from "./blobs.ts";
import { capResult } from "./cap-result.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool } from "./testing/engine.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import type { ToolResult } from "./tool.ts";

const { sql } = await testDatabase();

const maxResultBytes = 32 * 1024;

const truncated =
  /\n\[truncated: (\d+) of (\d+) bytes are shown; read on with files\.read, handle "sha256:([0-9a-f]{64})", offset (\d+)\]$/;

async function readBlob(workspaceId: string, hash: string): Promise<Buffer> {
  const chunks = await sql<{ bytes: Buffer }[]>`
    select bytes from blob_chunks where workspace_id = ${workspaceId} and hash = ${hash} order by n`;
  return Buffer.concat(chunks.map(({ bytes }) => bytes));
}

test.each([0, 1, maxResultBytes])("a result of %i bytes is shown whole and stored nowhere else", async (size) => {
  const { workspaceId } = await makeWorld(sql);
  const content = "x".repeat(size);
  expect(await capResult(sql, workspaceId, content)).toEqual({ content });
  expect(await sql`select 1 from blobs where workspace_id = ${workspaceId}`).toEqual([]);
});

test.each([
  ["ASCII", "x", maxResultBytes + 1],
  ["two bytes", "é", 20_000],
  ["three bytes", "漢", 400_000],
  ["four bytes", "😀", 300_000],
  ["mixed", "aé漢😀", 100_001],
])(
  "a large result of %s characters shows a head that ends at a character, its size and a handle, and is stored whole",
  async (_what, unit, count) => {
    const { workspaceId } = await makeWorld(sql);
    for (const shift of ["", "a", "ab", "abc"]) {
      const whole = shift + unit.repeat(count);
      const bytes = Buffer.from(whole);
      const { content, blob = "" } = await capResult(sql, workspaceId, whole);
      const [note = "", shown, size, hash, offset] = truncated.exec(content) ?? [];
      const head = content.slice(0, -note.length);
      expect(whole.startsWith(head)).toBe(true);
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(maxResultBytes);
      expect(Buffer.byteLength(head)).toBeGreaterThan(maxResultBytes - 4);
      expect([Number(shown), Number(size), hash, Number(offset)]).toEqual([
        Buffer.byteLength(head),
        bytes.length,
        blob,
        Number(shown),
      ]);
      expect(blob).toBe(createHash("sha256").update(bytes).digest("hex"));
      expect((await readBlob(workspaceId, blob)).equals(bytes)).toBe(true);
    }
  },
);

test("the same content is stored once in a workspace, and apart in another", async () => {
  const [one, other] = [await makeWorld(sql), await makeWorld(sql)];
  const bytes = Buffer.alloc(3 * 1024 * 1024, 7);
  const hashes = await Promise.all(
    [one, one, one, other].map(({ workspaceId }) => storeBlob(sql, workspaceId, bytes, "application/octet-stream")),
  );
  expect(new Set(hashes).size).toBe(1);
  for (const { workspaceId } of [one, other]) {
    const rows = await sql`select size, media_type from blobs where workspace_id = ${workspaceId}`;
    expect(rows).toEqual([{ size: bytes.length, media_type: "application/octet-stream" }]);
    const [chunks] = await sql<
      { n: number }[]
    >`select count(*)::int as n from blob_chunks where workspace_id = ${workspaceId}`;
    expect(chunks?.n).toBe(3);
  }
});

test("bytes of every value, and none at all, come back as they were", async () => {
  const { workspaceId } = await makeWorld(sql);
  for (const bytes of [Buffer.alloc(0), Buffer.from(Array.from({ length: 256 }, (_, n) => n))]) {
    const hash = await storeBlob(sql, workspaceId, bytes, "application/octet-stream");
    expect((await readBlob(workspaceId, hash)).equals(bytes)).toBe(true);
  }
});

test("a run with a result of a megabyte goes on with its head, and its call keeps the handle", async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["look"] });
  const whole = "漢字".repeat(175_000);
  let told = "";
  const engine = makeEngine(sql, [readingTool("look", () => ({ kind: "done", content: whole }))], ({ results }) => {
    told = results[0]?.content ?? "";
    return results.length === 0 ? { use: [{ tool: "look", args: {} }] } : { say: "ok" };
  });
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(Buffer.byteLength(told)).toBeLessThan(maxResultBytes + 300);
  const [call] = await sql<
    { blob: string; result: string }[]
  >`select result_blob as blob, result from tool_calls where run_id = ${runId}`;
  expect(JSON.parse(call?.result ?? "")).toBe(told);
  expect((await readBlob(world.workspaceId, call?.blob ?? "")).equals(Buffer.from(whole))).toBe(true);
});

const say = (content: string, kind: ToolResult["kind"]) => (): ToolResult => ({ kind, content });
const transactional = { effect: "transactional", tier: "write" };

test.each([
  ["fails", "failed", readingTool("act", say("x".repeat(300_000), "failed"))],
  ["finds something changed", "failed", readingTool("act", say("x".repeat(300_000), "changed"), transactional)],
  [
    "proposes nothing",
    "failed",
    readingTool("act", say("", "done"), {
      ...transactional,
      propose: async () => say("x".repeat(300_000), "failed")(),
    }),
  ],
  ["cannot tell", "unknown", readingTool("act", say("x".repeat(300_000), "unknown"), { effect: "once" })],
])("what a tool says that %s is capped as any result", async (_how, status, tool) => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act"] });
  const runId = await givenRun(sql, world);
  const scenario: Scenario = ({ results }) =>
    results.length === 0 ? { use: [{ tool: "act", args: {} }] } : { say: results.map(({ content }) => content).join() };
  await driveRun(makeEngine(sql, [tool], scenario), runId);
  const [call] = await callsOf(sql, runId);
  expect(call?.status).toBe(status);
  const { result } = call as { result: string };
  expect(result.length).toBeLessThan(maxResultBytes + 300);
  expect(result).toMatch(/\n\[(truncated|cut): 32768 of 3\d+ bytes/);
  const cards = await sql<{ card: string }[]>`select card from approvals where run_id = ${runId}`;
  for (const { card } of cards) expect(card.length).toBeLessThan(maxResultBytes + 2_000);
});
