import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { findLinks } from "./find-links.ts";
import { movePage } from "./move-page.ts";
import { listBacklinks } from "./page-links.ts";
import { listReached } from "./read-linked.ts";
import { removePage } from "./remove-node.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

test.each([
  ["see [[A b]] and [[C|shown]]", ["a b", "c"]],
  ["| [[T\\|alias]] | [[U|x]] |", ["t", "u"]],
  ["`[[code]]` [[real]]", ["real"]],
  ["#[[tag]] [[ spaced ]]", ["tag", "spaced"]],
  ["[a](/x/b.md) [b](../c%20d.md#h) [w](https://x.org/y.md) [i](pic.png)", ["/x/b.md", "../c d.md"]],
  ["[[]] [[a\nb]] [[[c]]]", ["c"]],
  ["[a](<Customer Orders.md>) [b](<x#y z.md#h> 'T') [c](<n\nl.md>)", ["Customer Orders.md", "x#y z.md"]],
  [
    "[a](x_(old).md) [b](x_((o)).md) [c](x_\\(\\_.md) ([d](e.md)) [f](g h.md)",
    ["x_(old).md", "x_((o)).md", "x_(_.md", "e.md"],
  ],
  ["[a](b.md 'T') [c]( d.md (T) ) [e](f.md \"it's\") [g](h.md 'T)", ["b.md", "d.md", "f.md"]],
  ["[a][r] [r]\n\n[r]: b.md\n [s]: <c d.md> 'T'\n[t]: e.md and more\n[^1]: f.md\n[pic]: g.png", ["b.md", "c d.md"]],
  ['`[a](<b c.md>)` [e](f.png "[g](h.md)")', ["h.md"]],
])("the links of %j are found", (text, targets) => {
  expect(findLinks({ kind: "bullet", text }).map(({ target }) => target)).toEqual(targets);
});

test("KN11: a rename rewrites its links, in a table cell with an alias too, and counts them rightly", async () => {
  const me = await newWorkspace(sql);
  const target = await act.page(me, "T", "- itself [[T]]\n");
  const table = "| a | b |\n|---|---|\n| [[T\\|alias]] | `[[T]]` |\n";
  const page = await act.page(me, "P", `${table}\n- [[t]] and [[T|shown]], not [[T2]]\n- \`\`\`\n  [[T]]\n  \`\`\`\n`);
  const moved = await act.do(me, (writer) => movePage(writer, { pageId: target.id, title: "U" }));
  expect(moved).toMatchObject({ kind: "moved", renamedLinks: 4, page: { title: "U" } });
  expect(await act.outline(me, page.id)).toBe(
    `${table.replace("[[T\\|alias]]", "[[U\\|alias]]")}\n- [[U]] and [[U|shown]], not [[T2]]\n- \`\`\`\n  [[T]]\n  \`\`\`\n`,
  );
  expect(await act.outline(me, target.id)).toBe("- itself [[U]]\n");
  expect((await act.do(me, (reader) => listBacklinks(reader, target.id, 10))).map(({ title }) => title)).toEqual(["P"]);
});

test("KN12: a link waits for its page, and a rename touches what is resolved alone", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P", "- [[Later]] and [[Never]]\n");
  expect(await act.do(me, (reader) => listReached(reader, page.id, 1, 10))).toEqual([]);
  const later = await act.page(me, "later", "- a\n");
  expect(await act.do(me, (reader) => listReached(reader, page.id, 1, 10))).toMatchObject([
    { id: later.id, title: "later" },
  ]);
  await act.do(me, (writer) => movePage(writer, { pageId: later.id, title: "Now" }));
  expect(await act.outline(me, page.id)).toBe("- [[Now]] and [[Never]]\n");
});

test("a title that an edit of the frontmatter changes is a rename; one that is taken is refused", async () => {
  const me = await newWorkspace(sql);
  const target = await act.page(me, "T", "- a\n");
  const page = await act.page(me, "P", "- [[T]]\n");
  const text = await act.text(me, target.id);
  expect(await act.edit(me, { page: target.id, okf: text.replace('"T"', "U") })).toMatchObject({ renamedLinks: 1 });
  expect(await act.outline(me, page.id)).toBe("- [[U]]\n");
  expect(await act.edit(me, { page: target.id, okf: text.replace('"T"', "p") })).toMatchObject({ kind: "refused" });
});

test("links to files lead to their pages, from the file's own folder and from the root of its bundle", async () => {
  const me = await newWorkspace(sql);
  const first = await act.importFile(me, "bundle/tables/a.md", "[b](b.md) [c](/metrics/c.md) [up](../metrics/c.md)\n");
  if (first.kind !== "imported") throw new Error(first.kind);
  await act.importFile(me, "bundle/tables/b.md", "- b\n");
  await act.importFile(me, "bundle/metrics/c.md", "- c\n");
  const reached = await act.do(me, (reader) => listReached(reader, first.page.id, 1, 10));
  expect(reached.map(({ title }) => title)).toEqual(["b", "c"]);
});

