import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { matchesWhole, problemOfPattern, reachesWhole } from "./patterns.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";

describe("matchesWhole", () => {
  test.each([
    ["git status", "git status", true],
    ["git status", "git status -s", false],
    ["status", "git status", false],
    ["^git (status|diff)$", "git diff", true],
    ["a|ab", "ab", true],
    ["git status", "git status\n", false],
    ["git status$", "git status\nrm x", false],
    ["git .*", "git a\nrm x", false],
    ["(?m)^ls$", "ls\nrm", false],
    ["(?s)git .*", "git a\nb", true],
    ["(?i)GIT", "git", true],
    ["mcp_fs_read src/.*", "mcp_fs_read src/a", true],
    ["mcp_fs_read src/.*", "mcp_fs_read ../src/a", false],
    ["é+", "éé", true],
    ["[^a]", "😀", true],
  ])("%j on %j: %s", (pattern, text, matches) => {
    expect(matchesWhole(pattern, text)).toBe(matches);
  });
});

test.each([
  ["rm .*", "rm 'a\nb'", true],
  ["rm .*", "rm a", true],
  ["rm", "rm\nx", false],
  ["(?-s)rm .*", "rm 'a\nb'", false],
  [String.raw`rm \Q.*`, "rm .*", true],
  ["(rm", "rm\n", false],
])("what denies or asks is not got around by a line end: %j on %j: %s", (pattern, text, reaches) => {
  expect(reachesWhole(pattern, text)).toBe(reaches);
});

describe("AZ68", () => {
  const greedy = ["^(a+)+$", "(a*)*b", "(a|a)*$", "(a|aa)+$", "(.*a){20}", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y"];
  const texts = [`${"a".repeat(40)}X`, `${"a".repeat(100_000)}X`, "x".repeat(100_000)];

  // A backtracking engine would not come back from the shortest of these within a lifetime.
  test.each(greedy)("%s is answered in linear time, and never lets run what it does not match", (pattern) => {
    for (const text of texts) {
      const call = makeCall({ units: () => [text] });
      const rule = {
        id: "r",
        target: { kind: "everything" },
        mode: "allowlist",
        entries: [{ kind: "pattern", pattern }],
      } as const;
      const { verdict } = decide(call, makePolicy({ layers: { app: { rules: [rule] } } }), now);
      expect(verdict).toBe(matchesWhole(pattern, text) === true ? "allow" : "ask");
    }
    expect(matchesWhole(pattern, texts[0] ?? "")).toBe(false);
  });

  test.each([
    ["a".repeat(501), /501 characters/],
    ["", /empty/],
    ["a{1001}", /repeat counts/],
    ["(a{100}){100}", /repeat count/],
    ["a{600}b{600}", /add up to 1200/],
    ["a{2,900}b{101}", /add up to 1001/],
    ["(a", /missing closing/],
    ["(?=a)b", /unsupported/],
    ["(a)\\1", /escape/],
    ["a**", /repetition/],
    ["[z-a]", /range/],
  ])("%j is refused", (pattern, problem) => {
    expect(problemOfPattern(pattern)).toMatch(problem);
    expect(matchesWhole(pattern, "a")).toBeUndefined();
  });

  test.each(["deny", "ask", "allowlist", "allow"] as const)(
    "a stored pattern that cannot be read, under %s, makes everything ask",
    (mode) => {
      const entries = [{ kind: "pattern", pattern: "(a" }] as const;
      const rule = { id: "r", target: { kind: "tool", name: "other" }, mode, entries } as const;
      const verdict = decide(makeCall({ tier: "read" }), makePolicy({ layers: { run: { rules: [rule] } } }), now);
      expect(verdict).toMatchObject({ verdict: "ask", row: "13", reason: "policy_unreadable" });
    },
  );
});
