import { expect, test } from "vitest";
import { findTargetProblem } from "./export-target.ts";

test.each(["a.md", "a/b c/x.md", "con.md", "What?.md", "👩‍💻.md"])("%j is written", (path) => {
  expect(findTargetProblem(path, "linux")).toBeUndefined();
});

test.each([
  [".git/config"],
  ["a/.git/hooks/x.md"],
  [".GIT/x.md"],
  ["\u200c.git/x.md"],
  ["GIT~1/x.md"],
  ["../x.md"],
  ["a/../../x.md"],
  ["/etc/x.md"],
  ["a\\..\\x.md"],
  ["package.json"],
  ["build.sh"],
  ["x/Makefile"],
  ["x.md/run"],
])("%j is not written", (path) => {
  expect(findTargetProblem(path, "linux")).toMatch(/^it/);
});

test.each(["con.md", "NUL", "a/com1.txt.md", "a:b.md", "a./x.md"])("%j is not written on Windows", (path) => {
  expect(findTargetProblem(path, "win32")).toContain("Windows");
});
