import { expect, test, vi } from "vitest";

vi.stubGlobal("location", { origin: "http://localhost" });
const { inBatches } = await import("./bring-files.ts");

const fileOf = (path: string, size: number, letter = "a") => ({ path, text: letter.repeat(size) });
const paths = (files: Parameters<typeof inBatches>[0]) =>
  inBatches(files).map((batch) => batch.map(({ path }) => path));

test("files go together as far as the server takes them, in their order", () => {
  expect(paths([])).toEqual([]);
  expect(paths([fileOf("a", 400_000), fileOf("b", 500_000), fileOf("c", 200_000)])).toEqual([["a", "b"], ["c"]]);
  expect(paths([fileOf("a", 1), fileOf("b", 2_000_000), fileOf("c", 1)])).toEqual([["a"], ["b"], ["c"]]);
  expect(paths(Array.from({ length: 450 }, (_, n) => fileOf(`${n}`, 1))).map((batch) => batch.length)).toEqual([
    200, 200, 50,
  ]);
});

test("what is counted is what is sent: bytes, with what JSON adds", () => {
  expect(paths([fileOf("a", 300_000, "ü"), fileOf("b", 300_000, "ü")])).toEqual([["a"], ["b"]]);
  expect(paths([fileOf("a", 300_000, "\n"), fileOf("b", 300_000, "\n")])).toEqual([["a"], ["b"]]);
});
