import { processorTimeOf } from "../testing/processor-time.ts";
import { expect, test } from "vitest";
import { layJson } from "./lay-json.ts";

test("every token stays as it was written, and brackets in strings open nothing", () => {
  const text = '{"a":[1.50,-0,1e400,{}],"a":"{\\"[,:","b":[]}';
  expect(layJson(text)).toBe(
    [
      "{",
      '  "a": [',
      "    1.50,",
      "    -0,",
      "    1e400,",
      "    {}",
      "  ],",
      '  "a": "{\\"[,:",',
      '  "b": []',
      "}",
    ].join("\n"),
  );
  expect(JSON.parse(layJson(text))).toEqual(JSON.parse(text));
});

test("a hundred thousand tokens are laid out in time", () => {
  const text = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => n));
  expect(processorTimeOf(() => expect(layJson(text).split("\n")).toHaveLength(100_002))).toBeLessThan(1_000);
});

test("what is no JSON comes back as it is, and so does a lone value", () => {
  for (const text of ["", "{", "not json", '"a  b"', "17", "null"]) expect(layJson(text)).toBe(text);
});

test("what is nested deeper than can be shown stays as it is", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  expect(layJson(deep)).toBe(deep);
});
