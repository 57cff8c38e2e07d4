import { processorTimeOf } from "../testing/processor-time.ts";
import { expect, test } from "vitest";
import { isSafe, readMarkdown } from "./read-markdown.ts";

test("UI18: html, images and odd addresses stay the text they are", () => {
  for (const text of [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "![a](https://example.test/a.png)",
    "[a](javascript:alert(1))",
    "[a](data:text/html,x)",
    "[a](JaVaScRiPt:alert`1`)",
    "[a](//example.test)",
    "[a](/v1/kill)",
    "[a](https://user:word@example.test/)",
    "[a](https://exämple.test/)",
  ]) {
    const blocks = readMarkdown(text);
    const kinds = JSON.stringify(blocks);
    // An address within an image is a link to click, at most; nothing is loaded.
    expect(kinds, text).not.toContain('"image"');
    if (!text.startsWith("!")) expect(blocks, text).toEqual([{ kind: "paragraph", spans: [{ kind: "text", text }] }]);
  }
  expect(["http://a.test/", "https://a.test/b?c#d", "mailto:ann@a.test"].every(isSafe)).toBe(true);
  expect(["javascript:x", "data:x", "vbscript:x", "file:///x", "https:", "https://a b", ""].some(isSafe)).toBe(false);
});

test("what is read is what is written, no letter less", () => {
  const text =
    "# Done\n\nSent **two** letters, see [the list](https://a.test/x) and `rm -rf`.\n\n- one\n- *two*\n\n1. first\n\n```sh\nls <b>\n```\n> so";
  expect(readMarkdown(text)).toEqual([
    { kind: "heading", level: 1, spans: [{ kind: "text", text: "Done" }] },
    {
      kind: "paragraph",
      spans: [
        { kind: "text", text: "Sent " },
        { kind: "strong", spans: [{ kind: "text", text: "two" }] },
        { kind: "text", text: " letters, see " },
        { kind: "link", url: "https://a.test/x", spans: [{ kind: "text", text: "the list" }] },
        { kind: "text", text: " and " },
        { kind: "code", text: "rm -rf" },
        { kind: "text", text: "." },
      ],
    },
    {
      kind: "list",
      isOrdered: false,
      items: [[{ kind: "text", text: "one" }], [{ kind: "emphasis", spans: [{ kind: "text", text: "two" }] }]],
    },
    { kind: "list", isOrdered: true, items: [[{ kind: "text", text: "first" }]] },
    { kind: "code", text: "ls <b>" },
    { kind: "quote", spans: [{ kind: "text", text: "so" }] },
  ]);
});

test("hostile lengths are read in time", () => {
  const texts = [
    "*",
    "`",
    "[",
    "**a",
    "> ",
    "- ",
    "[a](",
    "![",
    "https://",
    "*0h[p",
    "**a *b ",
    "``a`",
    "[p",
    "[[a",
    "[[a|",
  ].flatMap((piece) => ["", "]", "]]", "](x"].map((end) => piece.repeat(400_000 / piece.length) + end));
  for (const line of ["# ", "* ", "1. "]) texts.push(`${line}${" ".repeat(200_000)}\rx${" #".repeat(50_000)}`);
  for (const text of texts) {
    expect(
      processorTimeOf(() => readMarkdown(text)),
      text.slice(0, 10),
    ).toBeLessThan(2_000);
  }
});

test.each([
  ["# a ##", "a"],
  ["# a##", "a##"],
  ["#  ##", "##"],
  ["# a # #  ", "a #"],
])("the heading %j says %j", (text, title) => {
  expect(readMarkdown(text)).toEqual([{ kind: "heading", level: 1, spans: [{ kind: "text", text: title }] }]);
});

test("of marks in each other the first that closes counts", () => {
  const kindsOf = (text: string) => readMarkdown(text).flatMap((block) => ("spans" in block ? block.spans : []));
  expect(kindsOf("**a** and **b**").map(({ kind }) => kind)).toEqual(["strong", "text", "strong"]);
  expect(kindsOf("``a`b``").map(({ kind }) => kind)).toEqual(["code"]);
  expect(kindsOf("2 * 3 * 4").map(({ kind }) => kind)).toEqual(["text"]);
});

test("links to pages lead where they are known to lead, and are text elsewhere", () => {
  const pages = new Map([
    ["Roses", "1"],
    ["../beds/tulips.md", "2"],
    ["Roadmap [2027]", "3"],
    ["Q1 | Q2", "4"],
  ]);
  const spansOf = (text: string) =>
    readMarkdown(text, (name) => pages.get(name)).flatMap((block) => ("spans" in block ? block.spans : []));
  const leads = (id: string, text: string) => ({ kind: "page", id, spans: [{ kind: "text", text }] });
  expect(spansOf("[[Roses]]")).toEqual([leads("1", "Roses")]);
  expect(spansOf("[[Roses|the red ones]] [[ Roses ]]")).toEqual([
    leads("1", "the red ones"),
    { kind: "text", text: " " },
    leads("1", " Roses "),
  ]);
  expect(spansOf("[[Roses\\|red]]")).toEqual([leads("1", "red")]);
  expect(spansOf("[[Roadmap [2027]]]")).toEqual([leads("3", "Roadmap [2027]")]);
  expect(spansOf("[[Roadmap [2027]|next]]")).toEqual([leads("3", "next")]);
  expect(spansOf("[[Q1 &#124; Q2]]")).toEqual([leads("4", "Q1 | Q2")]);
  expect(spansOf("[tulips](../beds/tulips.md)")).toEqual([leads("2", "tulips")]);
  expect(spansOf("`[[Roses]]`")).toEqual([{ kind: "code", text: "[[Roses]]" }]);
  for (const text of ["[[Nowhere]]", "[a](javascript:alert(1))", "[a](javascript:x)", "![[Roses", "[[]]", "[[a\nb]]"]) {
    expect(spansOf(text)).toEqual([{ kind: "text", text }]);
  }
  expect(readMarkdown("[[Roses]]")).toEqual([{ kind: "paragraph", spans: [{ kind: "text", text: "[[Roses]]" }] }]);
});
