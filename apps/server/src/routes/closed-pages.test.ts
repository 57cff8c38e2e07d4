import { createHash, randomUUID } from "node:crypto";
import { transaction } from "@countersign/db/transaction.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { lockCapture, settleCapture } from "@countersign/ops/captures.ts";
import { proposeMemory } from "@countersign/ops/memory.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type World = Awaited<ReturnType<typeof givenPeople>>;
type Body = Record<string, unknown>;

async function as(
  { tokens }: World,
  who: keyof World["tokens"],
  method: string,
  path: string,
  body?: Body,
): Promise<{ status: number; body: Body }> {
  return await send(server, tokens[who], method, path, body === undefined ? {} : { body });
}

/** Closes a place to everybody but the administrator. */
async function close(world: World, place: Body, level = "none"): Promise<void> {
  for (const rule of [
    { ...place, level },
    { ...place, userId: world.admin, level: "write" },
  ]) {
    expect((await as(world, "admin", "PUT", "/v1/access-rules", rule)).status).toBe(200);
  }
}

async function pageIn(world: World, dir: string, title = "Hidden Plan"): Promise<string> {
  const made = await as(world, "admin", "POST", "/v1/pages", { title, dir, okf: "- a\n" });
  expect(made.status).toBe(200);
  return String(made.body["pageId"]);
}

async function upload(world: World, who: keyof World["tokens"], page: string): Promise<{ status: number; body: Body }> {
  const content = Buffer.from(randomUUID());
  const hash = createHash("sha256").update(content).digest("hex");
  const answer = await fetch(`${server.url}/v1/uploads/${hash}?name=a.txt&page=${page}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${world.tokens[who]}`, "content-type": "text/plain" },
    body: content,
  });
  return { status: answer.status, body: (await answer.json()) as Body };
}

test("a file of a closed page is missing in the very words of one that never was", async () => {
  const world = await givenPeople(sql);
  const page = await pageIn(world, "vault");
  const file = await upload(world, "admin", page);
  await close(world, { dir: "vault" });
  const never = randomUUID();
  for (const tail of ["", "/content"]) {
    const closed = await as(world, "operator", "GET", `/v1/files/${String(file.body["id"])}${tail}`);
    const missing = await as(world, "operator", "GET", `/v1/files/${never}${tail}`);
    expect(closed.status).toBe(404);
    expect(closed.body["detail"]).toBe(String(missing.body["detail"]).replace(never, String(file.body["id"])));
  }
});

test("whoever may only read a page puts no file on it", async () => {
  const world = await givenPeople(sql);
  const page = await pageIn(world, "shown");
  await close(world, { dir: "shown" }, "read");
  expect(await upload(world, "operator", page)).toMatchObject({ status: 403 });
  expect(await upload(world, "admin", page)).toMatchObject({ status: 200 });
  const files = await as(world, "operator", "GET", `/v1/files?page=${page}`);
  expect(files.body["files"]).toHaveLength(1);
});

test("a capture is seen by whoever sees its page, and before there is one by the rules of their directory", async () => {
  const world = await givenPeople(sql);
  await close(world, { dir: "captures" });
  const text = { url: "https://example.org/merger", title: "A merger", markdown: "- who buys whom\n" };
  const made = await as(world, "admin", "POST", "/v1/captures", text);
  const id = String(made.body["id"]);
  const seenBy = async (who: keyof World["tokens"]) => [
    (await as(world, who, "GET", `/v1/captures/${id}`)).status,
    ((await as(world, who, "GET", "/v1/captures")).body["captures"] as unknown[]).length,
  ];
  expect(await seenBy("admin")).toEqual([200, 1]);
  expect(await seenBy("viewer")).toEqual([404, 0]);

  const pageId = await pageIn(world, "captures");
  await transaction(sql, async (tx) => {
    await lockCapture(tx, id);
    await settleCapture(tx, id, { pageId, revision: 1 });
  });
  expect(await seenBy("viewer")).toEqual([404, 0]);

  // The same text once more, by somebody to whom the first is closed: a capture of that person's own, and again that one.
  const again = await as(world, "operator", "POST", "/v1/captures", text);
  expect(again).toMatchObject({ status: 200, body: { status: "pending", pageId: null, revision: null } });
  expect(again.body["id"]).not.toBe(id);
  expect((await as(world, "operator", "POST", "/v1/captures", text)).body["id"]).toBe(again.body["id"]);
  const own = await transaction(sql, (tx) => lockCapture(tx, String(again.body["id"])));
  expect(own).toMatchObject({ earlier: undefined, isOvertaken: false });

  await as(world, "admin", "PUT", "/v1/access-rules", { pageId, level: "read" });
  expect(await seenBy("viewer")).toEqual([200, 1]);
});

test("a picture of a capture is a file that the person sees", async () => {
  const world = await givenPeople(sql);
  const file = await upload(world, "admin", await pageIn(world, "vault"));
  await close(world, { dir: "vault" });
  const body = { url: "https://example.org", title: "A", markdown: "- a\n", screenshotFileId: file.body["id"] };
  expect((await as(world, "operator", "POST", "/v1/captures", body)).status).toBe(422);
  expect((await as(world, "admin", "POST", "/v1/captures", body)).status).toBe(200);
});

test("what is proposed for a page that is closed is seen by those who see the page", async () => {
  const world = await givenPeople(sql);
  const { workspaceId } = world;
  await proposeMemory(sql, { workspaceId, kind: "salary", text: "Ann earns 1", proposedBy: "run:1" });
  const listed = async (who: keyof World["tokens"]) =>
    ((await as(world, who, "GET", "/v1/memory")).body["proposals"] as { id: string }[]).map(({ id }) => id);
  const [id = ""] = await listed("viewer");
  expect(id).not.toBe("");
  const pageId = await pageIn(world, "memory", "Memory: salary");
  await close(world, { pageId });
  expect(await listed("viewer")).toEqual([]);
  expect((await as(world, "operator", "POST", `/v1/memory/${id}/dismiss`)).status).toBe(404);
  expect(await listed("admin")).toEqual([id]);
  await proposeMemory(sql, { workspaceId, kind: "other", text: "Bob has a cat", proposedBy: "run:1" });
  expect(await listed("viewer")).toHaveLength(1);
  await close(world, { dir: "Memory" });
  expect(await listed("viewer")).toEqual([]);
  expect(await listed("admin")).toHaveLength(2);
});
