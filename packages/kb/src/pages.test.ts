import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { describe, expect, test } from "vitest";
import { appendBullet, type NewBullet } from "./append-bullet.ts";
import { createPage, type NewPage } from "./create-page.ts";
import { importPage } from "./import-page.ts";
import { lookupPage } from "./lookup.ts";
import { readPage } from "./read-page.ts";
import { newWorkspace, type TestWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();

function create(by: TestWorkspace, page: NewPage) {
  return transaction(sql, (tx) => createPage({ tx, ...by }, page));
}

async function created(by: TestWorkspace, page: NewPage) {
  const result = await create(by, page);
  if (result.kind !== "created") throw new Error(`expected a new page, got ${result.kind}`);
  return result.page;
}

function append(by: TestWorkspace, bullet: NewBullet) {
  return transaction(sql, (tx) => appendBullet({ tx, ...by }, bullet));
}

function importFile(by: TestWorkspace, dir: string, fileName: string, source: string) {
  return transaction(sql, (tx) => importPage({ tx, ...by }, { dir, fileName, source }));
}

function lookup(by: TestWorkspace, name: string) {
  return transaction(sql, (tx) => lookupPage({ tx, ...by }, name));
}

function read(by: TestWorkspace, pageId: string, withIds = false) {
  return transaction(sql, (tx) => readPage({ tx, ...by }, pageId, { withIds }));
}

describe("creating a page", () => {
  test("gives it revision 1, a slug, its directory by slug, and one command", async () => {
    const me = await newWorkspace(sql);
    const page = await created(me, { title: "Road Map ", dir: "Our Projects/Alpha" });
    expect(page).toMatchObject({
      title: "Road Map",
      slug: "road-map",
      dir: "our-projects/alpha",
      revision: 1,
    });
    const commands =
      await sql`select kind, revision, user_id, run_id, before, after from commands where page_id = ${page.id}`;
    expect(commands).toMatchObject([
      { kind: "page.created", revision: 1, user_id: me.userId, run_id: null, before: null },
    ]);
    expect(JSON.parse(commands[0]?.["after"])).toMatchObject({ page: { title: "Road Map" } });
  });

  test("uses a directory that is there under another spelling", async () => {
    const me = await newWorkspace(sql);
    await importFile(me, "Acme_Retail/Tables", "a.md", "- a\n");
    expect(await created(me, { title: "B", dir: "/acme retail/tables/" })).toMatchObject({
      dir: "Acme_Retail/Tables",
    });
  });

  test("is answered with the page that has the title, in whatever case and directory, and writes nothing", async () => {
    const me = await newWorkspace(sql);
    const page = await created(me, { title: "École", dir: "a" });
    for (const title of ["École", "éCOLE", "E\u0301cole"]) {
      expect(await create(me, { title, dir: "b" })).toEqual({ kind: "exists", page });
    }
    expect(await sql`select id from pages where workspace_id = ${me.workspaceId}`).toHaveLength(1);
  });

  test("at once twice makes one page", async () => {
    const me = await newWorkspace(sql);
    const results = await Promise.all(["x", "y", "z", ""].map((dir) => create(me, { title: "Same", dir })));
    expect(results.map((result) => result.kind).toSorted()).toEqual(["created", "exists", "exists", "exists"]);
  });

  test("gives it the slug of its title, whatever others there are", async () => {
    const me = await newWorkspace(sql);
    const titles = ["C", "C++", "C#", "用户", "!?"];
    const pages = await Promise.all(titles.map((title) => created(me, { title })));
    expect(pages.map((page) => page.slug)).toEqual(["c", "c", "c", "用户", "page"]);
  });

  test.each([
    ["a\0b", "NUL"],
    ["a\ud800", "surrogate"],
    [" ", "empty"],
    ["a\nb", "line break"],
    ["see [[x]]", "[["],
    ["x".repeat(201), "201 characters"],
  ])("of the title %j is refused, saying why", async (title, why) => {
    const me = await newWorkspace(sql);
    const result = await create(me, { title });
    expect(result).toMatchObject({ kind: "refused", reason: expect.stringContaining(why) });
  });

  test.each(["a/../b", "a\0", "-"])("in the directory %j is refused", async (dir) => {
    const me = await newWorkspace(sql);
    expect(await create(me, { title: "T", dir })).toMatchObject({ kind: "refused" });
  });
});

describe("looking a page up", () => {
  test("prefers the title to the letter, then ignores case, then names what is near", async () => {
    const me = await newWorkspace(sql);
    await importFile(me, "", "Query.md", "- a\n");
    await importFile(me, "", "query.md", "- b\n");
    expect(await lookup(me, "query")).toMatchObject({ kind: "found", page: { title: "query" } });
    expect(await lookup(me, "Query")).toMatchObject({ kind: "found", page: { title: "Query" } });
    const folded = await lookup(me, "QUERY");
    expect(folded.kind === "ambiguous" && folded.pages.length).toBe(2);
    const missing = await lookup(me, "Querys");
    expect(missing.kind === "missing" && missing.nearest.toSorted()).toEqual(["Query", "query"]);
  });

  test("finds by id, and finds nothing of another workspace", async () => {
    const me = await newWorkspace(sql);
    const other = await newWorkspace(sql);
    const page = await created(me, { title: "Mine" });
    expect(await lookup(me, page.id)).toEqual({ kind: "found", page });
    for (const name of [page.id, "Mine", "mine", "Min"]) {
      expect(await lookup(other, name)).toEqual({ kind: "missing", nearest: [] });
    }
    expect(await read(other, page.id)).toBeUndefined();
    expect(await append(other, { page: page.id, text: "x" })).toMatchObject({ kind: "missing" });
  });
});

describe("appending a bullet", () => {
  test("puts it last, with one command, and moves the revision by one", async () => {
    const me = await newWorkspace(sql);
    const page = await created(me, { title: "Notes" });
    const call = { runId: randomUUID(), callId: randomUUID() };
    const first = await append(me, { page: "notes", text: "- first\n  more" });
    const second = await transaction(sql, (tx) => appendBullet({ tx, ...me, call }, { page: page.id, text: "second" }));
    if (first.kind !== "appended" || second.kind !== "appended") throw new Error("not appended");
    const child = await append(me, { page: "Notes", text: "child", parent: first.nodeId });
    expect(child).toMatchObject({ kind: "appended", page: { revision: 4 } });
    expect(await read(me, page.id)).toEqual({
      revision: 4,
      markdown: '---\ntype: Page\ntitle: "Notes"\n---\n\n- first\n  more\n  - child\n- second\n',
    });
    expect((await read(me, page.id, true))?.markdown).toContain(`- first <!--${first.nodeId}-->\n  more\n`);
    const [command] = await sql`select * from commands where page_id = ${page.id} and revision = 3`;
    expect(command).toMatchObject({
      kind: "bullet.appended",
      run_id: call.runId,
      call_id: call.callId,
      user_id: me.userId,
    });
    expect(JSON.parse(command?.["after"]).nodes[0]).toMatchObject({ id: second.nodeId, text: "second" });
  });

  test("by many at once keeps every bullet, with a key and a revision of its own", async () => {
    const me = await newWorkspace(sql);
    const page = await created(me, { title: "Busy" });
    await Promise.all(Array.from({ length: 20 }, (_, n) => append(me, { page: "Busy", text: `b${n}` })));
    const rows = await sql`select distinct order_key from nodes where page_id = ${page.id}`;
    expect(rows).toHaveLength(20);
    expect((await read(me, page.id))?.revision).toBe(21);
  });

  test("that fails midway leaves neither bullet nor revision", async () => {
    const me = await newWorkspace(sql);
    const page = await created(me, { title: "Halfway" });
    const attempt = transaction(sql, async (tx) => {
      await appendBullet({ tx, ...me }, { page: page.id, text: "lost" });
      throw new Error("the worker stops here");
    });
    await expect(attempt).rejects.toThrow("the worker stops here");
    expect(await read(me, page.id)).toMatchObject({ revision: 1 });
    expect(await sql`select from commands where page_id = ${page.id}`).toHaveLength(1);
  });

  test.each([
    ["a\n- b", "of their own"],
    ["a\n\n# H", undefined],
    ["```\n- x\n```", undefined],
    ["# H", undefined],
    ["", "empty"],
    ["-  ", "empty"],
    ["a\0", "NUL"],
    ["x".repeat(20_001), "20001 characters"],
  ])("of %j is one bullet or is refused", async (text, refusal) => {
    const me = await newWorkspace(sql);
    const page = await created(me, { title: "P" });
    const result = await append(me, { page: "P", text });
    if (refusal === undefined) {
      expect(result.kind).toBe("appended");
      const [node] = await sql`select text from nodes where page_id = ${page.id}`;
      expect(node?.["text"]).toBe(text);
    } else {
      expect(result).toMatchObject({ kind: "refused", reason: expect.stringContaining(refusal) });
      expect(await read(me, page.id)).toMatchObject({ revision: 1 });
    }
  });

  test("below a node of another page, or below a fence, is refused", async () => {
    const me = await newWorkspace(sql);
    await created(me, { title: "A" });
    await importFile(me, "", "B.md", "- b\n\n```\nx\n```\n");
    const nodes = await sql`select id, kind from nodes where workspace_id = ${me.workspaceId}`;
    const idOf = (kind: string) => String(nodes.find((node) => node["kind"] === kind)?.["id"]);
    expect(await append(me, { page: "A", text: "x", parent: idOf("bullet") })).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("has no node"),
    });
    expect(await append(me, { page: "B", text: "x", parent: idOf("fence") })).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("is a fence"),
    });
    expect(await append(me, { page: "B", text: "x", parent: idOf("bullet") })).toMatchObject({
      kind: "appended",
    });
  });
});
