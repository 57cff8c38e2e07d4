import { processorTimeOf } from "@countersign/db/testing/processor-time.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { findCommonSubsequence } from "./common-subsequence.ts";
import { findLinks } from "./find-links.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { readHumanMarks } from "./human-marks.ts";
import { mergeTrees } from "./merge-trees.ts";
import type { TreeNode } from "./page-tree.ts";
import { parseOkf } from "./parse-okf.ts";
import { readCertainWords, readQuery, wordVectorOf } from "./words.ts";
import { writeOutline } from "./write-outline.ts";
import { withTitle } from "./title-in-frontmatter.ts";

function treeOf(source: string): TreeNode[] {
  return parseOkf(source).nodes.map(({ parent, kind, text, shape }, n) => ({
    id: String(n),
    parentId: parent === null ? null : String(parent),
    kind,
    text,
    shape,
  }));
}

/** All that is done to a text before it is stored. */
function readAll(source: string): void {
  const { frontmatter, nodes } = parseOkf(source);
  for (const { kind, text } of nodes) findLinks({ kind, text });
  readFrontmatter(frontmatter);
  withTitle(frontmatter, "x");
  readHumanMarks(frontmatter, { isStrict: true });
  writeOutline("", treeOf(source), { withIds: true });
  wordVectorOf(source);
  readCertainWords(source);
  readQuery(source);
}

const id = "<!--019abcde-0000-7000-8000-000000000000-->";

test.each([
  ["a path that never ends", `- [x](${".md#".repeat(60_000)}`],
  ["paths with titles that hold paths", `- ${'[x](a "'.repeat(15_000)}`],
  ["blanks where a table's rule would be", `a | b\n${" ".repeat(100_000)}x|\n`],
  ["blanks and bars where it would be", `a | b\n${"-  |".repeat(25_000)}x|\n`],
  ["errors without end in the frontmatter", `---\n${"]]".repeat(50_000)}\n---\n`],
  ["depth without end in the frontmatter", `---\na: ${"[".repeat(9_000)}${"]".repeat(9_000)}\n---\n`],
  ["lines without end of a title", `---\ntitle:\n${"\t".repeat(100_000)}\rtitle:\n---\n`],
  ["marks that may begin a frontmatter", `---\n${"\uFEFF---\n".repeat(20_000)}`],
  ["many nodes of links behind a backtick", `- \`${"[[a]]".repeat(3_200)}\n`.repeat(30)],
  ["many nodes of tags that nothing closes", `- \`[[a]]${"<?".repeat(9_000)} ${id}\n`.repeat(10)],
  ["many small links that go on", "- ](\n  )\n".repeat(20_000)],
  ["ids without end", `- ](${` ${id}`.repeat(400)}\n`.repeat(5)],
  ["parentheses without end where a link goes to", `- ${"](a(b".repeat(60_000)}\n`],
  ["blanks without end behind where a link goes to", `- [x](a${" ".repeat(100_000)}x\n`],
  ["blanks without end behind a definition", `- [x]: a${" ".repeat(100_000)}x\n`],
  ["definitions that nothing ends", `${"[a]: <b 'c\n".repeat(30_000)}\n`],
  ["links that begin before the last bracket", `- ${"](".repeat(200_000)})\n`],
  [
    "runs of backticks, all of another length",
    `- ${Array.from({ length: 500 }, (_, n) => `${"`".repeat(n + 1)}a`).join("")} [[x]]\n`,
  ],
  [
    "lines that share half of their blanks",
    `- a\n${" ".repeat(50_000)}b\n${" ".repeat(25_000)}\t${" ".repeat(25_000)}c\n`,
  ],
  ["ligatures", `- ${"\ufdfa".repeat(30_000)}\n`],
])("%s take no time", (_what, source) => {
  expect(processorTimeOf(() => readAll(source))).toBeLessThan(3_000);
});

