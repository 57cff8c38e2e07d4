import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { hashArguments, hashDefinition, maxArgumentsBytes, parseArguments } from "./canonical.ts";

function nest(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, reverseKeys(member)] as const);
  return Object.fromEntries(members.toReversed());
}

describe("parseArguments", () => {
  test.each([
    ["text that is not JSON", "{a:1}", /not JSON/],
    ["the empty text", "", /not JSON/],
    ["a number beyond a double", '{"a":[1e400]}', /too large/],
    ["a negative number beyond a double", "-1e400", /too large/],
    ["201 levels of arrays", nest(201), /deeper than 200/],
    ["100,000 levels of arrays", nest(100_000), /deeper than 200/],
    ["201 levels of objects", '{"a":'.repeat(201) + "1" + "}".repeat(201), /deeper than 200/],
    ["text over 256 KB", JSON.stringify("x".repeat(maxArgumentsBytes)), /at most 262144/],
    ["text over 256 KB only in bytes", JSON.stringify("é".repeat(131_072)), /at most 262144/],
  ])("refuses %s", (_what, argsText, problem) => {
    expect(parseArguments(argsText)).toEqual({
      kind: "refused",
      problem: expect.stringMatching(problem),
    });
  });

  test.each([
    ["200 levels", nest(200)],
    ["exactly 256 KB", JSON.stringify("x".repeat(maxArgumentsBytes - 2))],
    ["the largest double", "1.7976931348623157e308"],
  ])("reads %s", (_what, argsText) => {
    expect(parseArguments(argsText).kind).toBe("parsed");
  });

  test("keeps NUL and lone surrogates as they are", () => {
    expect(parseArguments(String.raw`"\u0000\ud800"`)).toEqual({
      kind: "parsed",
      value: "\0\ud800",
    });
  });
});

describe("hashArguments", () => {
  test.each([
    ["key order", '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ["spacing", '{"a":[1,2]}', ' { "a" :\n[1, 2] }'],
    ["number spelling", "[100,0.5]", "[1e2,5e-1]"],
    ["escapes", '"é/"', String.raw`"\u00e9\/"`],
    ["the spelling of a lone surrogate", '"\ud800"', String.raw`"\ud800"`],
  ])("does not depend on %s", (_what, one, other) => {
    expect(hashArguments(one)).toBe(hashArguments(other));
  });

  test.each([
    ["the order of an array", "[1,2]", "[2,1]"],
    ["numbers and texts", "[1]", '["1"]'],
    ["null and a missing key", '{"a":null}', "{}"],
    ["zero and minus zero", "0", "-0"],
    ["two lone surrogates", String.raw`"\ud800"`, String.raw`"\ud801"`],
    ["a lone surrogate and the replacement character", String.raw`"\ud800"`, '"\ufffd"'],
    ["NUL and nothing", String.raw`"a\u0000"`, '"a"'],
    ["composed and decomposed characters", '"\u00e9"', '"e\u0301"'],
    ["a key named __proto__ and none", '{"__proto__":{"a":1}}', "{}"],
    ["the values under a key named __proto__", '{"__proto__":1}', '{"__proto__":2}'],
    ["two texts that are not JSON", "{", "["],
    ["two refused numbers", "1e400", "1e401"],
    ["refused texts with lone surrogates", "\ud800", "\ud801"],
    ["text that is not JSON and the same as JSON", "x", '"x"'],
  ])("tells apart %s", (_what, one, other) => {
    expect(hashArguments(one)).not.toBe(hashArguments(other));
  });

  test("is sha256 in hex of the canonical JSON", () => {
    expect(hashArguments("{ }")).toBe("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
  });

  test("is stable under key order and spacing for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const shuffled = JSON.stringify(reverseKeys(value), undefined, 2);
        expect(hashArguments(shuffled)).toBe(hashArguments(JSON.stringify(value)));
      }),
    );
  });

  test("is equal only for equal JSON", () => {
    const json = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(json, json, (one, other) => {
        fc.pre(JSON.stringify(sortKeys(JSON.parse(one))) !== JSON.stringify(sortKeys(JSON.parse(other))));
        expect(hashArguments(one)).not.toBe(hashArguments(other));
      }),
    );
  });

  test("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(hashArguments(text)).toMatch(/^[0-9a-f]{64}$/);
      }),
    );
  });
});

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .map(([key, member]) => [key, sortKeys(member)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
}

describe("hashDefinition", () => {
  const definition = {
    name: "mail.send",
    description: "Sends a mail.",
    schema: z.object({ to: z.string(), body: z.string().optional() }),
  };
  const hash = hashDefinition(definition);

  test.each([
    ["name", { ...definition, name: "mail.post" }],
    ["description", { ...definition, description: "Sends a mail!" }],
    ["schema", { ...definition, schema: z.object({ to: z.string(), body: z.string() }) }],
    ["server", { ...definition, server: "https://mcp.example" }],
  ])("moves when the %s does", (_what, changed) => {
    expect(hashDefinition(changed)).not.toBe(hash);
  });

  test("is the same for an equal definition written anew", () => {
    const schema = z.object({ to: z.string(), body: z.string().optional() });
    expect(hashDefinition({ ...definition, schema })).toBe(hash);
  });

  test("takes the JSON Schema of a server as it is, whatever the order of its keys", () => {
    const one = { type: "object", properties: { a: { type: "string" } } };
    const other = { properties: { a: { type: "string" } }, type: "object" };
    const server = { name: "x", description: "", server: "s" };
    expect(hashDefinition({ ...server, schema: one })).toBe(hashDefinition({ ...server, schema: other }));
    expect(hashDefinition({ ...server, schema: one })).not.toBe(
      hashDefinition({ ...server, schema: { ...one, title: "new" } }),
    );
  });

  test("copes with a schema that JSON Schema cannot fully say", () => {
    const schema = z.object({ a: z.date(), b: z.string().transform(Number) });
    expect(hashDefinition({ ...definition, schema })).toMatch(/^[0-9a-f]{64}$/);
  });
});
