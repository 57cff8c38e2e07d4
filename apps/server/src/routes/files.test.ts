import { createHash, randomBytes, randomUUID } from "node:crypto";
import { type ClientRequest, request } from "node:http";
import { transaction } from "@countersign/db/transaction.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { afterAll, expect, test } from "vitest";
import { type Answer, givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const mostFileBytes = 4 * 1024 * 1024;
const server = await startTestServer(url, { mostFileBytes });
afterAll(() => server.stop());

type World = Awaited<ReturnType<typeof givenPeople>>;

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

interface Sent {
  readonly name?: string;
  readonly hash?: string;
  readonly page?: string;
  readonly type?: string;
}

async function put(token: string, bytes: Uint8Array, { name = "a.bin", page, ...sent }: Sent = {}): Promise<Answer> {
  const query = new URLSearchParams({ name, ...(page === undefined ? {} : { page }) });
  const response = await fetch(`${server.url}/v1/uploads/${sent.hash ?? sha256(bytes)}?${query.toString()}`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${token}`,
      ...(sent.type === undefined ? {} : { "content-type": sent.type }),
    },
    body: Buffer.from(bytes),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
}

async function download(token: string, id: unknown): Promise<{ response: Response; bytes: Buffer }> {
  const response = await fetch(`${server.url}/v1/files/${String(id)}/content`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** An upload that does not say how long it is, for its caller to send and end. */
function startUpload(token: string, bytes: Uint8Array): ClientRequest {
  return request(`${server.url}/v1/uploads/${sha256(bytes)}?name=a`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "transfer-encoding": "chunked" },
  });
}

async function countBlobs({ workspaceId }: World): Promise<number> {
  return (await sql`select from blobs where workspace_id = ${workspaceId}`).length;
}

async function pageOf({ workspaceId, operator: userId }: World): Promise<string> {
  const made = await transaction(sql, (tx) =>
    createPage({ tx, workspaceId, userId }, { title: `Page ${randomUUID()}` }),
  );
  return made.kind === "refused" ? "" : made.page.id;
}

test("a file larger than any other body comes back byte for byte, and the same upload again is the same file", async () => {
  const world = await givenPeople(sql);
  const bytes = randomBytes(3 * 1024 * 1024 + 11);
  const stored = await put(world.tokens.operator, bytes, { name: "Übung 1.bin", type: "Image/PNG" });
  expect(stored).toMatchObject({
    status: 200,
    body: {
      handle: `sha256:${sha256(bytes)}`,
      name: "Übung 1.bin",
      mediaType: "image/png",
      size: bytes.length,
      pageId: null,
      createdBy: { name: "Olga Operator" },
    },
  });
  const { response, bytes: back } = await download(world.tokens.viewer, stored.body["id"]);
  expect(response.status).toBe(200);
  expect(back.equals(bytes)).toBe(true);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-length": String(bytes.length),
    "content-type": "image/png",
    "content-disposition": `attachment; filename="_bung 1.bin"; filename*=UTF-8''%C3%9Cbung%201.bin`,
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
    "repr-digest": `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`,
  });
  const again = await put(world.tokens.operator, bytes, { name: "Übung 1.bin", type: "image/png" });
  expect(again.body["id"]).toBe(stored.body["id"]);
  const others = await put(world.tokens.admin, bytes, { name: "copy.bin" });
  expect(others.body["id"]).not.toBe(stored.body["id"]);
  expect(await countBlobs(world)).toBe(1);
});

test("an empty file is a file", async () => {
  const { tokens } = await givenPeople(sql);
  const stored = await put(tokens.operator, new Uint8Array());
  expect(stored).toMatchObject({ status: 200, body: { size: 0, mediaType: "application/octet-stream" } });
  const { response, bytes } = await download(tokens.viewer, stored.body["id"]);
  expect([response.status, bytes.length]).toEqual([200, 0]);
});

test("what is not what it was announced as is refused, and nothing of it is stored", async () => {
  const world = await givenPeople(sql);
  const bytes = Buffer.from("what I send");
  const hash = sha256(Buffer.from("what somebody else has"));
  expect(await put(world.tokens.operator, bytes, { hash })).toMatchObject({
    status: 422,
    body: { code: "content_mismatch", detail: expect.stringContaining(sha256(bytes)) as string },
  });
  for (const odd of ["ABC", hash.toUpperCase(), `${hash}0`]) {
    expect(await put(world.tokens.operator, bytes, { hash: odd })).toMatchObject({ status: 422 });
  }
  expect(await countBlobs(world)).toBe(0);
});

test("a file that is too large is refused from what it says of its length, and otherwise from where it goes over", async () => {
  const world = await givenPeople(sql);
  const bytes = Buffer.alloc(mostFileBytes + 1);
  expect(await put(world.tokens.operator, bytes)).toMatchObject({ status: 413, body: { code: "too_large" } });

  const sending = startUpload(world.tokens.operator, bytes);
  const status = await new Promise<number>((answered, failed) => {
    sending.on("response", (response) => answered(response.statusCode ?? 0));
    sending.on("error", failed);
    sending.write(bytes.subarray(0, 1_000_000));
    sending.end(bytes.subarray(1_000_000));
  });
  expect(status).toBe(413);
  expect(await countBlobs(world)).toBe(0);
  expect(await sql`select from upload_chunks`).toEqual([]);
});

test("no other route takes a large body, and a client that leaves in the middle leaves nothing", async () => {
  const world = await givenPeople(sql);
  const token = world.tokens.operator;
  const large = { title: "x".repeat(1024 * 1024) };
  expect(await send(server, token, "POST", "/v1/tasks", { body: large })).toMatchObject({ status: 413 });
  expect(await send(server, token, "POST", "/v1/uploads/x", { body: large })).toMatchObject({ status: 413 });

  const bytes = randomBytes(2 * 1024 * 1024);
  const sending = startUpload(token, bytes);
  sending.on("error", () => undefined);
  sending.write(bytes);
  const staged = async (): Promise<boolean> => (await sql`select from upload_chunks limit 1`).length > 0;
  await expect.poll(staged, { timeout: 45_000 }).toBe(true);
  sending.destroy();
  await expect.poll(staged, { timeout: 45_000 }).toBe(false);
  expect(await countBlobs(world)).toBe(0);
});

test("an upload that is refused and goes on is cut off, and the server lives on", async () => {
  const world = await givenPeople(sql);
  const piece = Buffer.alloc(64 * 1024);
  for (const token of [world.tokens.operator, world.tokens.viewer]) {
    const sending = startUpload(token, piece);
    let sent = 0;
    const ended = new Promise<void>((resolve) => {
      sending.on("error", () => resolve());
      sending.on("close", () => resolve());
    });
    const goOn = (): void => {
      if (sending.destroyed) return;
      sending.write(piece, (error) => {
        // What could not be written any more was not sent.
        if (error == null) sent += piece.length;
        setImmediate(goOn);
      });
    };
    goOn();
    await ended;
    expect(sent).toBeLessThan(64 * mostFileBytes);
  }
  expect(await put(world.tokens.operator, Buffer.from("x"))).toMatchObject({ status: 200 });
});

test.each(["", "a/b", "..", "a\\b", "a\nb", "x".repeat(201)])("a file called %j is refused", async (name) => {
  const { tokens } = await givenPeople(sql);
  expect(await put(tokens.operator, Buffer.from("x"), { name })).toMatchObject({
    status: 422,
    body: { code: "invalid_request" },
  });
});

test("a file whose content was changed or lost in the store is not served as if it were whole", async () => {
  const world = await givenPeople(sql);
  const small = await put(world.tokens.operator, Buffer.from("small"), { name: "small" });
  const bytes = randomBytes(2 * 1024 * 1024 + 5);
  const large = await put(world.tokens.operator, bytes, { name: "large" });
  await sql`update blob_chunks set bytes = 'smell'::bytea where workspace_id = ${world.workspaceId} and octet_length(bytes) = 5 and n = 0`;
  await sql`update blob_chunks set bytes = 'smell'::bytea where workspace_id = ${world.workspaceId} and n = 2`;
  expect((await download(world.tokens.viewer, small.body["id"])).response.status).toBe(500);
  await expect(download(world.tokens.viewer, large.body["id"])).rejects.toThrow(/terminated|fetch failed/);
});

test("the files of a page are seen by whoever sees the page, and listed with it alone", async () => {
  const world = await givenPeople(sql);
  const page = await pageOf(world);
  const { tokens, viewer, workspaceId, admin } = world;
  const onPage = await put(tokens.operator, Buffer.from("a"), { name: "on page", page });
  await put(tokens.operator, Buffer.from("a"), { name: "loose" });
  const namesOf = async (path: string): Promise<unknown> =>
    ((await send(server, tokens.viewer, "GET", path)).body["files"] as { name: string }[] | undefined)?.map(
      ({ name }) => name,
    );
  expect(await namesOf("/v1/files")).toEqual(["loose"]);
  expect(await namesOf(`/v1/files?page=${page}`)).toEqual(["on page"]);

  await sql`insert into access_rules (id, workspace_id, page_id, user_id, level, created_by)
            values (${randomUUID()}, ${workspaceId}, ${page}, ${viewer}, 'none', ${admin})`;
  const id = String(onPage.body["id"]);
  for (const path of [`/v1/files?page=${page}`, `/v1/files/${id}`, `/v1/files/${id}/content`]) {
    expect(await send(server, tokens.viewer, "GET", path)).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect(await send(server, tokens.operator, "GET", path)).toMatchObject({ status: 200 });
  }
  const nowhere = await put(tokens.operator, Buffer.from("a"), { page: randomUUID() });
  expect(nowhere).toMatchObject({ status: 404 });
});

test("another workspace's files are not there, and knowing a hash gives nobody its content", async () => {
  const [mine, other] = [await givenPeople(sql), await givenPeople(sql)];
  const stored = await put(mine.tokens.operator, Buffer.from("secret"));
  const id = String(stored.body["id"]);
  for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
    expect(await send(server, other.tokens.admin, "GET", path)).toMatchObject({ status: 404 });
  }
  const claimed = await put(other.tokens.operator, Buffer.from("guess"), { hash: sha256(Buffer.from("secret")) });
  expect(claimed).toMatchObject({ status: 422, body: { code: "content_mismatch" } });
  const claimedHere = await put(mine.tokens.operator, Buffer.from("guess"), { hash: sha256(Buffer.from("secret")) });
  expect(claimedHere).toMatchObject({ status: 422, body: { code: "content_mismatch" } });
  expect((await send(server, other.tokens.admin, "GET", "/v1/files")).body["files"]).toEqual([]);
});

test("a HEAD tells of a file without its content", async () => {
  const { tokens } = await givenPeople(sql);
  const stored = await put(tokens.operator, Buffer.from("x"));
  const head = await send(server, tokens.viewer, "HEAD", `/v1/files/${String(stored.body["id"])}/content`);
  expect(head).toMatchObject({ status: 200, body: { text: "" } });
  expect(head.headers.get("content-length")).toBe("1");
});
