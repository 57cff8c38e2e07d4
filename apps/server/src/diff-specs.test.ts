import { expect, test } from "vitest";
import { diffSpecs } from "./diff-specs.ts";

test("objects are gone into, lists are compared whole, and a side without a value is left out", () => {
  const before = { a: 1, b: { c: [1, 2], d: "x" }, e: null };
  const after = { a: 1, b: { c: [2, 1], f: {} }, e: undefined };
  expect(diffSpecs(before, after)).toEqual([
    { path: "b.c", before: [1, 2], after: [2, 1] },
    { path: "b.d", before: "x" },
    { path: "b.f", after: {} },
    { path: "e", before: null },
  ]);
  expect(diffSpecs(before, structuredClone(before))).toEqual([]);
});
