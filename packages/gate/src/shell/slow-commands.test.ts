import { expect, test } from "vitest";
import { mayBeFile, normalizePath } from "../denylist/paths.ts";
import { dangerOfCommand } from "./root.ts";
import { isHarmlessSedScript } from "./sed-script.ts";
import { unitsOfCommand } from "./units.ts";

const many = 100_000;

test.each<readonly [string, () => unknown]>([
  ["slashes within a path", () => normalizePath(`a${"/".repeat(many)}b`)],
  ["brackets that nothing closes", () => mayBeFile(`/*${"[".repeat(many)}`, "/etc/passwd")],
  ["letters that begin no address", () => dangerOfCommand(`cat ${"a".repeat(many)}`, { root: "/w" })],
  ["brackets in a word", () => dangerOfCommand(`cat ${"[".repeat(many)}`, { root: "/w" })],
  ["blanks before what ends a group", () => dangerOfCommand(`(a${" ".repeat(many)};)`, { root: "/w" })],
  [
    "blanks before what ends a condition",
    () => dangerOfCommand(`if a; then b;${" ".repeat(many)}fi x`, { root: "/w" }),
  ],
  ["blanks in a script of sed", () => isHarmlessSedScript(`q${" ".repeat(many)}x`)],
  ["a command of the length that is read", () => unitsOfCommand(`{ a${" ".repeat(8_000)};${" ".repeat(100)}}x`)],
])("%s are read in no time", (_what, act) => {
  const before = process.threadCpuUsage();
  act();
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(2_000);
});

test("an address within a word is no path, wherever it begins", () => {
  const danger = (word: string) => dangerOfCommand(`cat ${word}`, { root: "/w" });
  expect(danger("https://example.test/../../etc")).toBeUndefined();
  expect(danger("1.2-https://example.test/../../etc")).toBeUndefined();
  expect(danger("../etc")).toBe("outside_root");
});
