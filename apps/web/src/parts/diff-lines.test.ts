import { processorTimeOf } from "../testing/processor-time.ts";
import { expect, test } from "vitest";
import { diffLines } from "./diff-lines.ts";

test("what went is told with -, what came with +, what stayed near by as it is, and what is far is left out", () => {
  const before = Array.from({ length: 30 }, (_, n) => `line ${n}`);
  const after = before.with(10, "another").toSpliced(20, 1);
  expect(diffLines(before.join("\n"), after.join("\n"))).toBe(
    [
      "@@",
      " line 7",
      " line 8",
      " line 9",
      "-line 10",
      "+another",
      " line 11",
      " line 12",
      " line 13",
      "@@",
      " line 17",
      " line 18",
      " line 19",
      "-line 20",
      " line 21",
      " line 22",
      " line 23",
      "@@",
    ].join("\n"),
  );
});

test("both texts can be read back from what is told, whatever they are", () => {
  const pieces = ["a", "b", "", "a", "c"];
  for (let seed = 0; seed < 400; seed += 1) {
    const pick = (salt: number) =>
      Array.from(
        { length: (seed * salt) % 6 },
        (_, n) => pieces[(seed * (n + salt) + n * n) % pieces.length] ?? "",
      ).join("\n");
    const [before, after] = [pick(7), pick(11)];
    const lines = diffLines(before, after).split("\n");
    if (lines.includes("@@")) continue;
    const side = (sign: string) =>
      lines
        .filter((line) => line.startsWith(" ") || line.startsWith(sign))
        .map((line) => line.slice(1))
        .join("\n");
    expect(side("-")).toBe(before);
    expect(side("+")).toBe(after);
  }
});

test("very long texts are told in time", () => {
  const text = (salt: string) => Array.from({ length: 20_000 }, (_, n) => `${n}${salt}`).join("\n");
  let told = "";
  expect(processorTimeOf(() => (told = diffLines(text("a"), text("b"))))).toBeLessThan(2_000);
  expect(told.split("\n").length).toBe(40_000);
});
