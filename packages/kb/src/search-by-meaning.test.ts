import { transaction } from "@countersign/db/transaction.ts";
import { beforeEach, describe, expect, test } from "vitest";
import type { Space } from "./due-pages.ts";
import { embedPages, type EmbedRound } from "./embed-pages.ts";
import { createEmbedder } from "./embeddings.ts";
import { findByVector } from "./find-by-vector.ts";
import { createQuestions, type Questions } from "./questions.ts";
import { removePage } from "./remove-node.ts";
import {
  type Hit,
  searchByAll,
  type Searcher,
  searchPages,
  type SearchQuery,
  type SearchResult,
} from "./search-pages.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { embed, sendJson, startEmbeddingEndpoint } from "./testing/embedding-endpoint.ts";
import { newUser, newWorkspace } from "./testing/new-workspace.ts";
import { vectorDatabase } from "./testing/vector-database.ts";
import { ensureExtension, judgeExtension, prepareIndex } from "./vector-index.ts";

const { sql } = await vectorDatabase();
const plain = await vectorDatabase({ hasVectors: false });
const act = actOn(sql);
const endpoint = await startEmbeddingEndpoint();
const settings = { url: endpoint.url, model: "words-64", key: "sesame-open" };
const embedder = createEmbedder(settings);
const space: Space = { model: "words-64", dims: 64 };
await ensureExtension(sql);
await prepareIndex(sql, 64);

beforeEach(async () => {
  endpoint.misbehave = undefined;
  endpoint.dims = 64;
  await settle();
  endpoint.requests.length = 0;
});

/** Rounds until nothing is due. */
async function settle(by = embedder, at = space): Promise<EmbedRound> {
  for (;;) {
    const round = await embedPages(sql, { embedder: by, space: at });
    if (round.kind !== "embedded") return round;
  }
}

function asksOf(over: Partial<typeof settings> = {}, options = {}): Questions {
  return createQuestions(createEmbedder({ ...settings, ...over }), { timeoutMs: 15_000, ...options });
}

async function search(me: Person, query: SearchQuery, questions?: Questions, db = sql) {
  const result: SearchResult = await searchByAll(
    { ...me, questions, read: (body) => transaction(db, body, { isReadOnly: true }) },
    query,
  );
  if (result.kind !== "found") throw new Error(`expected hits, got ${JSON.stringify(result)}`);
  return result;
}

const titlesOf = (hits: readonly Hit[]) => hits.map(({ pageTitle }) => pageTitle);

/** Three pages, one of which is about cars without that word. */
async function garage(): Promise<Person> {
  const me = await newWorkspace(sql);
  await act.page(me, "Garage", "- The automobile stands behind the house\n");
  await act.page(me, "Kitchen", "- Bread is baked on Fridays\n");
  await act.page(me, "Garden", "- Compost is turned in spring\n");
  await settle();
  return me;
}

