import { processorTimeOf } from "../testing/processor-time.ts";
import { expect, test } from "vitest";
import { readTable } from "./read-table.ts";

test("a table's cells are what stands between its bars", () => {
  expect(readTable("| a | b |\n| --- | --- |\n| 1 | 2 |\n|3|4|")).toEqual({
    head: ["a", "b"],
    rows: [
      ["1", "2"],
      ["3", "4"],
    ],
  });
  expect(readTable("a | b\n--|--\n1 |")).toEqual({ head: ["a", "b"], rows: [["1"]] });
});

test.each([
  ["| [[T\\|alias]] | x |", ["[[T|alias]]", "x"]],
  ["| `a|b` | c |", ["`a|b`", "c"]],
  ["| | b | c |", ["", "b", "c"]],
  ["| a | b | c | more |", ["a", "b", "c", "more"]],
  ["|", [""]],
])("the line %j has the cells %j", (line, cells) => {
  expect(readTable(`a | b\n--- | ---\n${line}`).rows).toEqual([cells]);
});

test("a hostile table is read in time", () => {
  for (const piece of ["|", "`", "\\", "a|", "`|"]) {
    const text = piece.repeat(400_000);
    expect(
      processorTimeOf(() => readTable(text)),
      piece,
    ).toBeLessThan(2_000);
  }
});
