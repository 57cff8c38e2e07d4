import fc from "fast-check";
import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { expect, test } from "vitest";
import { findCode } from "./code-spans.ts";

/** Where a parser of Markdown finds code. */
function parsedCode(text: string): [number, number][] {
  const code: [number, number][] = [];
  const waiting: Nodes[] = [fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const { start, end } = node.position ?? {};
    if (node.type === "code" || node.type === "inlineCode") code.push([start?.offset ?? 0, end?.offset ?? 0]);
    if ("children" in node) waiting.push(...node.children.toReversed());
  }
  return code;
}

const marked = (text: string, code: readonly (readonly [number, number])[]): boolean[] =>
  Array.from(text, (_, at) => code.some(([start, end]) => start <= at && at < end));

test("a letter stands in code where a parser of Markdown says so", () => {
  const piece = fc.constantFrom(
    "`",
    "``",
    "```",
    "x",
    "x ",
    "\\",
    "\\`",
    " ",
    "x\n",
    "x\n\n",
    "\n```\nx\n```\n",
    "\n~~~~\nx `\n",
  );
  const prose = fc.array(piece, { maxLength: 14 }).map((pieces) => `y${pieces.join("")}`);
  fc.assert(
    fc.property(prose, (text) => {
      const letters = (code: readonly (readonly [number, number])[]) =>
        marked(text, code).filter((_, at) => text[at] === "x");
      expect(letters(findCode(text))).toEqual(letters(parsedCode(text)));
    }),
    { numRuns: 3_000 },
  );
});

test.each([
  ["| `a|b` | `c` |\n|---|---|\n| `d` | e` |", ["`c`", "`d`"]],
  ["# a `b\n`c` d`", ["`c`"]],
  ["a `b\nc` d", ["`b\nc`"]],
  ["a ` b\n\nc ` d", []],
  ["a\n\n    b\n    c\n\nd `e`", ["    b", "    c", "`e`"]],
  ["```\na\n\nb", ["```\na\n\nb"]],
  ["> a `b\n> c` d", ["`b\n> c`"]],
])("the code in %j is found", (text, code) => {
  expect(findCode(text).map(([start, end]) => text.slice(start, end))).toEqual(code);
});
