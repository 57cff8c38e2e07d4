import fc from "fast-check";
import { expect, test } from "vitest";
import { apiNameOf, toolNameOf } from "./tool-names.ts";

const accepted = /^[a-zA-Z0-9_-]{1,128}$/;
const none: ReadonlyMap<string, string> = new Map();

// Made of the characters that the spelling itself uses, where two names could become one.
const trickyName = fc.string({
  unit: fc.constantFrom(".", "-", "_", "x", "h", "2", "e", "d", "é", "\ud800"),
  maxLength: 12,
});
const anyName = fc.oneof(trickyName, fc.string({ unit: "binary", maxLength: 200 }));

test("every name becomes one that the API accepts", () => {
  fc.assert(
    fc.property(anyName, (name) => {
      expect(apiNameOf(name)).toMatch(accepted);
    }),
    { numRuns: 2_000 },
  );
});

test("a name that fits comes back as it was", () => {
  fc.assert(
    fc.property(trickyName, (name) => {
      expect(toolNameOf(apiNameOf(name), none)).toBe(name);
    }),
    { numRuns: 5_000 },
  );
});

test("no two names become one, also where they are too long", () => {
  fc.assert(
    fc.property(anyName, anyName, (one, other) => {
      if (one !== other) expect(apiNameOf(one)).not.toBe(apiNameOf(other));
    }),
    { numRuns: 5_000 },
  );
  const long = "a".repeat(200);
  expect(apiNameOf(`${long}1`)).not.toBe(apiNameOf(`${long}2`));
});

test("a name that is too long comes back through the list of advertised tools", () => {
  const name = `mcp.${"long-".repeat(60)}`;
  expect(toolNameOf(apiNameOf(name), new Map([[apiNameOf(name), name]]))).toBe(name);
});

test.each([
  ["kb.read", "kb--read"],
  ["summarize_context", "summarize_context"],
  ["mcp.git.create-issue", "mcp--git--create-_issue"],
])("%s is called %s", (name, apiName) => {
  expect(apiNameOf(name)).toBe(apiName);
});

test.each(["kb-read", "a-", "no such tool", "", "-x2e-", "-xzz-"])(
  "%j, which no tool is called, stays as it is",
  (name) => {
    expect(toolNameOf(name, none)).toBe(name);
  },
);
