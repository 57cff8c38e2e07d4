import { processorTimeOf } from "@countersign/db/testing/processor-time.ts";
import { expect, test } from "vitest";
import { isPublicAddress } from "./public-address.ts";
import { redactShapes } from "./redact-shapes.ts";
import { createScrubber } from "./scrub.ts";

test.each([
  "eyJ-",
  "eyJ",
  "c+",
  "a://",
  "eyJaaaaaaa.",
  "bearer ",
  "cookie: a; ",
  "-----BEGIN PRIVATE KEY-----",
  "basic ",
  "curl -u ",
  "--password ",
  "--a-",
  "token=",
])("a text of many %j is looked through in no time", (piece) => {
  const text = `${piece.repeat(1_000_000 / piece.length)}\0`;
  expect(processorTimeOf(() => redactShapes(text))).toBeLessThan(2_000);
});

test.each([
  "\\",
  "%25",
  "%2525",
  "&#38;",
  "&amp;amp;",
  "''",
  "'\"'\"'",
  "=\n",
  "=\\",
  "\\u0026",
  "\\xc3",
  "\n ",
  `${"a".repeat(16)}\n`,
])("a text of many %j is scrubbed in no time", (piece) => {
  const scrubber = createScrubber([{ name: "k", value: "a secret & a half" }]);
  const text = piece.repeat(1_000_000 / piece.length);
  const took = processorTimeOf(() => {
    expect(scrubber.scrub(text)).toBe(text);
    const through = scrubber.createStream();
    const streamed = text.slice(0, 100_000);
    for (let at = 0; at < streamed.length; at += 100) through.push(streamed.slice(at, at + 100));
    through.end();
  });
  expect(took).toBeLessThan(4_000);
});

test("a token is found wherever it begins in a run of its letters", () => {
  const token = `eyJ${"a".repeat(20)}.${"b".repeat(20)}.c-_d`;
  expect(redactShapes(`${token} x-${token}, no-eyJ.a`)).toBe("[redacted token] x-[redacted token], no-eyJ.a");
  expect(redactShapes(`xeyJ${"a".repeat(20)}.${"b".repeat(20)}.c`)).toContain("xeyJ");
  expect(redactShapes(`eyJ${"a".repeat(9_000)}.${"b".repeat(20)}.c`)).toBe("[redacted token]");
});

test("a zone counts for nothing in an address, however long it is", () => {
  expect(isPublicAddress(`2606:4700::1111%${"%".repeat(100_000)}\n%`)).toBe(true);
  expect(isPublicAddress("fe80::1%eth0")).toBe(false);
});
