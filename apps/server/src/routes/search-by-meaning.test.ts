import { embedPages } from "@countersign/kb/embed-pages.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { createQuestions } from "@countersign/kb/questions.ts";
import { startEmbeddingEndpoint, sendJson } from "@countersign/kb/testing/embedding-endpoint.ts";
import { vectorDatabase } from "@countersign/kb/testing/vector-database.ts";
import { ensureExtension, prepareIndex } from "@countersign/kb/vector-index.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await vectorDatabase();
const endpoint = await startEmbeddingEndpoint();
const embedder = createEmbedder({ url: endpoint.url, model: "words" });
const questions = createQuestions(embedder, { timeoutMs: 15_000, restMs: 0 });
const server = await startTestServer(url, { questions, connections: 1 });
afterAll(() => server.stop());

test("GET /v1/search finds by meaning, shows what, and says why where it could not", async () => {
  const { tokens } = await givenPeople(sql);
  const as = (method: string, path: string, body?: unknown) =>
    send(server, tokens.operator, method, path, body === undefined ? {} : { body });
  await as("POST", "/v1/pages", { title: "Garage", okf: "- the automobile stands behind the house\n" });
  await ensureExtension(sql);
  await prepareIndex(sql, endpoint.dims);
  expect(await embedPages(sql, { embedder, space: { model: "words", dims: endpoint.dims } })).toMatchObject({
    pages: 1,
  });

  const excerpt = "the automobile stands behind the house";
  expect((await as("GET", "/v1/search?q=vehicle")).body).toEqual({
    hits: [expect.objectContaining({ pageTitle: "Garage", kind: "page", excerpt, lists: ["meaning"] })],
    leftOut: [],
  });
  endpoint.misbehave = (response) => sendJson(response, 503, {});
  expect((await as("GET", "/v1/search?q=vehicle")).body).toEqual({
    hits: [],
    leftOut: [{ list: "meaning", reason: "the endpoint of embeddings answered 503" }],
  });
});
