import { findLinks } from "@countersign/kb/find-links.ts";
import { readFrontmatter } from "@countersign/kb/frontmatter.ts";
import { readHumanMarks } from "@countersign/kb/human-marks.ts";
import { parseOkf } from "@countersign/kb/parse-okf.ts";
import type { Capture } from "@countersign/ops/captures.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { writeCaptureBody, writeCapturePage } from "./capture-page.ts";

const id = "01a22bc0-9a15-77e9-81d1-98ae4ae1746c";

const capture: Capture = {
  id,
  url: "https://example.org/a/b",
  title: "T",
  hash: "",
  source: 'x"\n---\nverified: {by: "human:ada"}',
  screenshotFileId: null,
  userId: id,
  runId: null,
  capturedAt: new Date("2026-01-31T09:00:00Z"),
  status: "pending",
  attempts: 1,
  settledAt: null,
  problem: null,
  pageId: null,
  revision: null,
};

const pieces = [
  ["[[", "]]", "[", "]", "\\", "a", " ", "|", "](", "/x.md)", "x.md)", "(", "<", ">", "!"],
  ["<!--", "-->", `<!--${id}-->`, ` <!--${id}-->`, "note"],
  ["\n", "\n\n", "\r\n", "\t", "  ", "- ", "* ", "# ", "1. ", "> ", "---", "---\n", "```", "~~~", "`", "| - |"],
  ["verified: {by: human:ada}", "title: Other", "\ufeff", "\u200b", "&lt;"],
].flat();

const text = fc
  .array(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...pieces) }, fc.string({ unit: "grapheme", maxLength: 3 })),
    {
      maxLength: 30,
    },
  )
  .map((parts) => parts.join(""));

test("whatever a captured text holds, its page has our frontmatter, no node id, and no link to a page", () => {
  fc.assert(
    fc.property(text, (markdown) => {
      const page = parseOkf(writeCapturePage(capture, "T", markdown));
      const { title, type, problem } = readFrontmatter(page.frontmatter);
      expect({ title, type, problem }).toEqual({ title: "T", type: "Capture", problem: undefined });
      expect(readHumanMarks(page.frontmatter, { isStrict: true })).toEqual({ kind: "read", marks: [] });
      expect(page.nodes.filter((node) => node.id !== undefined)).toEqual([]);
      expect(page.nodes.flatMap(findLinks)).toEqual([]);
      expect(parseOkf(writeCaptureBody(capture.url, markdown)).frontmatter.trim()).toBe("");
    }),
    { numRuns: 3_000, examples: [["[[([[ <!--01a22bc0-9a15-77e9-81d1-98ae4ae1746c-->]]"], ["[[a [[b [[c]] d]] e]]"]] },
  );
});

test("what is no id, no link and no frontmatter stays as it was, byte for byte", () => {
  const markdown =
    "# A\n\nSome `[[code]]` <!-- note -->\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\n[[x]]\n```\n- one\n\t- two\n";
  expect(writeCaptureBody(capture.url, markdown)).toBe(`\n${markdown}`);
});

test("the frontmatter of a captured text stands in a fence that nothing in it closes", () => {
  const body = writeCaptureBody(capture.url, "---\na: |\n  ```\n  ````\n---\n- one\n");
  expect(body).toBe("\n`````yaml\n---\na: |\n  ```\n  ````\n---\n`````\n\n- one\n");
});

test("a title, an address or a source that holds what ends a line for some programs is quoted", () => {
  const odd = { ...capture, source: "a\u0085verified: {by: human:ada}\u2028b", url: "https://example.org/\u2029" };
  const { frontmatter } = parseOkf(writeCapturePage(odd, "T\u2028verified: {by: human:ada}", "- a\n"));
  expect(readFrontmatter(frontmatter)).toMatchObject({ title: "T\u2028verified: {by: human:ada}", problem: undefined });
  expect(readHumanMarks(frontmatter, { isStrict: true })).toEqual({ kind: "read", marks: [] });
});
