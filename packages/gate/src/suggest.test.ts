import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import type { Rule } from "./rule.ts";
import { type DecidedCall, suggestRules } from "./suggest.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { ToolFacts } from "./types.ts";
import type { Unit } from "./unit.ts";

let count = 0;
function decided(
  decision: DecidedCall["decision"],
  units: readonly (string | Unit)[] | undefined,
  facts: Partial<ToolFacts> = {},
): DecidedCall {
  count += 1;
  const call = makeCall({ needsApproval: true, ...(units === undefined ? {} : { units: () => units }), ...facts });
  const policy = makePolicy({ toolset: new Set([call.name]) });
  return { id: `call-${count}`, call, policy, judgedAt: now, decision };
}

const approved = (...units: (string | Unit)[]) => decided("approve", units);
const denied = (...units: (string | Unit)[]) => decided("deny", units);

describe("suggestRules", () => {
  test("suggests what was approved often and never denied, as narrow as can be", () => {
    const history = [approved("a"), approved("a"), approved("a", "b"), approved("b"), approved("b"), approved("c")];
    const [suggestion, ...others] = suggestRules(history, "definition");
    expect(others).toEqual([]);
    expect(suggestion).toMatchObject({
      tool: "demo",
      saved: 5,
      rule: {
        target: { kind: "tool", name: "demo" },
        mode: "allow",
        entries: [
          { kind: "unit", unit: "a" },
          { kind: "unit", unit: "b" },
        ],
      },
    });
  });

  test("its examples are its tests: with the rule in force each gets the verdict that stands there", () => {
    const history = [...Array.from({ length: 5 }, () => approved("a")), approved("a", "z"), denied("z"), denied("y")];
    const suggestion = suggestRules(history, "workspace")[0];
    expect(suggestion?.examples.map(({ verdict }) => verdict)).toEqual([
      "allow",
      "allow",
      "allow",
      "ask",
      "ask",
      "ask",
    ]);
    for (const { id, verdict } of suggestion?.examples ?? []) {
      const example = history.find((one) => one.id === id);
      if (example === undefined || suggestion === undefined) throw new Error(`no example ${id}`);
      const rule: Rule = { ...suggestion.rule, id: "r" };
      const policy = { ...example.policy, layers: { workspace: { rules: [rule] } } };
      expect(decide(example.call, policy, now).verdict).toBe(verdict);
    }
  });

  test("never suggests a rule that would have let run what somebody denied", () => {
    const history = [approved("a"), approved("a"), approved("a"), denied("a")];
    expect(suggestRules(history, "run")).toEqual([]);
    const mixed = [...history, approved("b"), approved("b"), approved("b")];
    expect(suggestRules(mixed, "run")[0]?.rule.entries).toEqual([{ kind: "unit", unit: "b" }]);
  });

  test("a denial of something together with more does not speak against it", () => {
    const history = [approved("a"), approved("a"), approved("a"), denied("a", "rm x")];
    expect(suggestRules(history, "run")[0]).toMatchObject({ saved: 3 });
  });

  test("suggests nothing below the least number, which may be set", () => {
    const history = [approved("a"), approved("a")];
    expect(suggestRules(history, "run")).toEqual([]);
    expect(suggestRules(history, "run", 2)).toHaveLength(1);
  });

  test.each([
    ["always asks", { alwaysGate: true }],
    ["sees a danger", { safety: () => "outside_root" }],
  ])("suggests nothing for a tool that %s", (_what, facts) => {
    const history = Array.from({ length: 9 }, () => decided("approve", ["a"], facts));
    expect(suggestRules(history, "run")).toEqual([]);
  });

  test("suggests nothing for what no entry can vouch for", () => {
    const unit: Unit = { text: "sh x", unkeyable: "interpreter" };
    expect(suggestRules([approved(unit), approved(unit), approved(unit)], "run")).toEqual([]);
  });

  test("uses keys, not the texts as they were written", () => {
    const unit = (text: string): Unit => ({ text, key: "git status" });
    const history = [approved(unit("git status")), approved(unit("git status -s")), approved(unit("git  status"))];
    expect(suggestRules(history, "run")[0]?.rule.entries).toEqual([{ kind: "unit", unit: "git status" }]);
  });

  test("for a tool that names no units the rule is for the tool", () => {
    const history = Array.from({ length: 3 }, () => decided("approve", undefined));
    expect(suggestRules(history, "run")[0]?.rule).toEqual({ target: { kind: "tool", name: "demo" }, mode: "allow" });
  });

  test("the tool that would save most comes first", () => {
    const other = () => decided("approve", ["x"], { name: "other" });
    const history = [approved("a"), approved("a"), approved("a"), other(), other(), other(), other()];
    expect(suggestRules(history, "run").map(({ tool }) => tool)).toEqual(["other", "demo"]);
  });
});