describe("a search with vectors", () => {
  test("finds a page none of whose words it shares, shows where it begins, and says which list found it", async () => {
    const me = await garage();
    const { hits, leftOut } = await search(me, { q: "vehicle" }, asksOf());
    expect(hits).toEqual([
      expect.objectContaining({
        kind: "page",
        pageTitle: "Garage",
        nodeId: null,
        excerpt: "The automobile stands behind the house",
        lists: ["meaning"],
      }),
    ]);
    expect(leftOut).toEqual([]);
    expect((await search(me, { q: "vehicle" })).hits).toEqual([]);
  });

  test("puts a page first that is on several lists, and names them all", async () => {
    const me = await garage();
    const { hits } = await search(me, { q: "garage automobile" }, asksOf());
    const page = hits.find(({ kind, pageTitle }) => kind === "page" && pageTitle === "Garage");
    expect(page?.lists).toContain("meaning");
    const named = await search(me, { q: "Garage" }, asksOf());
    expect(named.hits[0]).toMatchObject({ pageTitle: "Garage", lists: ["name", "meaning"] });
    expect(named.hits[0]?.excerpt).toContain("automobile");
  });

  test("asks the endpoint once, with the key and with nothing but the question", async () => {
    const me = await garage();
    endpoint.requests.length = 0;
    await search(me, { q: '"vehicle"' }, asksOf());
    expect(endpoint.requests).toEqual([["vehicle"]]);
    expect(endpoint.authorization).toBe("Bearer sesame-open");
  });

  test("of nodes alone asks nothing, and neither does one that is refused", async () => {
    const me = await garage();
    endpoint.requests.length = 0;
    expect((await search(me, { q: "vehicle", kinds: ["bullet"] }, asksOf())).leftOut).toEqual([]);
    await expect(search(me, { q: " " }, asksOf())).rejects.toThrow("refused");
    expect(endpoint.requests).toEqual([]);
  });

  test("shows nobody a page of a directory that is closed to them, though it is the nearest", async () => {
    const me = await newWorkspace(sql);
    const ann = await newUser(sql, me.workspaceId);
    const page = await act.page(me, "Pay", "- remuneration of everybody\n", "people");
    await act.page(me, "Other", "- the salary of nobody\n");
    await settle();
    await sql`
      insert into access_rules (id, workspace_id, dir, user_id, level, created_by)
      values (gen_random_uuid(), ${me.workspaceId}, 'people', null, 'none', ${me.userId}),
             (gen_random_uuid(), ${me.workspaceId}, 'people', ${ann}, 'read', ${me.userId})`;
    expect(titlesOf((await search(me, { q: "wage" }, asksOf())).hits)).toEqual(["Other"]);
    expect(titlesOf((await search({ ...me, userId: ann }, { q: "wage" }, asksOf())).hits)).toContain("Pay");
    await sql`
      insert into access_rules (id, workspace_id, page_id, user_id, level, created_by)
      values (gen_random_uuid(), ${me.workspaceId}, ${page.id}, ${ann}, 'none', ${me.userId})`;
    expect(titlesOf((await search({ ...me, userId: ann }, { q: "wage" }, asksOf())).hits)).toEqual(["Other"]);
  });

  test("finds pages of its own workspace only", async () => {
    await garage();
    const other = await newWorkspace(sql);
    await act.page(other, "Bread", "- flour and water\n");
    await settle();
    expect((await search(other, { q: "vehicle" }, asksOf())).hits).toEqual([]);
  });

  test("of many pages goes by the index, which goes on past those that are closed", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Open", "- one vehicle among many\n");
    await act.page(me, "Closed", "- vehicle\n", "closed");
    await settle();
    await sql`drop index page_vectors_near_64`;
    // More than an index looks at in one go, each nearer than what is open.
    await sql`
      insert into page_vectors (page_id, part, workspace_id, model, dims, text_hash, embedding)
      select v.page_id, n, v.workspace_id, v.model, v.dims, n::text,
             array(select one + (0 * n + random() * 0.1)::real from unnest(v.embedding) one)
        from page_vectors v
        join pages p on p.id = v.page_id
        join generate_series(1, 300) n on n <= case p.title when 'Closed' then 300 else 20 end
       where v.workspace_id = ${me.workspaceId}`;
    await sql`
      insert into access_rules (id, workspace_id, dir, user_id, level, created_by)
      values (gen_random_uuid(), ${me.workspaceId}, 'closed', null, 'none', ${me.userId})`;
    const near = (mostCompared: number) =>
      transaction(sql, async (tx) => {
        // So few rows are cheaper to sort.
        await tx`set local enable_sort = off`;
        return await findByVector({ tx, ...me }, embed("car", 64), { model: "words-64", mostCompared });
      });
    const open = { kind: "found", pages: [{ pageTitle: "Open" }] };
    expect(await near(10)).toEqual({ kind: "left_out", reason: "the index of the vectors is not made yet" });
    expect(await near(100), "who sees few of many needs no index").toMatchObject(open);
    await prepareIndex(sql, 64);
    expect(await near(10)).toMatchObject(open);
    await sql`delete from page_vectors where workspace_id = ${me.workspaceId}`;
  });

  test("of a reader who sees no page that has vectors finds none, and leaves nothing out", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Closed", "- vehicle\n", "closed");
    await settle();
    await sql`
      insert into access_rules (id, workspace_id, dir, user_id, level, created_by)
      values (gen_random_uuid(), ${me.workspaceId}, 'closed', null, 'none', ${me.userId})`;
    expect(await search(me, { q: "car" }, asksOf())).toEqual({ kind: "found", hits: [], leftOut: [] });
  });
});

