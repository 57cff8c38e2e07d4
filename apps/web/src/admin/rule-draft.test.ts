import { expect, test } from "vitest";
import {
  changeOf,
  type Draft,
  draftOf,
  instantOf,
  localMoment,
  type Rule,
  ruleLines,
  sentEntries,
} from "./rule-draft.ts";

const rule: Rule = {
  id: "r",
  version: 3,
  target: { kind: "tool", name: "os.exec" },
  mode: "allowlist",
  entries: [
    { kind: "command", command: "git status" },
    { kind: "pattern", pattern: "ls( -[al]+)?" },
    { kind: "unit", unit: "src/a b.ts" },
    { kind: "argument", name: "cwd", value: "/tmp" },
  ],
  locked: true,
  isRemembered: false,
  approvalId: null,
  expiresAt: "2040-01-01T00:00:00.123Z",
  createdBy: null,
  updatedAt: "2030-01-01T00:00:00.000Z",
};

const blank = draftOf(undefined);

test("a rule that is opened and not touched is sent as it is, to the millisecond", () => {
  expect(changeOf(draftOf(rule), rule)).toEqual({
    target: rule.target,
    mode: "allowlist",
    entries: rule.entries,
    locked: true,
    expiresAt: rule.expiresAt,
  });
});

test("a moment is typed in the browser's zone and sent as an instant; an empty one is none", () => {
  const typed = localMoment("2040-06-01T12:30:00.000Z");
  expect(changeOf({ ...blank, name: "kb.read", expiresAt: typed }, undefined)).toEqual({
    target: { kind: "tool", name: "kb.read" },
    mode: "ask",
    expiresAt: "2040-06-01T12:30:00.000Z",
  });
  expect(changeOf({ ...draftOf(rule), expiresAt: "" }, rule)).not.toHaveProperty("expiresAt");
});

test("what is no moment, or not yet, is left as it was typed", () => {
  for (const typed of ["20266-12-01T12:00", "275760-09-14T00:00", "soon"]) {
    expect(instantOf(typed, rule.expiresAt)).toBe(typed);
    expect(instantOf(typed, null)).toBe(typed);
  }
});

test("rows with nothing in them are not sent, nor any of what is off; blanks inside a row stay", () => {
  const entries: Draft["entries"] = [
    { key: 0, kind: "unit", name: "", text: " " },
    { key: 1, kind: "unit", name: "", text: " a" },
  ];
  expect(sentEntries({ ...blank, entries }).map(({ key }) => key)).toEqual([1]);
  expect(changeOf({ ...blank, name: " kb.read ", entries }, undefined)).toMatchObject({
    target: { name: "kb.read" },
    entries: [{ kind: "unit", unit: " a" }],
  });
  expect(changeOf({ ...blank, mode: "off", entries }, undefined)).not.toHaveProperty("entries");
});

test("what a rule says is a line for each thing it says", () => {
  expect(ruleLines(undefined)).toBe("");
  expect(ruleLines({ mode: "deny" })).toBe("deny");
  expect(ruleLines(changeOf(draftOf(rule), rule)).split("\n")).toEqual([
    "ask, but for the list",
    "a command: git status",
    "a pattern: /ls( -[al]+)?/",
    "a path or host: src/a b.ts",
    "an argument: cwd=/tmp",
    "locked",
    "until 2040-01-01T00:00:00.123Z",
  ]);
});
