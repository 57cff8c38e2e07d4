import { expect, test } from "vitest";
import { countOf } from "./count.ts";

test("one thing is named as one, and everything else as several", () => {
  expect([0, 1, 2].map((count) => countOf(count, "row"))).toEqual(["0 rows", "1 row", "2 rows"]);
  expect(countOf(1, "file takes", "files take")).toBe("1 file takes");
});