test("no text of a few pieces, however often they come, takes long", () => {
  const piece = fc.constantFrom(
    ".md#",
    " ",
    "\t",
    "[[",
    "]]",
    "](",
    "]:",
    "[",
    "<!--",
    "-->",
    "`",
    "``",
    "```",
    "---\n",
    "- ",
    "\n",
    "\r",
    "|",
    "|-",

    "_",
    "* ",
    '"',
    "\\",
    "a",
    "#",
    "~~~",
    "<",
    ">",
    "(",
    ")",
    "a: ",
    "\n ",
    "\n- ",
    "\n  ",
    "[^",
    '" ',
    id,
    "\u0300",
  );
  const begin = fc.constantFrom("", "- ", "a | b\n", "- [x](", "---\n", "- `", "---\na: b\n", "- x\n  ");
  const end = fc.constantFrom("", "x", "x|\n", "\n", "\n---\n", id);
  const text = fc
    .tuple(begin, fc.array(piece, { minLength: 1, maxLength: 3 }), end)
    .map(([first, pieces, last]) => first + pieces.join("").repeat(60_000 / pieces.join("").length) + last);
  fc.assert(
    fc.property(text, (source) => {
      expect(
        processorTimeOf(() => readAll(source)),
        JSON.stringify(source.slice(0, 60)),
      ).toBeLessThan(3_000);
    }),
    { numRuns: 40 },
  );
});

test("lists of equal items are paired in no time, and a merge of many insertions too", () => {
  const many = Array.from({ length: 100_000 }, () => 7);
  expect(processorTimeOf(() => findCommonSubsequence([1, ...many, 2], [3, ...many, 4]))).toBeLessThan(3_000);
  const base = treeOf("- a\n- z\n");
  const theirs = base.toSpliced(
    1,
    0,
    ...treeOf("- b\n".repeat(30_000)).map((node, n) => ({ ...node, id: `new ${n}`, text: `b ${n}` })),
  );
  const ours = [...base, ...treeOf("- c\n").map((node) => ({ ...node, id: "other" }))];
  expect(processorTimeOf(() => mergeTrees(base, ours, theirs, ""))).toBeLessThan(5_000);
});

test("a path in a link is what a look at each bracket anew would find", () => {
  const link =
    /\]\(\s*(?:<([^<>\n]+)>|((?:[^()\s<>]|\((?:[^()\s<>]|\([^()\s<>]*\))*\))+))(?:\s+("|')(?:(?!\3)[^\n])*\3)?\s*\)/y;
  const pathsIn = (text: string): string[] => {
    const paths: string[] = [];
    for (let at = text.indexOf("]("); at !== -1; at = text.indexOf("](", at)) {
      link.lastIndex = at;
      const [all, bracketed, bare = ""] = link.exec(text) ?? [""];
      const path = /^(.+\.md)(?:#|$)/is.exec(bracketed ?? bare)?.[1];
      if (path !== undefined) paths.push(path);
      at += path === undefined ? 2 : all.length;
    }
    return paths;
  };
  const piece = fc.constantFrom(
    "](",
    "<",
    ">",
    ")",
    "a",
    ".md",
    ".MD",
    "#",
    " ",
    '"',
    "'",
    "\n",
    "(",
    "]",
    '](b.md "',
    "x.md)",
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 16 }).map((pieces) => `](${pieces.join("")}`),
      (text) => {
        const found = findLinks({ kind: "bullet", text }).filter(({ kind }) => kind === "path");
        expect(found.map(({ start, end }) => text.slice(start, end))).toEqual(pathsIn(text));
      },
    ),
    { numRuns: 5_000 },
  );
});

test("the line below a table's head is what one expression for all of it would find", () => {
  const old = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t\r]*$/;
  const piece = fc.constantFrom("|", "-", "--", ":", " ", "\t", "\r", "a", ":-:", "|-|");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 9 }).map((pieces) => `|-${pieces.join("")}`),
      (rule) => {
        const [node] = parseOkf(`a | b\n${rule}\n`).nodes;
        expect(node?.kind === "table").toBe(old.test(rule));
      },
    ),
    { numRuns: 5_000 },
  );
});

test("of a text with more words than a vector holds, the first that fit are indexed", () => {
  const text = Array.from({ length: 16_000 }, (_, n) => `${n}${"x".repeat(100)}`).join(" ");
  const vector = wordVectorOf(text);
  expect(vector.startsWith("'0xxx")).toBe(true);
  expect(Buffer.byteLength(vector)).toBeLessThan(1_200_000);
});

test("frontmatter that is too long to be parsed is kept, and its title read line by line", () => {
  const { title, problem } = readFrontmatter(`---\ntitle: T\nx: ${"y".repeat(30_000)}\n---\n`);
  expect(title).toBe("T");
  expect(problem).toMatch(/it has 30013 characters; at most 20000 are read as YAML/);
});
