import { createHash, randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { setAccessRule } from "@countersign/kb/access-rules.ts";
import { expect, test } from "vitest";
import { filesAttach } from "./files-attach.ts";
import { filesList } from "./files-list.ts";
import { filesRead } from "./files-read.ts";
import { ingestCapture } from "./ingest-capture.ts";
import { kbCreate } from "./kb-create.ts";
import { memoryConsolidate } from "./memory-consolidate.ts";
import { memoryPropose } from "./memory-propose.ts";
import { opsHeartbeat } from "./ops-heartbeat.ts";
import { remindersAdd } from "./reminders-add.ts";
import { remindersCancel } from "./reminders-cancel.ts";
import { remindersList } from "./reminders-list.ts";
import { tasksDoneLog } from "./tasks-done-log.ts";
import { tasksList } from "./tasks-list.ts";
import { callTool, type Caller } from "./testing/call-tool.ts";

const { sql } = await testDatabase();
const id = /[0-9a-f]{8}-[0-9a-f-]{27}/;

async function newCaller(): Promise<Caller> {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  return { workspaceId: world.workspaceId, runId, userId: world.operator };
}

const handleIn = (content: string): string => /sha256:[0-9a-f]{64}/.exec(content)?.[0] ?? "";

test("text is attached as a file, listed with its handle, and read by it", async () => {
  const me = await newCaller();
  const stored = await callTool(sql, filesAttach, me, {
    name: "plan.md",
    text: "# Plan\n",
    mediaType: "text/markdown",
  });
  expect(stored.content).toMatch(
    /^Stored plan\.md \(text\/markdown, 7 bytes\) as file .{36}, handle sha256:[0-9a-f]{64}$/,
  );
  const handle = handleIn(stored.content);
  const list = await callTool(sql, filesList, me, {});
  expect(list.content).toContain(`- plan.md (text/markdown, 7 bytes, `);
  expect(list.content).toContain(`handle ${handle}`);
  expect((await callTool(sql, filesRead, me, { handle })).content).toContain("# Plan\n");
  expect(await sql`select created_by, run_id from files where workspace_id = ${me.workspaceId}`).toEqual([
    { created_by: `run:${me.runId}`, run_id: me.runId },
  ]);
});

test("bytes and content that is stored already are attached too, to a page, and stored once", async () => {
  const me = await newCaller();
  await callTool(sql, kbCreate, me, { title: "Release" });
  const base64 = Buffer.from([0x89, 0x50, 0x4e, 0x47]).toString("base64");
  const stored = await callTool(sql, filesAttach, me, {
    name: "a.png",
    base64,
    mediaType: "image/png",
    page: "Release",
  });
  expect(stored.content).toContain('of page "Release"');
  const again = await callTool(sql, filesAttach, me, { name: "b.png", handle: handleIn(stored.content) });
  expect(again.content).toContain("Stored b.png (application/octet-stream, 4 bytes)");
  expect((await callTool(sql, filesList, me, {})).content).not.toContain("a.png");
  expect((await callTool(sql, filesList, me, { page: "release" })).content).toContain("a.png");
  expect(await sql`select from blobs where workspace_id = ${me.workspaceId}`).toHaveLength(1);
});

test("content is had by who sees a file or a capture of it, or whose run it was given to, and not by its handle alone", async () => {
  const me = await newCaller();
  const [owner] = await sql<{ id: string }[]>`
    insert into users (id, workspace_id, name, role) values (${randomUUID()}, ${me.workspaceId}, 'owner', 'operator')
    returning id`;
  const theirs = { ...me, userId: owner?.id ?? "" };
  const rule = (dir: string, userId: string | null, level: "none" | "read" | "write") =>
    transaction(sql, (tx) =>
      setAccessRule({ tx, workspaceId: me.workspaceId, userId: theirs.userId }, { dir, pageId: null, userId, level }),
    );
  await callTool(sql, kbCreate, theirs, { title: "Vault", dir: "vault" });
  const stored = await callTool(sql, filesAttach, theirs, { name: "a", text: "gold", page: "Vault" });
  const handle = handleIn(stored.content);
  const captured = await callTool(sql, ingestCapture, theirs, {
    url: "https://example.org/gold",
    title: "Gold",
    markdown: "- captured gold",
  });
  expect(captured.kind).toBe("done");
  const capture = `sha256:${createHash("sha256").update("- captured gold").digest("hex")}`;
  const has = async (by: Caller, of: string): Promise<boolean[]> => [
    (await callTool(sql, filesRead, by, { handle: of })).kind === "done",
    (await callTool(sql, filesAttach, by, { name: randomUUID(), handle: of, page: "Vault" })).kind === "done",
  ];
  for (const of of [handle, capture]) expect((await has(me, of))[0]).toBe(true);
  for (const dir of ["vault", "captures"]) {
    await rule(dir, null, "none");
    await rule(dir, theirs.userId, "write");
  }
  for (const of of [handle, capture]) {
    expect(await has(me, of)).toEqual([false, false]);
    expect(await callTool(sql, filesAttach, me, { name: "stolen", handle: of })).toMatchObject({ kind: "failed" });
    expect(await has(theirs, of)).toEqual([true, true]);
  }

  const bytes = Buffer.from("a large result");
  const result = await storeBlob(sql, me.workspaceId, bytes, "text/plain");
  await sql`
    insert into tool_calls (id, run_id, turn_seq, position, provider_id, tool, args, args_hash, definition_hash, effect,
                            requires, verdict, gate_row, gate_reason, policy_versions, status, finished_at, result_blob)
    values (${randomUUID()}, ${me.runId}, 1, 0, 'x', 't', '{}', 'x', 'x', 'read-only', '{}', 'allow', '0', 'x', '{}',
            'done', clock_timestamp(), ${result})`;
  const other = { ...me, runId: randomUUID() };
  expect((await callTool(sql, filesRead, me, { handle: `sha256:${result}` })).kind).toBe("done");
  expect((await callTool(sql, filesRead, other, { handle: `sha256:${result}` })).kind).toBe("failed");
});

test("whoever may only read a page puts no file on it", async () => {
  const me = await newCaller();
  await callTool(sql, kbCreate, me, { title: "Shown", dir: "shown" });
  await transaction(sql, (tx) =>
    setAccessRule({ tx, ...me }, { dir: "shown", pageId: null, userId: null, level: "read" }),
  );
  expect(await callTool(sql, filesAttach, me, { name: "a", text: "x", page: "Shown" })).toMatchObject({
    kind: "failed",
    content: expect.stringContaining("may read page") as string,
  });
  expect(await sql`select from files where workspace_id = ${me.workspaceId}`).toEqual([]);
});

test("another workspace's content cannot be attached, nor its pages written to", async () => {
  const [me, other] = [await newCaller(), await newCaller()];
  const stored = await callTool(sql, filesAttach, me, { name: "a", text: "secret" });
  await callTool(sql, kbCreate, me, { title: "Mine" });
  const handle = handleIn(stored.content);
  expect(await callTool(sql, filesAttach, other, { name: "a", handle })).toMatchObject({
    kind: "failed",
    content: expect.stringContaining("is not found") as string,
  });
  expect(await callTool(sql, filesAttach, other, { name: "a", text: "x", page: "Mine" })).toMatchObject({
    kind: "failed",
  });
  expect(await callTool(sql, filesList, other, { page: "Mine" })).toMatchObject({ kind: "failed" });
  expect((await callTool(sql, filesList, other, {})).content).toBe("There are no files here.");
});

test("what has no room in the workspace's quota is not attached, and nothing of it is stored", async () => {
  const me = await newCaller();
  const { content } = await callTool(sql, filesAttach, me, { name: "a", text: "0123456789" });
  await sql`update workspaces set file_quota_bytes = 15 where id = ${me.workspaceId}`;
  expect(await callTool(sql, filesAttach, me, { name: "b", text: "9876543210" })).toMatchObject({
    kind: "failed",
    content: expect.stringContaining("may store 15 bytes as files, and 10 are taken") as string,
  });
  expect(await sql`select from blobs where workspace_id = ${me.workspaceId}`).toHaveLength(1);
  expect(await callTool(sql, filesAttach, me, { name: "b", handle: handleIn(content) })).toMatchObject({
    kind: "done",
  });
});

test("memory is proposed and consolidated, and nothing of it is remembered without a person", async () => {
  const me = await newCaller();
  await callTool(sql, memoryPropose, me, { kind: "preference", text: " Ann prefers tea. " });
  await callTool(sql, memoryPropose, me, { kind: "preference", text: "ann prefers tea" });
  const result = await callTool(sql, memoryConsolidate, me, {});
  expect(result.content).toMatch(/^1 duplicate was closed\. Open: 1\.\n- .{36} \[preference\] Ann prefers tea\.$/);
  expect((await callTool(sql, memoryConsolidate, me, {})).content).toContain("0 duplicates were closed. Open: 1.");
  expect(await sql`select from pages where workspace_id = ${me.workspaceId}`).toEqual([]);
  const other = await newCaller();
  expect((await callTool(sql, memoryConsolidate, other, {})).content).toBe("0 duplicates were closed. Open: 0.");
});

test("a page is captured once for its text, in the name of the run's user and call", async () => {
  const me = await newCaller();
  const args = { url: "https://example.org/a", title: "A", markdown: "- one" };
  const first = await callTool(sql, ingestCapture, me, args);
  expect(first.content).toMatch(/^Captured as .{36}; its page is made in the background\.$/);
  const again = await callTool(sql, ingestCapture, me, { ...args, url: "https://example.org/a#x" });
  expect(again).toMatchObject({ kind: "done", content: expect.stringContaining("captured before") as string });
  expect(id.exec(again.content)?.[0]).toBe(id.exec(first.content)?.[0]);
  expect(await sql`select user_id, run_id, status from captures where workspace_id = ${me.workspaceId}`).toEqual([
    { user_id: me.userId, run_id: me.runId, status: "pending" },
  ]);
  for (const odd of [{ url: "file:///etc/passwd" }, { screenshotFileId: randomUUID() }]) {
    expect(await callTool(sql, ingestCapture, me, { ...args, ...odd })).toMatchObject({
      kind: "failed",
      code: "invalid_args",
    });
  }
});

test("a reminder is set, listed and canceled; one that is due becomes a task by the heartbeat, once", async () => {
  const me = await newCaller();
  const set = await callTool(sql, remindersAdd, me, { text: "call Ann", at: "2040-01-01T09:00:00+01:00" });
  expect(set.content).toMatch(/^Reminder .{36} is set for 2040-01-01T08:00:00\.000Z: call Ann$/);
  const reminderId = id.exec(set.content)?.[0] ?? "";
  expect((await callTool(sql, remindersList, me, {})).content).toContain(
    `- ${reminderId} 2040-01-01T08:00:00.000Z call Ann`,
  );
  expect((await callTool(sql, opsHeartbeat, me, {})).content).toBe("Nothing is due.");
  const other = await newCaller();
  expect(await callTool(sql, remindersCancel, other, { id: reminderId })).toMatchObject({ kind: "failed" });
  expect(await callTool(sql, remindersCancel, me, { id: reminderId })).toMatchObject({ kind: "done" });
  expect(await callTool(sql, remindersCancel, me, { id: reminderId })).toMatchObject({ kind: "failed" });
  expect((await callTool(sql, remindersList, me, {})).content).toBe("No reminder is set.");

  await callTool(sql, remindersAdd, me, { text: "call Bob", at: "2020-01-01T09:00:00Z" });
  expect((await callTool(sql, opsHeartbeat, other, {})).content).toBe("Nothing is due.");
  expect((await callTool(sql, opsHeartbeat, me, {})).content).toMatch(/^- .{36} call Bob \(reminder\)\n1 due\.$/);
  expect((await callTool(sql, opsHeartbeat, me, {})).content).toBe("Nothing is due.");
  expect((await callTool(sql, tasksList, me, {})).content).toContain("[up-next] call Bob");
});

test("an empty section names those that are not", async () => {
  const me = await newCaller();
  await callTool(sql, remindersAdd, me, { text: "call Bob", at: "2020-01-01T09:00:00Z" });
  await callTool(sql, opsHeartbeat, me, {});
  const list = await callTool(sql, tasksList, me, { section: "later" });
  expect(list.content).toContain('There are no open tasks in section "later". Sections with open tasks: ');
  expect(list.content).toContain("up-next");
});

test.each([
  [filesAttach, { name: "a" }],
  [filesAttach, { name: "a", text: "x", base64: "eA==" }],
  [filesAttach, { name: "../a", text: "x" }],
  [filesAttach, { name: "a", text: "a\0" }],
  [filesAttach, { name: "a", base64: "not base64!" }],
  [filesAttach, { name: "a", text: "x", mediaType: "text/html\r\nX: y" }],
  [filesAttach, { name: "a", handle: "sha256:abc" }],
  [filesAttach, { name: "a", text: "x".repeat(1_000_001) }],
  [memoryPropose, { kind: "A B", text: "x" }],
  [memoryPropose, { kind: "fact", text: "a\nb" }],
  [memoryPropose, { kind: "fact", text: "" }],
  [ingestCapture, { url: "https://example.org", title: "A", markdown: "" }],
  [ingestCapture, { url: "https://example.org", title: "a\nb", markdown: "x" }],
  [ingestCapture, { url: "https://example.org", title: "A", markdown: "\ud800" }],
  [remindersAdd, { text: "x", at: "tomorrow" }],
  [remindersAdd, { text: "x", at: "2040-01-01T09:00:00" }],
  [remindersAdd, { text: "x", at: "9999-01-01T09:00:00Z" }],
  [remindersAdd, { text: "x", at: "0001-01-01T00:00:00+14:00" }],
  [tasksDoneLog, { since: "0000-01-01" }],
  [tasksDoneLog, { since: "0000-01-01T00:00:00Z" }],
  [tasksDoneLog, { since: "9999-12-31T23:59:59-14:00" }],
  [remindersAdd, { text: "a\nb", at: "2040-01-01T09:00:00Z" }],
  [remindersCancel, { id: "1" }],
  [opsHeartbeat, { workspace: "other" }],
])("the schema of $name refuses %j", (tool, args) => {
  expect(tool.schema.safeParse(args).success).toBe(false);
});
