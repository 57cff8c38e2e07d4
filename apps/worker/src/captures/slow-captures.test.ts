import { processorTimeOf } from "@countersign/db/testing/processor-time.ts";
import { findLinks } from "@countersign/kb/find-links.ts";
import { parseOkf } from "@countersign/kb/parse-okf.ts";
import { expect, test } from "vitest";
import { writeCaptureBody } from "./capture-page.ts";

test.each([
  ["links within links", `${"[[x ".repeat(20_000)}${"]]".repeat(20_000)}`],
  ["links side by side", "[[a]]".repeat(20_000)],
  ["brackets before links", `${"[".repeat(50_000)}${" [[a]]".repeat(10_000)}`],
  ["blanks before links", `[${" ".repeat(50_000)}${"[[a]]".repeat(10_000)}`],
  ["links behind a backtick", `- \`${"[[a]]".repeat(20_000)}`],
  ["paths that never end", `- [x](${".md#".repeat(25_000)}`],
  ["claims of backticks", `---\n${"`a".repeat(200_000)}\n---\n`],
])("%s are taken out of a capture in no time, and none is left", (_what, text) => {
  let body = "";
  expect(processorTimeOf(() => (body = writeCaptureBody("https://e.org/a", text)))).toBeLessThan(3_000);
  expect(parseOkf(body).nodes.flatMap(findLinks)).toEqual([]);
});