test("pages are reached over two links at most so far, each once, and up to the limit", async () => {
  const me = await newWorkspace(sql);
  const page = await act.page(me, "P0", "- [[P1]] [[P2]] [[P0]]\n");
  for (const [title, okf] of [
    ["P1", "- [[P3]] [[P0]]"],
    ["P2", "- [[P1]] [[P4]]"],
    ["P3", "- [[P5]]"],
    ["P4", "-"],
    ["P5", "-"],
  ] as const) {
    await act.page(me, title, `${okf}\n`);
  }
  const reach = async (depth: number, limit: number) =>
    (await act.do(me, (reader) => listReached(reader, page.id, depth, limit))).map(({ title }) => title);
  expect(await reach(0, 10)).toEqual([]);
  expect(await reach(1, 10)).toEqual(["P1", "P2"]);
  expect(await reach(2, 10)).toEqual(["P1", "P2", "P3", "P4"]);
  expect(await reach(2, 3)).toEqual(["P1", "P2", "P3"]);
});

test("a rename also rewrites a link that still says a name which the page has no more", async () => {
  const me = await newWorkspace(sql);
  const target = await act.page(me, "Second", "- x\n");
  const page = await act.page(me, "P", "- to [[Second]] and [[Elsewhere]]\n");
  await sql`update nodes set text = 'to [[First]] and [[Elsewhere]]' where page_id = ${page.id}`;
  await sql`update links set target = 'first' where page_id = ${page.id} and target = 'second'`;
  await act.do(me, (writer) => movePage(writer, { pageId: target.id, title: "Third" }));
  expect(await act.outline(me, page.id)).toBe("- to [[Third]] and [[Elsewhere]]\n");
});

test("KN12: a link whose page was removed is the next page's of that name or file, and its renames'", async () => {
  const me = await newWorkspace(sql);
  const titlesFrom = async (id: string) =>
    (await act.do(me, (reader) => listReached(reader, id, 1, 10))).map(({ title }) => title);
  const first = await act.page(me, "T", "- x\n");
  const [page, edited] = [await act.page(me, "P", "- [[T]]\n"), await act.page(me, "Q", "- [[T]]\n")];
  await act.do(me, (writer) => removePage(writer, first.id));
  await act.edit(me, { page: edited.id, okf: "- see [[T]]\n" });
  const second = await act.page(me, "T", "- y\n");
  await act.do(me, (writer) => movePage(writer, { pageId: second.id, title: "U" }));
  expect(await act.outline(me, page.id)).toBe("- [[U]]\n");
  expect(await act.outline(me, edited.id)).toBe("- see [[U]]\n");

  const file = await act.importFile(me, "b/old.md", "- a\n");
  const index = await act.importFile(me, "b/index.md", "[a](old.md)\n");
  const other = await act.importFile(me, "c/old.md", "---\ntitle: Anew\n---\n- a\n");
  if (file.kind !== "imported" || index.kind !== "imported" || other.kind !== "imported")
    throw new Error("not imported");
  await act.do(me, (writer) => removePage(writer, file.page.id));
  expect(await titlesFrom(index.page.id)).toEqual([]);
  await act.do(me, (writer) => movePage(writer, { pageId: other.page.id, dir: "b" }));
  expect(await titlesFrom(index.page.id)).toEqual(["Anew"]);
});

test("a link goes to the page whose title it is before one that has it as an alias, as a page is looked up", async () => {
  const me = await newWorkspace(sql);
  const older = await act.page(me, "Foo", "- x\n");
  await act.page(me, "Bar", "- y\n");
  await act.edit(me, { page: older.id, okf: "---\ntype: Page\ntitle: Foo\naliases: [Bar]\n---\n- x\n" });
  const page = await act.page(me, "P", "- [[Bar]]\n");
  const reached = () => act.do(me, (reader) => listReached(reader, page.id, 1, 5));
  expect((await reached()).map(({ title }) => title)).toEqual(["Bar"]);
  await sql`update links set target_page_id = null where page_id = ${page.id}`;
  expect((await reached()).map(({ title }) => title)).toEqual(["Bar"]);
});

test("links to files with blanks and parentheses in their names, and by reference, lead to their pages", async () => {
  const me = await newWorkspace(sql);
  for (const name of ["Customer Orders", "x_(old)", "c"]) await act.importFile(me, `b/${name}.md`, "- a\n");
  const text = "[a](<Customer Orders.md>)\n\n[d](x_(old).md 'T')\n\n[see][r]\n\n[r]: /c.md\n";
  const index = await act.importFile(me, "b/i.md", text);
  if (index.kind !== "imported") throw new Error(index.kind);
  const reached = await act.do(me, (reader) => listReached(reader, index.page.id, 1, 10));
  expect(reached.map(({ title }) => title)).toEqual(["Customer Orders", "x_(old)", "c"]);
  expect(await act.text(me, index.page.id)).toContain(text);
});
