import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { until } from "@countersign/engine/testing/driver.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { actOn, type Person } from "@countersign/kb/testing/acts.ts";
import { sendJson, startEmbeddingEndpoint } from "@countersign/kb/testing/embedding-endpoint.ts";
import { newWorkspace } from "@countersign/kb/testing/new-workspace.ts";
import { vectorDatabase } from "@countersign/kb/testing/vector-database.ts";
import { pino } from "pino";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { keepVectors, waitAfter } from "./keep-vectors.ts";

const { sql, url } = await vectorDatabase();
const plain = await vectorDatabase({ hasVectors: false });
const act = actOn(sql);
const endpoint = await startEmbeddingEndpoint();
const settings = { url: endpoint.url, model: "words" };

beforeEach(() => {
  endpoint.requests.length = 0;
  endpoint.misbehave = undefined;
});
afterEach(async () => {
  await sql`delete from embedded_pages`;
  await sql`update pages set removed_at = now()`;
});

/** Works until the test ends; answers what the log was told. */
function work(over: Partial<Parameters<typeof keepVectors>[0]> = {}) {
  const lines: { level: number; msg: string; reason?: string; advice?: string }[] = [];
  const log = pino(
    { level: "info" },
    { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) },
  );
  const keeping = keepVectors({ sql, embedder: createEmbedder(settings), log, lookMs: 10, firstWaitMs: 10, ...over });
  onTestFinished(() => keeping.stop());
  return { lines, keeping };
}

async function embeddedOf({ workspaceId }: Person): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(distinct page_id) from page_vectors where workspace_id = ${workspaceId}`;
  return row?.count ?? 0;
}

async function workspaceOf(...titles: string[]): Promise<Person> {
  const me = await newWorkspace(sql);
  for (const title of titles) await act.page(me, title, "");
  return me;
}

test("pages get their vectors soon, a page that is made later too, and each is sent once by however many workers", async () => {
  const me = await workspaceOf("One", "Two");
  work();
  const { keeping } = work();
  await until(async () => (await embeddedOf(me)) === 2);
  await act.page(me, "Three", "");
  await until(async () => (await embeddedOf(me)) === 3);
  await keeping.stop();
  const sent = endpoint.requests.flat().filter((text) => text !== "countersign");
  expect(sent.toSorted()).toEqual(["One", "Three", "Two"]);
});

test("an endpoint that fails is left alone, as long as it asks for; the log says it once, and when it is over", async () => {
  const me = await workspaceOf("One");
  endpoint.misbehave = (response) => sendJson(response, 503, {});
  const { lines, keeping } = work();
  await until(() => Promise.resolve(endpoint.requests.length >= 3));
  endpoint.misbehave = undefined;
  await until(async () => (await embeddedOf(me)) === 1);
  await until(() => Promise.resolve(lines.length === 2));
  expect(lines.map(({ msg, reason }) => [msg, reason])).toEqual([
    ["pages get no vectors for now", "the endpoint of embeddings answered 503"],
    ["pages get vectors again", undefined],
  ]);
  endpoint.requests.length = 0;
  endpoint.misbehave = (response) => {
    response.setHeader("retry-after", "3600");
    sendJson(response, 429, {});
  };
  await act.page(me, "Two", "");
  await until(() => Promise.resolve(lines.length === 3));
  await keeping.stop();
  expect(endpoint.requests).toEqual([["Two"]]);
});

test("the wait doubles, is no shorter than what was asked for, and no longer than five minutes", () => {
  expect([1, 2, 3, 20].map((failures) => waitAfter(failures, 2_000, undefined))).toEqual([
    2_000, 4_000, 8_000, 300_000,
  ]);
  expect(waitAfter(1, 2_000, 30_000)).toBe(30_000);
  expect(waitAfter(6, 2_000, 30_000)).toBe(64_000);
  expect(waitAfter(1, 2_000, 3_600_000)).toBe(300_000);
});

test("a model whose vectors have other dimensions than before gives all pages new ones, and an index for them", async () => {
  const me = await workspaceOf("One", "Two");
  const first = work();
  await until(async () => (await embeddedOf(me)) === 2);
  endpoint.dims = 32;
  onTestFinished(() => {
    endpoint.dims = 64;
  });
  await act.page(me, "Three", "");
  const dims = async () => {
    const rows = await sql<{ dims: number }[]>`select distinct dims from page_vectors`;
    return rows.map((row) => row.dims);
  };
  await until(async () => (await embeddedOf(me)) === 3 && (await dims()).join() === "32");
  await first.keeping.stop();
  const [index] = await sql`select 1 from pg_class where relname = 'page_vectors_near_32'`;
  expect(index).toBeDefined();
});

test("without the extension nothing is sent, and the log says what to do", async () => {
  const me = await newWorkspace(plain.sql);
  await actOn(plain.sql).page(me, "One", "");
  const { lines } = work({ sql: plain.sql });
  await until(() => Promise.resolve(lines.length > 0));
  expect(lines).toMatchObject([
    { reason: "the database has no pgvector", advice: expect.stringContaining("create extension vector") },
  ]);
  expect(endpoint.requests).toEqual([]);
  expect(await plain.sql`select 1 from embedded_pages`).toEqual([]);
});

test("a worker that is killed in the middle of a request leaves its pages, and another goes on when its claim is over", async () => {
  const me = await workspaceOf("One", "Two");
  const asked = Promise.withResolvers<void>();
  endpoint.misbehave = (response, texts) => {
    if (texts.includes("One")) asked.resolve();
    else sendJson(response, 200, { data: texts.map((_, index) => ({ index, embedding: Array(64).fill(1) })) });
  };
  const program = join(import.meta.dirname, "testing/embed-until-killed.ts");
  const victim = spawn(process.execPath, [program, url, endpoint.url], { stdio: ["ignore", "inherit", "inherit"] });
  const ended = once(victim, "exit");
  await asked.promise;
  victim.kill("SIGKILL");
  await ended;
  endpoint.misbehave = undefined;
  const claims = await sql<{ isHeld: boolean }[]>`select due_at > now() as "isHeld" from embedded_pages`;
  expect(claims.map(({ isHeld }) => isHeld)).toEqual([true, true]);
  expect(await embeddedOf(me)).toBe(0);
  await sql`update embedded_pages set due_at = now()`;
  work();
  await until(async () => (await embeddedOf(me)) === 2);
});

test("a worker that is stopped in the middle of a request gives its pages back", async () => {
  await workspaceOf("One", "Two");
  const asked = Promise.withResolvers<void>();
  endpoint.misbehave = (response, texts) => {
    if (texts.includes("One")) asked.resolve();
    else sendJson(response, 200, { data: texts.map((_, index) => ({ index, embedding: Array(64).fill(1) })) });
  };
  const { keeping, lines } = work();
  await asked.promise;
  await keeping.stop();
  const claims = await sql<{ isDue: boolean; attempts: number }[]>`
    select due_at <= now() as "isDue", attempts from embedded_pages`;
  expect(claims).toEqual([
    { isDue: true, attempts: 0 },
    { isDue: true, attempts: 0 },
  ]);
  expect(lines).toEqual([]);
});
