import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { transaction } from "@countersign/db/transaction.ts";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { aCall, givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { setAccessRule } from "@countersign/kb/access-rules.ts";
import { appendBullet } from "@countersign/kb/append-bullet.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { removePage } from "@countersign/kb/remove-node.ts";
import { putCapture } from "@countersign/ops/captures.ts";
import { deleteFile } from "@countersign/ops/delete-file.ts";
import { putFile } from "@countersign/ops/files.ts";
import { afterAll, expect, test } from "vitest";
import { type Answer, givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type People = Awaited<ReturnType<typeof givenPeople>>;

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function put(token: string, bytes: Uint8Array, query = "name=a.bin"): Promise<Answer> {
  const response = await fetch(`${server.url}/v1/uploads/${sha256(bytes)}?${query}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}` },
    body: Buffer.from(bytes),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
}

async function putNew(token: string, query?: string): Promise<{ id: string; hash: string; bytes: Buffer }> {
  const bytes = randomBytes(100);
  const stored = await put(token, bytes, query);
  expect(stored.status).toBe(200);
  return { id: String(stored.body["id"]), hash: sha256(bytes), bytes };
}

async function remove(token: string, id: string): Promise<Answer> {
  return await send(server, token, "DELETE", `/v1/files/${id}`);
}

async function countRows({ workspaceId }: People): Promise<{ files: number; blobs: number; chunks: number }> {
  const [row] = await sql<{ files: number; blobs: number; chunks: number }[]>`
    select (select count(*) from files       where workspace_id = ${workspaceId}) as files,
           (select count(*) from blobs       where workspace_id = ${workspaceId}) as blobs,
           (select count(*) from blob_chunks where workspace_id = ${workspaceId}) as chunks`;
  return row ?? { files: -1, blobs: -1, chunks: -1 };
}

async function pageWith({ workspaceId, operator: userId }: People, title: string, text: string): Promise<string> {
  return await transaction(sql, async (tx) => {
    const writer = { tx, workspaceId, userId };
    const made = await createPage(writer, { title });
    if (made.kind !== "created") throw new Error(made.kind);
    await appendBullet(writer, { page: made.page.id, text });
    return made.page.id;
  });
}

test("a file is deleted with its content, by whoever brought it, and the audit has who deleted what", async () => {
  const world = await givenPeople(sql);
  const file = await putNew(world.tokens.operator);
  expect(await remove(world.tokens.operator, file.id)).toMatchObject({
    status: 200,
    body: { outcome: "deleted", isContentGone: true },
  });
  expect(await countRows(world)).toEqual({ files: 0, blobs: 0, chunks: 0 });
  expect(await remove(world.tokens.operator, file.id)).toMatchObject({ status: 404 });
  const audit = await sql<{ actor: string; details: unknown }[]>`
    select actor, details from audit where workspace_id = ${world.workspaceId} and action = 'file.deleted' and subject = ${file.id}`;
  expect(audit).toMatchObject([
    { actor: `user:${world.operator}`, details: { hash: file.hash, size: 100, isContentGone: true } },
  ]);
});

test("content stays where another file, a capture or a result of a call has it", async () => {
  const world = await givenPeople(sql);
  const { workspaceId } = world;
  const shared = await putNew(world.tokens.operator);
  await put(world.tokens.operator, shared.bytes, "name=b.bin");
  expect(await remove(world.tokens.operator, shared.id)).toMatchObject({ body: { isContentGone: false } });

  const captured = await putNew(world.tokens.operator);
  const capture = { workspaceId, url: "https://example.org/", title: "x", hash: captured.hash, userId: world.operator };
  expect(await putCapture(sql, capture)).toMatchObject({ kind: "captured" });
  expect(await remove(world.tokens.operator, captured.id)).toMatchObject({ body: { isContentGone: false } });

  const result = await putNew(world.tokens.operator);
  const { callId } = await givenGatedRun(sql, world);
  await sql`update tool_calls set result_blob = ${result.hash} where id = ${callId}`;
  expect(await remove(world.tokens.operator, result.id)).toMatchObject({ body: { isContentGone: false } });
  expect(await countRows(world)).toEqual({ files: 1, blobs: 3, chunks: 3 });
});

test("another's file is for its owner and administrators, an agent's for whoever started its run", async () => {
  const world = await givenPeople(sql);
  const file = await putNew(world.tokens.admin);
  expect(await remove(world.tokens.approver, file.id)).toMatchObject({ status: 403 });
  expect(await remove(world.tokens.viewer, file.id)).toMatchObject({ status: 403 });
  const { workspaceId } = world;
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const hash = await storeBlob(sql, workspaceId, Buffer.from("by an agent"), "text/plain");
  const name = { name: "a.txt", mediaType: "text/plain" };
  const made = await putFile(sql, { workspaceId, hash, ...name, createdBy: `run:${runId}`, runId });
  expect(await remove(world.tokens.approver, made?.id ?? "")).toMatchObject({ status: 403 });
  expect(await remove(world.tokens.operator, made?.id ?? "")).toMatchObject({ status: 200 });
  expect(await remove(world.tokens.admin, file.id)).toMatchObject({ status: 200 });
});

test("a file of a page is deleted by those who may change the page, and is not there for those who may not see it", async () => {
  const world = await givenPeople(sql);
  const { workspaceId, operator, admin: userId } = world;
  const pageId = await pageWith(world, "Plans", "a plan");
  const file = await putNew(world.tokens.operator, `name=a.bin&page=${pageId}`);
  for (const [level, status] of [
    ["none", 404],
    ["read", 403],
    ["write", 200],
  ] as const) {
    await transaction(sql, (tx) =>
      setAccessRule({ tx, workspaceId, userId }, { dir: null, pageId, userId: operator, level }),
    );
    expect((await remove(world.tokens.operator, file.id)).status).toBe(status);
  }
});

test("a file that a page, a capture or a call still to run names is kept, and told is what names it", async () => {
  const world = await givenPeople(sql);
  const { workspaceId, operator, admin: userId } = world;
  const file = await putNew(world.tokens.operator);
  const pageId = await pageWith(world, "Report", `![chart](/v1/files/${file.id}/content)`);
  const hidden = await pageWith(world, "Secret", `also sha256:${file.hash}`);
  await transaction(sql, (tx) =>
    setAccessRule({ tx, workspaceId, userId }, { dir: null, pageId: hidden, userId: operator, level: "none" }),
  );
  const text = await storeBlob(sql, workspaceId, Buffer.from("- x"), "text/markdown");
  await putCapture(sql, {
    workspaceId,
    url: "https://example.org/",
    title: "Front page",
    hash: text,
    screenshotFileId: file.id,
    userId: operator,
  });
  const args = JSON.stringify({ to: "a@example.org", attachments: [{ handle: `sha256:${file.hash}` }] });
  const { runId, callId } = await givenGatedRun(sql, world);
  await sql`update tool_calls set args = ${args} where id = ${callId}`;

  const refused = await remove(world.tokens.operator, file.id);
  expect(refused).toMatchObject({ status: 409, body: { code: "file_in_use" } });
  expect(refused.body["references"]).toHaveLength(4);
  expect(refused.body["references"]).toEqual(
    expect.arrayContaining([
      { kind: "page", id: pageId, name: "Report" },
      { kind: "page", id: null, name: null },
      expect.objectContaining({ kind: "capture", name: "Front page" }) as unknown,
      { kind: "call", id: callId, name: `mail.send of run ${runId}` },
    ]),
  );
  expect(JSON.stringify(refused.body)).not.toContain("Secret");
  expect(refused.body["detail"]).toContain("a page that you may not see");
  expect(await countRows(world)).toEqual({ files: 1, blobs: 2, chunks: 2 });
});

test("what names only the content keeps no file whose content stays, and a call that has ended keeps nothing", async () => {
  const world = await givenPeople(sql);
  const file = await putNew(world.tokens.operator);
  await pageWith(world, "Report", `sha256:${file.hash}`);
  const copy = await put(world.tokens.operator, file.bytes, "name=copy.bin");
  expect(await remove(world.tokens.operator, file.id)).toMatchObject({ status: 200, body: { isContentGone: false } });
  expect(await remove(world.tokens.operator, String(copy.body["id"]))).toMatchObject({ status: 409 });

  const mailed = await putNew(world.tokens.operator);
  const { runId, callId } = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  await sql`update tool_calls set args = ${JSON.stringify({ handle: `sha256:${mailed.hash}` })} where id = ${callId}`;
  expect(await remove(world.tokens.operator, mailed.id)).toMatchObject({ status: 409 });
  await send(server, world.tokens.admin, "POST", `/v1/runs/${runId}/cancel`, { body: {} });
  expect(await remove(world.tokens.operator, mailed.id)).toMatchObject({ status: 200 });
});

test("a file that only frontmatter names, or arguments as a person changed or voted for them, is kept", async () => {
  const world = await givenPeople(sql);
  const { workspaceId, operator: userId } = world;
  const file = await putNew(world.tokens.operator);
  const isKept = async () => (await remove(world.tokens.operator, file.id)).status === 409;
  const made = await transaction(sql, (tx) =>
    createPage({ tx, workspaceId, userId }, { title: "Cover", okf: `---\nimage: ${file.id}\n---\n- x\n` }),
  );
  if (made.kind !== "created") throw new Error(made.kind);
  expect(await isKept()).toBe(true);
  await transaction(sql, (tx) => removePage({ tx, workspaceId, userId }, made.page.id));

  const args = JSON.stringify({ attachments: [{ handle: `sha256:${file.hash}` }] });
  const { approvalId, callId } = await givenGatedRun(sql, world);
  await sql`insert into votes (approval_id, user_id, say_of, answer, choice)
            values (${approvalId}, ${userId}, ${userId}, 'approve', ${args})`;
  expect(await isKept()).toBe(true);
  await sql`delete from votes`;
  await sql`update approvals set edited_args = ${args}, edited_args_hash = 'h' where id = ${approvalId}`;
  expect(await isKept()).toBe(true);
  await sql`update approvals set edited_args = null, edited_args_hash = null where id = ${approvalId}`;
  await sql`update tool_calls set run_args = ${args}, run_args_hash = 'h' where id = ${callId}`;
  expect(await isKept()).toBe(true);
  await sql`update tool_calls set run_args = null, run_args_hash = null where id = ${callId}`;
  expect(await isKept()).toBe(false);
});

test("of a deletion and the same content coming again, both happen one after the other, and the content is whole", async () => {
  const world = await givenPeople(sql);
  const file = await putNew(world.tokens.operator);
  const answers = await Promise.all([
    remove(world.tokens.operator, file.id),
    put(world.tokens.admin, file.bytes, "name=other.bin"),
    remove(world.tokens.admin, file.id),
  ]);
  expect(answers[1].status).toBe(200);
  expect(new Set([answers[0].status, answers[2].status])).toEqual(new Set([200, 404]));
  expect(await countRows(world)).toEqual({ files: 1, blobs: 1, chunks: 1 });
});

test("a deletion that fails midway leaves file and content", async () => {
  const world = await givenPeople(sql);
  const file = await putNew(world.tokens.operator);
  const failing = transaction(sql, async (tx) => {
    await deleteFile(tx, world.workspaceId, file.id);
    throw new Error("midway");
  });
  await expect(failing).rejects.toThrow("midway");
  expect(await countRows(world)).toEqual({ files: 1, blobs: 1, chunks: 1 });
});

test("what has no room in the quota is refused, told how much is taken, and nothing of it is stored", async () => {
  const world = await givenPeople(sql);
  const space = { body: { quotaBytes: 250 } };
  expect(await send(server, world.tokens.approver, "PUT", "/v1/file-space", space)).toMatchObject({ status: 403 });
  expect(await send(server, world.tokens.admin, "PUT", "/v1/file-space", space)).toMatchObject({
    status: 200,
    body: { fileCount: 0, usedBytes: 0, quotaBytes: 250 },
  });
  const first = await putNew(world.tokens.operator);
  const second = await putNew(world.tokens.operator);
  const third = randomBytes(100);
  const refused = await put(world.tokens.operator, third);
  expect(refused).toMatchObject({ status: 413, body: { code: "quota_exceeded" } });
  expect(refused.body["detail"]).toContain("may store 250 bytes as files, and 200 are taken");

  const unannounced = request(`${server.url}/v1/uploads/${sha256(third)}?name=a`, {
    method: "PUT",
    headers: { authorization: `Bearer ${world.tokens.operator}`, "transfer-encoding": "chunked" },
  });
  const status = await new Promise((answered, failed) => {
    unannounced.on("response", (response) => answered(response.statusCode));
    unannounced.on("error", failed);
    unannounced.end(third);
  });
  expect(status).toBe(413);
  expect(await sql`select from upload_chunks`).toEqual([]);
  expect(await countRows(world)).toEqual({ files: 2, blobs: 2, chunks: 2 });

  // What is there already takes no more room, under whatever name.
  expect((await put(world.tokens.operator, first.bytes, "name=again.bin")).status).toBe(200);
  expect(await send(server, world.tokens.viewer, "GET", "/v1/file-space")).toMatchObject({
    body: { fileCount: 3, usedBytes: 200, quotaBytes: 250 },
  });
  await remove(world.tokens.operator, second.id);
  expect((await put(world.tokens.operator, third)).status).toBe(200);
  await send(server, world.tokens.admin, "PUT", "/v1/file-space", { body: { quotaBytes: null } });
  expect((await put(world.tokens.operator, randomBytes(1_000))).status).toBe(200);
});

test("of two that both would just fit, one does", async () => {
  const world = await givenPeople(sql);
  await send(server, world.tokens.admin, "PUT", "/v1/file-space", { body: { quotaBytes: 150 } });
  const answers = await Promise.all(
    [randomBytes(100), randomBytes(100)].map((bytes) => put(world.tokens.operator, bytes)),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 413]));
  expect(await countRows(world)).toEqual({ files: 1, blobs: 1, chunks: 1 });
});
