import fc from "fast-check";
import { expect, test } from "vitest";
import { mapJsonStrings } from "./map-json-strings.ts";

const shout = (text: string) => text.toUpperCase();

test("strings are replaced and every other token stays exactly as it stands", () => {
  const json = '{ "n":9007199254740993,"n":1.0,\r\n"k\\u0061" : ["a\\"b",true,{"c":"\\ud800"}] , "d":"\\u0041" }';
  expect(mapJsonStrings(json, shout)).toBe(
    '{ "n":9007199254740993,"n":1.0,\r\n"k\\u0061" : ["A\\"B",true,{"c":"\\ud800"}] , "d":"\\u0041" }',
  );
});

test("each is given the key that it stands under, also in lists", () => {
  const seen: unknown[] = [];
  const json = '["a",{"b":"c","d":["e",{"f":1},"g"],"\\u0068":{"i":"j"}},"k"]';
  mapJsonStrings(json, (text, key) => {
    seen.push([text, key]);
    return text;
  });
  expect(seen).toEqual([
    ["a", undefined],
    ["c", "b"],
    ["e", "d"],
    ["g", "d"],
    ["j", "i"],
    ["k", undefined],
  ]);
});

test("of any JSON each string is mapped and nothing else changed", () => {
  const mapAll = (value: unknown): unknown => {
    if (typeof value === "string") return `<${value}>`;
    if (Array.isArray(value)) return value.map(mapAll);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, mapAll(member)]));
  };
  fc.assert(
    fc.property(fc.json({ stringUnit: "binary" }), fc.constantFrom(0, 2), (json, space) => {
      const laid = JSON.stringify(JSON.parse(json), undefined, space);
      const mapped = mapJsonStrings(laid, (text) => `<${text}>`);
      expect(JSON.parse(mapped ?? "")).toEqual(mapAll(JSON.parse(laid)));
      expect(mapJsonStrings(laid, (text) => text)).toBe(laid);
    }),
  );
});

test("text that is no JSON is not taken for it", () => {
  expect(mapJsonStrings('{"a":"b"', shout)).toBeUndefined();
});

test("a string of several megabytes is mapped as any other", () => {
  const long = "a\\n".repeat(2_000_000);
  expect(mapJsonStrings(`{"a":"${long}"}`, shout)?.length).toBe(long.length + 8);
});

test("a string of twenty megabytes, and one full of escapes, are no different", () => {
  const long = ["x".repeat(20_000_000), '"a" '.repeat(1_000_000)];
  expect(mapJsonStrings(JSON.stringify(long), (text) => text.slice(0, 3))).toBe('["xxx","\\"a\\""]');
});
