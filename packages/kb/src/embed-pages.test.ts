import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { claimDuePages, countEmbedded, type Space } from "./due-pages.ts";
import { embedPages, type EmbedRound } from "./embed-pages.ts";
import { createEmbedder } from "./embeddings.ts";
import { removePage } from "./remove-node.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { sendJson, startEmbeddingEndpoint } from "./testing/embedding-endpoint.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

/** No extension is needed to store vectors. */
const { sql } = await testDatabase();
const act = actOn(sql);
const endpoint = await startEmbeddingEndpoint();
const settings = { url: endpoint.url, model: "words-64" };
const embedder = createEmbedder(settings);
const space: Space = { model: "words-64", dims: 64 };

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

describe("pages get their vectors", () => {
  test("once; and of an edited page only the part that changed is sent, once", async () => {
    const me = await newWorkspace(sql);
    const long = (topic: string) => `# ${topic}\n\n${`- all about ${topic} and more of it\n`.repeat(30)}`;
    const page = await act.page(me, "Book", `${long("bread")}\n${long("compost")}\n${long("cars")}`);
    await settle();
    const sent = endpoint.requests.flat();
    expect(sent.length).toBeGreaterThan(2);
    expect(sent.every((text) => text.startsWith("Book\n\n"))).toBe(true);
    endpoint.requests.length = 0;
    await settle();
    expect(endpoint.requests).toEqual([]);
    const text = await act.text(me, page.id, true);
    await act.edit(me, { page: page.id, okf: text.replace("about cars", "about physicians"), revision: page.revision });
    await settle();
    expect(endpoint.requests).toHaveLength(1);
    expect(endpoint.requests[0]).toHaveLength(1);
    expect(endpoint.requests[0]?.[0]).toContain("physicians");
  });

  test("several in a request, and a page without text by its title", async () => {
    const me = await newWorkspace(sql);
    for (const title of ["One", "Two", "Three"]) await act.page(me, title, "");
    await settle();
    expect(endpoint.requests.map((texts) => texts.toSorted())).toEqual([["One", "Three", "Two"]]);
    expect(await countOf(me)).toBe(3);
  });

  test("anew where the model is another, and none of the old ones is left", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Garage", "- cars\n");
    await settle();
    const other = createEmbedder({ ...settings, model: "other" });
    await settle(other, { model: "other", dims: 64 });
    expect(await sql`select distinct model from page_vectors where workspace_id = ${me.workspaceId}`).toEqual([
      { model: "other" },
    ]);
    expect((await countEmbedded(sql, "other")).embedded).toBe((await countEmbedded(sql, "other")).pages);
  });

  test("and lose them when they are removed; undone, they have them again", async () => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "Gone", "- soon\n");
    await settle();
    expect(await countOf(me)).toBe(1);
    await act.do(me, (writer) => removePage(writer, page.id));
    await settle();
    expect(await countOf(me)).toBe(0);
    await sql`update pages set removed_at = null where id = ${page.id}`;
    await settle();
    expect(await countOf(me)).toBe(1);
  });

  test("where the endpoint fails in the middle: what was embedded stays, the rest is due at once", async () => {
    const me = await newWorkspace(sql);
    for (let n = 0; n < 20; n += 1) await act.page(me, `Page ${n}`, `- text ${n}\n`);
    endpoint.misbehave = (response) => {
      response.setHeader("retry-after", "7");
      sendJson(response, 429, {});
    };
    expect(await embedPages(sql, { embedder, space })).toEqual({
      kind: "failed",
      reason: "the endpoint of embeddings answered 429",
      retryAfterMs: 7_000,
    });
    endpoint.misbehave = undefined;
    expect(await embedPages(sql, { embedder, space })).toEqual({ kind: "embedded", pages: 16, unfit: 0 });
    endpoint.misbehave = (response) => sendJson(response, 500, {});
    expect((await embedPages(sql, { embedder, space })).kind).toBe("failed");
    expect(await countOf(me)).toBe(16);
    endpoint.misbehave = undefined;
    await settle();
    expect(await countOf(me)).toBe(20);
    expect(await sql`select 1 from embedded_pages where attempts <> 0 or problem is not null`).toEqual([]);
  });

  test("where the endpoint refuses one text: that page waits, longer each time, and the others have theirs", async () => {
    const me = await newWorkspace(sql);
    for (const title of ["Good", "Bad", "Fine"]) await act.page(me, title, "");
    endpoint.misbehave = (response, texts) =>
      texts.includes("Bad")
        ? sendJson(response, 400, {})
        : sendJson(response, 200, { data: texts.map((_, index) => ({ index, embedding: Array(64).fill(1) })) });
    expect(await embedPages(sql, { embedder, space })).toEqual({ kind: "embedded", pages: 2, unfit: 1 });
    expect(await settle()).toEqual({ kind: "idle" });
    const [first] = await sql<{ problem: string; wait: number }[]>`
      select problem, extract(epoch from due_at - clock_timestamp())::float8 as wait from embedded_pages where problem is not null`;
    expect(first?.problem).toBe("the endpoint of embeddings answered 400");
    expect(first?.wait).toBeGreaterThan(10);
    expect((await countEmbedded(sql, "words-64")).refused).toBe(1);
    await sql`update embedded_pages set due_at = clock_timestamp() where problem is not null`;
    await settle();
    const [second] = await sql<{ wait: number }[]>`
      select extract(epoch from due_at - clock_timestamp())::float8 as wait from embedded_pages where problem is not null`;
    expect(second?.wait).toBeGreaterThan((first?.wait ?? 0) + 10);
    endpoint.misbehave = undefined;
    await sql`update embedded_pages set due_at = clock_timestamp() where problem is not null`;
    await settle();
    expect(await countOf(me)).toBe(3);
  });

  test("where one page's cannot be stored: that page waits, and those beside it have theirs", async () => {
    const me = await newWorkspace(sql);
    for (const title of ["One", "Two"]) await act.page(me, title, "");
    // The one that was changed last is stored first.
    const culprit = await act.page(me, "Three", "");
    await sql.unsafe(`alter table page_vectors add constraint refuse_one check (page_id <> '${culprit.id}')`);
    await expect(embedPages(sql, { embedder, space })).rejects.toThrow("refuse_one");
    expect(await countOf(me)).toBe(2);
    expect(await embedPages(sql, { embedder, space })).toEqual({ kind: "idle" });
    const waits = await sql`
      select page_id as id, due_at > clock_timestamp() + interval '20 s' as is_so from embedded_pages where problem is not null`;
    expect(waits).toEqual([{ id: culprit.id, is_so: true }]);
    await sql`alter table page_vectors drop constraint refuse_one`;
    await sql`update embedded_pages set due_at = clock_timestamp() where problem is not null`;
    await settle();
    expect(await countOf(me)).toBe(3);
  });

  test("of one model in one length: another length than before is a failure, and nothing is stored", async () => {
    const me = await newWorkspace(sql);
    await act.page(me, "Page", "- text\n");
    endpoint.dims = 32;
    expect(await embedPages(sql, { embedder, space })).toMatchObject({
      kind: "failed",
      reason: "the endpoint of embeddings answered vectors of 32 numbers, and of 64 before",
    });
    expect(await countOf(me)).toBe(0);
  });

  test("from one process each: who claims second gets others, and who died leaves its pages when its claim is over", async () => {
    const me = await newWorkspace(sql);
    for (const title of ["One", "Two"]) await act.page(me, title, "");
    const claims = await Promise.all([1, 2, 3].map(() => claimDuePages(sql, space, { most: 1, claimMs: 60_000 })));
    const ids = claims.flat().map(({ pageId }) => pageId);
    expect(new Set(ids).size).toBe(ids.length);
    await claimDuePages(sql, space, { most: 10, claimMs: 60_000 });
    expect(await embedPages(sql, { embedder, space })).toEqual({ kind: "idle" });
    expect(endpoint.requests).toEqual([]);
    await sql`update embedded_pages set due_at = clock_timestamp() where workspace_id = ${me.workspaceId}`;
    await settle();
    expect(await countOf(me)).toBe(2);
    expect(endpoint.requests.flat().toSorted()).toEqual(["One", "Two"]);
  });

  test("never from one whose claim is over, nor of a page that was removed or changed meanwhile", async () => {
    const me = await newWorkspace(sql);
    const kept = await act.page(me, "Kept", "- old\n");
    const gone = await act.page(me, "Gone", "");
    endpoint.misbehave = (response, texts) => {
      void meanwhile().then(() =>
        sendJson(response, 200, { data: texts.map((_, index) => ({ index, embedding: Array(64).fill(1) })) }),
      );
    };
    const meanwhile = async () => {
      endpoint.misbehave = undefined;
      await act.do(me, (writer) => removePage(writer, gone.id));
      await act.edit(me, { page: kept.id, okf: "- new\n", revision: kept.revision });
      await sql`delete from embedded_pages where page_id = ${gone.id}`;
    };
    expect(await embedPages(sql, { embedder, space })).toMatchObject({ kind: "embedded", pages: 1 });
    expect(await countOf(me)).toBe(1);
    expect(await embedPages(sql, { embedder, space })).toMatchObject({ kind: "embedded", pages: 1 });
    expect(endpoint.requests.at(-1)).toEqual(["Kept\n\nnew"]);
  });
});

async function countOf({ workspaceId }: Person): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*) from page_vectors where workspace_id = ${workspaceId}`;
  return row?.count ?? 0;
}