describe("where vectors are not to be had, the other lists answer and the result says why:", () => {
  const leftOut = (reason: string) => [{ list: "meaning", reason }];

  test("the endpoint is down", async () => {
    const me = await garage();
    const asks = asksOf({ url: "http://127.0.0.1:9/v1/embeddings" });
    const found = await search(me, { q: "automobile" }, asks);
    expect(titlesOf(found.hits)).toEqual(["Garage"]);
    expect(found.leftOut).toEqual(leftOut("the endpoint of embeddings cannot be reached"));
  });

  test("it is slow; and then nobody waits for it until it has rested", async () => {
    const me = await garage();
    endpoint.requests.length = 0;
    endpoint.misbehave = () => undefined;
    const asks = asksOf({}, { timeoutMs: 50, restMs: 3_600_000 });
    const why = leftOut("the endpoint of embeddings did not answer within 50 ms");
    expect(await search(me, { q: "bread" }, asks)).toMatchObject({ hits: [{ pageTitle: "Kitchen" }], leftOut: why });
    endpoint.misbehave = undefined;
    expect(await search(me, { q: "bread" }, asks)).toMatchObject({ hits: [{ pageTitle: "Kitchen" }], leftOut: why });
    expect(endpoint.requests).toHaveLength(1);
    const eager = asksOf({}, { timeoutMs: 15_000, restMs: 0 });
    endpoint.misbehave = (response) => sendJson(response, 500, {});
    expect((await search(me, { q: "bread" }, eager)).leftOut).toEqual(
      leftOut("the endpoint of embeddings answered 500"),
    );
    endpoint.misbehave = undefined;
    expect((await search(me, { q: "bread" }, eager)).leftOut).toEqual([]);
  });

  test.each([
    [429, "answered 429"],
    [401, "answered 401"],
    [307, "cannot be reached"],
  ])("it answers %i", async (status, told) => {
    const me = await garage();
    endpoint.misbehave = (response) => {
      response.setHeader("location", endpoint.url);
      sendJson(response, status, {});
    };
    const found = await search(me, { q: "bread" }, asksOf());
    expect(titlesOf(found.hits)).toEqual(["Kitchen"]);
    expect(found.leftOut).toEqual(leftOut(`the endpoint of embeddings ${told}`));
  });

  test.each([
    ["no JSON", "<html>", "in a form that is not that of embeddings"],
    ["another JSON", { data: [{ embedding: "AAAA" }] }, "in a form that is not that of embeddings"],
    ["nothing", { data: [] }, "0 vectors for 1 texts"],
    ["zeroes", { data: [{ index: 0, embedding: [0, 0] }] }, "a vector that points nowhere"],
    ["another text's", { data: [{ index: 1, embedding: [1, 0] }] }, "without a vector for each text"],
    [
      "far too many numbers",
      { data: [{ embedding: Array(4_001).fill(1) }] },
      "vectors of 4001 numbers; at most 4000 can be searched",
    ],
  ])("it answers %s", async (_title, body, told) => {
    const me = await garage();
    endpoint.misbehave = (response) => (typeof body === "string" ? response.end(body) : sendJson(response, 200, body));
    const found = await search(me, { q: "bread" }, asksOf());
    expect(titlesOf(found.hits)).toEqual(["Kitchen"]);
    expect(found.leftOut).toEqual(leftOut(`the endpoint of embeddings answered ${told}`));
  });

  test("the model is another, or gives other dimensions, until the pages have its vectors", async () => {
    const me = await garage();
    const changed = (model: string, dims: number) =>
      leftOut(
        `the pages have vectors of the model words-64 with 64 numbers; those of ${model} with ${dims} are not made yet`,
      );
    expect((await search(me, { q: "vehicle" }, asksOf({ model: "other" }))).leftOut).toEqual(changed("other", 64));
    endpoint.dims = 32;
    const shorter = await search(me, { q: "automobile" }, asksOf());
    expect(shorter.leftOut).toEqual(changed("words-64", 32));
    expect(titlesOf(shorter.hits)).toEqual(["Garage"]);
    await prepareIndex(sql, 32);
    await settle(embedder, { model: "words-64", dims: 32 });
    expect(titlesOf((await search(me, { q: "vehicle" }, asksOf())).hits)).toEqual(["Garage"]);
  });

  test("the database has no pgvector", async () => {
    const me = await newWorkspace(plain.sql);
    await actOn(plain.sql).page(me, "Kitchen", "- bread\n");
    const found = await search(me, { q: "bread" }, asksOf(), plain.sql);
    expect(titlesOf(found.hits)).toEqual(["Kitchen"]);
    expect(found.leftOut).toEqual(leftOut("the database has no pgvector"));
    expect(await search(me, { q: "bread" }, undefined, plain.sql)).toEqual({ ...found, leftOut: [] });
    expect(await ensureExtension(plain.sql)).toMatchObject({ kind: "missing", reason: "the database has no pgvector" });
  });

  test.each([
    [{ version: "0.7.4", isReachable: true }, "the database's pgvector is 0.7.4, and 0.8 or newer is needed"],
    [{ version: "0.8.0", isReachable: false }, "the database's pgvector is in a schema that is not on the search path"],
  ])("the database has %j", (row, reason) => {
    expect(judgeExtension(row)).toMatchObject({ kind: "missing", reason });
    expect(judgeExtension({ version: "1.0.0", isReachable: true })).toEqual({ kind: "ready", version: "1.0.0" });
  });

  test("the comparing itself fails", async () => {
    const me = await garage();
    const read: Searcher["read"] = async (body) => await transaction(sql, body, { isReadOnly: true });
    let reads = 0;
    const result = await searchByAll(
      {
        ...me,
        questions: asksOf(),
        read: (body) => ((reads += 1) === 1 ? read(body) : read((tx) => tx`select 1/0`.then(() => body(tx)))),
      },
      { q: "bread" },
    );
    expect(result).toMatchObject({
      hits: [{ pageTitle: "Kitchen" }],
      leftOut: leftOut("the database could not compare the vectors within a second"),
    });
  });

  test("no page has vectors yet", async () => {
    const me = await newWorkspace(sql);
    expect((await search(me, { q: "vehicle" }, asksOf())).leftOut).toEqual(leftOut("no page has vectors yet"));
  });
});

test("without a model of embeddings a search is one transaction, as it was before there were vectors", async () => {
  const me = await garage();
  let reads = 0;
  const read: Searcher["read"] = (body) => {
    reads += 1;
    return transaction(sql, body, { isReadOnly: true });
  };
  endpoint.requests.length = 0;
  const byAll = await searchByAll({ ...me, read }, { q: "bread" });
  expect(byAll).toEqual(await act.do(me, (reader) => searchPages(reader, { q: "bread" })));
  expect([reads, endpoint.requests]).toEqual([1, []]);
});

test("a removed page is not found, though its vectors are still there", async () => {
  const me = await garage();
  const [page] = await sql<{ id: string }[]>`
    select id from pages where workspace_id = ${me.workspaceId} and title = 'Garage'`;
  await act.do(me, (writer) => removePage(writer, page?.id ?? ""));
  expect(await search(me, { q: "vehicle" }, asksOf())).toEqual({ kind: "found", hits: [], leftOut: [] });
});
