import { testDatabase } from "@countersign/db/testing/test-database.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { findLinks, renameLinks } from "./find-links.ts";
import { foldName } from "./fold.ts";
import { readLinkName, writeLinkName } from "./link-names.ts";
import { movePage } from "./move-page.ts";
import { listBacklinks } from "./page-links.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";
import { findTitleProblem } from "./text.ts";
import { undoCommand } from "./undo-command.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

const signs = [
  "|",
  "\\",
  "\\|",
  "[",
  "]",
  "](",
  "](x.md)",
  "`",
  "``",
  "&",
  "&#124;",
  "&#38;",
  "#",
  ";",
  "!",
  "<!--",
  "-->",
];
const words = ["a", "B c", "2027", " ", "(", ")", ".md", "ß", "～", "｜", "用户", "~~~", "<b>"];
const name = fc
  .array(fc.constantFrom(...signs, ...words), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join("").trim())
  .filter((title) => findTitleProblem(title) === undefined);
const around = fc.constantFrom(
  ["see ", " and `c` too"],
  ["a ` b ", " c"],
  ["[", "](y.md)"],
  ["[", "]"],
  ["| `x` | ", " | z |"],
  ["- ", "](z.md) [k](k.md)"],
  ["&", "#124;"],
  ["`", "` [[T]]"],
  ["![", "] \\"],
);
const link = fc.constantFrom(
  "[[T]]",
  "[[ T ]]",
  "[[T|shown]]",
  "[[T\\|shown]]",
  "[[T |see [1]]]",
  "[[T]] [[T]][[T|`x`]]",
);

test("a name that is written into a link is read as itself", () => {
  fc.assert(
    fc.property(name, (title) => {
      expect(readLinkName(writeLinkName(title))).toBe(title);
    }),
  );
});

test("KN11: a rename to any title leaves all links what they were, and the next one finds them", () => {
  fc.assert(
    fc.property(around, link, name, name, ([before = "", after = ""], wiki, first, second) => {
      const text = `${before}${wiki}${after}`;
      const shapeOf = (of: string, title: string) =>
        findLinks({ kind: "bullet", text: of }).map(({ kind, target }) =>
          kind === "title" && target === foldName(title) ? "it" : target,
        );
      let [now, called] = [text, "T"];
      for (const title of [first, second, "T"]) {
        now = renameLinks({ kind: "bullet", text: now }, new Map([[foldName(called), title]])).text;
        called = title;
        expect(shapeOf(now, title)).toEqual(shapeOf(text, "T"));
      }
      expect(now).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

test("links to several pages are renamed at once, each to its own page's title", () => {
  const titles = new Map([
    ["a", "B"],
    ["b", "C"],
  ]);
  const renamed = renameLinks({ kind: "bullet", text: "[[a]] [[b]] [[c]]" }, titles);
  expect(renamed).toEqual({ text: "[[B]] [[C]] [[c]]", count: 2 });
});

test.each([
  ["[[Roadmap [2027]]]", ["roadmap [2027]"]],
  ["[see [[Roadmap [2027]]]] [[[c]]]", ["roadmap [2027]", "c"]],
  ["[[a [b] c|d [e]]]", ["a [b] c"]],
  ["[[a [b]] c", ["a [b"]],
  ["[[`code`]] `[[code]]`", ["`code`"]],
  ["[[Q1 &#124; Q2]] [[AT&amp;T]]", ["q1 | q2", "at&amp;t"]],
])("the names in %j are read as a person means them", (text, targets) => {
  expect(findLinks({ kind: "bullet", text }).map(({ target }) => target)).toEqual(targets);
});

test.each([
  ["Q1 | Q2"],
  ["Roadmap [2027]"],
  ["[draft] x"],
  ["`code`"],
  ["The ` key"],
  ["a\\"],
  ["x](y.md)"],
  ["&#124;"],
])("KN11: a page that is renamed to %j keeps its links, also where the rename is taken back", async (title) => {
  const me = await newWorkspace(sql);
  const target = await act.page(me, "T", "- x\n");
  const text = "- see [[T]] and `c` too\n- [[T|alias]]\n\n| a |\n|---|\n| [[T\\|al]] |\n";
  const page = await act.page(me, "P", text);
  const renamed = await act.do(me, (writer) => movePage(writer, { pageId: target.id, title }));
  expect(renamed).toMatchObject({ kind: "moved", renamedLinks: 3 });
  expect(await act.do(me, (reader) => listBacklinks(reader, target.id, 10))).toHaveLength(1);
  const links = await sql`select target, target_page_id from links where page_id = ${page.id} order by id`;
  expect([...links]).toEqual(Array(3).fill({ target: foldName(title), target_page_id: target.id }));
  const [command] = await sql<{ id: string }[]>`
      select id from commands where page_id = ${target.id} order by revision desc limit 1`;
  expect(await act.do(me, (writer) => undoCommand(writer, command?.id ?? ""))).toMatchObject({ kind: "undone" });
  expect(await act.outline(me, page.id)).toBe(text);
});

test("a file whose name has blanks around it is a page that a link finds", async () => {
  const me = await newWorkspace(sql);
  const made = await act.importFile(me, " Plan .md", "- x\n");
  if (made.kind !== "imported") throw new Error(made.kind);
  await act.page(me, "P", "- [[Plan]]\n");
  expect(await act.do(me, (reader) => listBacklinks(reader, made.page.id, 10))).toHaveLength(1);
});
