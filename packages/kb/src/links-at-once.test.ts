import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { describe, expect, test, vi } from "vitest";
import { applyOkf } from "./apply-okf.ts";
import { importPage } from "./import-page.ts";
import { movePage } from "./move-page.ts";
import { listBacklinks, listLinked } from "./page-links.ts";
import type { Writer } from "./scope.ts";
import { actOn, type Person } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

/** Does `body` in a transaction that stays open until it is let go. */
async function begin(by: Person, body: (writer: Writer) => Promise<unknown>) {
  const done = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const over = transaction(sql, async (tx) => {
    await body({ tx, ...by });
    done.resolve();
    await end.promise;
  });
  await Promise.race([done.promise, over]);
  return { end: () => (end.resolve(), over) };
}

async function whenWaiting(): Promise<void> {
  await vi.waitFor(
    async () => {
      const waiting = await sql`
        select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      expect(waiting.length).toBeGreaterThan(0);
    },
    { timeout: 45_000, interval: 20 },
  );
}

const linksOf = (by: Person, pageId: string) => act.do(by, (reader) => listLinked(reader, pageId, 10));
const backlinksOf = (by: Person, pageId: string) => act.do(by, (reader) => listBacklinks(reader, pageId, 10));

describe("a link and its page that are written at once meet", () => {
  test.each(["link", "page"])("by name, where the %s is done first, and a rename goes into it", async (first) => {
    const me = await newWorkspace(sql);
    const page = await act.page(me, "P", "- a\n");
    const link = (writer: Writer) => applyOkf(writer, { page: page.id, okf: "- a\n- [[Wait]]\n" });
    const make = (writer: Writer) => applyOkf(writer, { page: "Wait", okf: "- here\n" });
    const one = await begin(me, first === "link" ? link : make);
    await act.do(me, first === "link" ? make : link);
    await one.end();
    const [made] = await linksOf(me, page.id);
    expect(made).toMatchObject({ title: "Wait" });
    expect(await backlinksOf(me, made?.id ?? "")).toMatchObject([{ id: page.id }]);
    await act.do(me, (writer) => movePage(writer, { pageId: made?.id ?? "", title: "Come" }));
    expect(await act.outline(me, page.id)).toBe("- a\n- [[Come]]\n");
  });

  test("by path, as files that are imported side by side do, also where one is moved", async () => {
    const me = await newWorkspace(sql);
    const file = (dir: string, fileName: string, source: string) => (writer: Writer) =>
      importPage(writer, { dir, fileName, source });
    const one = await begin(me, file("x", "a.md", "- [b](../y/b.md)\n"));
    await act.do(me, file("y", "b.md", "- b\n"));
    await one.end();
    const idOf = async (title: string) =>
      (await sql<{ id: string }[]>`select id from pages where title = ${title} and workspace_id = ${me.workspaceId}`)[0]
        ?.id ?? "";
    const [a, b] = [await idOf("a"), await idOf("b")];
    expect(await linksOf(me, a)).toMatchObject([{ id: b }]);
    expect(await backlinksOf(me, b)).toMatchObject([{ id: a }]);
    await act.do(me, (writer) => movePage(writer, { pageId: b, dir: "elsewhere" }));
    expect(await linksOf(me, a)).toMatchObject([{ id: b }]);
  });
});

describe("a rename and a link that are written at once meet", () => {
  test.each(["link", "rename"])("where the %s is done first", async (first) => {
    const me = await newWorkspace(sql);
    const target = await act.page(me, "T", "- a\n");
    const page = await act.page(me, "P", "- a\n");
    const link = (writer: Writer) => applyOkf(writer, { page: page.id, okf: "- a\n- [[t|shown]]\n" });
    const rename = (writer: Writer) => movePage(writer, { pageId: target.id, title: "U" });
    const one = await begin(me, first === "link" ? link : rename);
    const other = act.do(me, async (writer) => void (await (first === "link" ? rename : link)(writer)));
    await whenWaiting();
    await one.end();
    await other;
    expect(await act.outline(me, page.id)).toBe("- a\n- [[U|shown]]\n");
    expect(await linksOf(me, page.id)).toMatchObject([{ id: target.id }]);
  });

  test("where a page that links already is changed, and a new page links too", async () => {
    const me = await newWorkspace(sql);
    const target = await act.page(me, "T", "- a\n");
    const page = await act.page(me, "P", "- [[T]]\n");
    const text = await act.text(me, page.id, true);
    const changed = await begin(me, (writer) => applyOkf(writer, { page: page.id, okf: `${text}- [[T]] again\n` }));
    const made = await begin(me, (writer) => applyOkf(writer, { page: "Q", okf: "- [[T]]\n" }));
    const rename = act.do(me, (writer) => movePage(writer, { pageId: target.id, title: "U" }));
    await whenWaiting();
    await changed.end();
    await made.end();
    expect(await rename).toMatchObject({ renamedLinks: 3 });
    expect(await act.outline(me, page.id)).toBe("- [[U]]\n- [[U]] again\n");
  });

  test("and many at once do: what led to the page when it was written leads there under its last title", async () => {
    const me = await newWorkspace(sql);
    const target = await act.page(me, "T0", "- a\n");
    const pages = await Promise.all([1, 2, 3].map((n) => act.page(me, `P${n}`, "- a\n")));
    const leading = new Set<string>();
    const writing = pages.map(async ({ id }) => {
      for (let n = 0; n < 12; n += 1) {
        await act.do(me, async (writer) => {
          const [now] = await writer.tx<{ title: string }[]>`select title from pages where id = ${target.id}`;
          await applyOkf(writer, { page: id, okf: `- ${n} [[${now?.title}]]\n` });
          // None where the page had another title before the link was looked up.
          if ((await listLinked(writer, id, 10)).length === 0) leading.delete(id);
          else leading.add(id);
        });
      }
    });
    for (let n = 1; n <= 12; n += 1)
      await act.do(me, (writer) => movePage(writer, { pageId: target.id, title: `T${n}` }));
    await Promise.all(writing);
    await act.do(me, (writer) => movePage(writer, { pageId: target.id, title: "End" }));
    for (const id of leading) {
      expect(await linksOf(me, id)).toMatchObject([{ id: target.id, names: ["end"] }]);
      expect(await act.outline(me, id)).toBe("- 11 [[End]]\n");
    }
  });
});

test("two that write links to one name do not wait for each other", async () => {
  const me = await newWorkspace(sql);
  await act.page(me, "T", "- a\n");
  const one = await begin(me, (writer) => applyOkf(writer, { page: "P", okf: "- [[T]]\n", dir: "x" }));
  expect(await act.edit(me, { page: "Q", okf: "- [[T]]\n", dir: "y" })).toMatchObject({ kind: "applied" });
  await one.end();
});
