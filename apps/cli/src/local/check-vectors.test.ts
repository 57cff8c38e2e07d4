import { embedPages } from "@countersign/kb/embed-pages.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { actOn } from "@countersign/kb/testing/acts.ts";
import { sendJson, startEmbeddingEndpoint } from "@countersign/kb/testing/embedding-endpoint.ts";
import { newWorkspace } from "@countersign/kb/testing/new-workspace.ts";
import { vectorDatabase } from "@countersign/kb/testing/vector-database.ts";
import { ensureExtension } from "@countersign/kb/vector-index.ts";
import { expect, test } from "vitest";
import { checkVectors } from "./check-vectors.ts";

const { sql } = await vectorDatabase();
const endpoint = await startEmbeddingEndpoint();
const environment = { COUNTERSIGN_EMBEDDINGS_URL: endpoint.url, COUNTERSIGN_EMBEDDINGS_MODEL: "words" };

async function look(given: Record<string, string> = environment): Promise<string[]> {
  return (await checkVectors(sql, given)).map(({ state, found }) => `${state} ${found}`);
}

test("doctor says whether vectors are on, whether extension and endpoint are there, and how far the pages are", async () => {
  const me = await newWorkspace(sql);
  const act = actOn(sql);
  expect(await look({})).toEqual(["ok off, since COUNTERSIGN_EMBEDDINGS_URL is not set; a search goes by words"]);
  expect(endpoint.requests).toEqual([]);
  expect(await look({ COUNTERSIGN_EMBEDDINGS_MODEL: "words" })).toEqual([
    "bad COUNTERSIGN_EMBEDDINGS_URL: goes with the other COUNTERSIGN_EMBEDDINGS_ variables",
  ]);
  expect((await look())[0]).toBe("warn the database has no pgvector");
  await ensureExtension(sql);
  await act.page(me, "One", "");
  await embedPages(sql, {
    embedder: createEmbedder({ url: endpoint.url, model: "words" }),
    space: { model: "words", dims: 64 },
  });
  await act.page(me, "Two", "");
  expect(await look()).toEqual([
    expect.stringMatching(/^ok the database has pgvector 0\.\d/),
    "ok the endpoint answers 64 numbers for words",
    "ok 1 of 2 pages have vectors of words",
  ]);
  endpoint.misbehave = (response) => sendJson(response, 401, {});
  await sql`update embedded_pages set problem = 'refused'`;
  expect((await look()).slice(1)).toEqual([
    "warn the endpoint of embeddings answered 401",
    "warn 1 of 2 pages have vectors of words; the endpoint refused the text of 1",
  ]);
});
