import fc from "fast-check";
import { expect, test } from "vitest";
import { layJson } from "./json-text.ts";

const laid = (json: string) => layJson(json).map(({ indent, text }) => " ".repeat(indent) + text);

test("arguments are laid out by how deep they are", () => {
  expect(laid('{"to":["a@b.example"],"n":1.0,"none":{},"l":[]}')).toEqual([
    "{",
    '  "to": [',
    '    "a@b.example"',
    "  ],",
    '  "n": 1.0,',
    '  "none": {},',
    '  "l": []',
    "}",
  ]);
});

test("a string of several lines is broken after each \\n, and one that only looks so is not", () => {
  expect(laid(String.raw`{"text":"Hello,\n\nyou \\n me"}`)).toEqual([
    "{",
    String.raw`  "text": "Hello,\n`,
    String.raw`      \n`,
    String.raw`      you \\n me"`,
    "}",
  ]);
});

test("UI16: keys that repeat, numbers and escapes are shown as they were written", () => {
  expect(laid(String.raw`{"a":1e400,"a":"\u202e"}`)).toEqual(["{", '  "a": 1e400,', String.raw`  "a": "\u202e"`, "}"]);
});

test("UI16: every token comes out in order, of JSON and of text that is none", () => {
  const whole = (text: string) =>
    layJson(text)
      .map((line) => line.text)
      .join("")
      .replaceAll(/[ \t\r\n]/g, "");
  const checkAll = (texts: fc.Arbitrary<string>) =>
    fc.assert(
      fc.property(texts, (text) => {
        expect(whole(text)).toBe(text.replaceAll(/[ \t\r\n]/g, ""));
      }),
    );
  checkAll(fc.json());
  checkAll(fc.string());
});
