import { expect, test } from "vitest";
import type { Rule } from "./rule.ts";
import { type RecordedVerdict, simulate } from "./simulate.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { Policy } from "./types.ts";

const day = 86_400_000;

function recorded(id: string, unit: string, more: Partial<RecordedVerdict> = {}): RecordedVerdict {
  return { id, call: makeCall({ units: () => [unit] }), policy: makePolicy(), judgedAt: now, ...more };
}

function withRule(rule: Omit<Rule, "id" | "target">): (policy: Policy) => Policy {
  const added: Rule = { id: "new", target: { kind: "tool", name: "demo" }, ...rule };
  return (policy) => ({ ...policy, layers: { ...policy.layers, workspace: { rules: [added] } } });
}

test("says what a rule would have changed, and counts both sides", () => {
  const calls = [recorded("1", "one"), recorded("2", "two"), recorded("3", "one")];
  const simulation = simulate(calls, withRule({ mode: "allowlist", entries: [{ kind: "unit", unit: "one" }] }));
  expect(simulation).toMatchObject({
    judged: 3,
    before: { allow: 0, ask: 3, deny: 0 },
    after: { allow: 2, ask: 1, deny: 0 },
  });
  expect(simulation.changes.map(({ id, before, after }) => [id, before.row, after.row, after.verdict])).toEqual([
    ["1", "24", "17", "allow"],
    ["2", "24", "18", "ask"],
    ["3", "24", "17", "allow"],
  ]);
});

test("a change that changes nothing has no changes", () => {
  const calls = [recorded("1", "one"), recorded("2", "two")];
  expect(simulate(calls, (policy) => policy).changes).toEqual([]);
  const other = withRule({ mode: "deny", entries: [{ kind: "unit", unit: "three" }] });
  expect(simulate(calls, other).changes).toEqual([]);
});

test("each call is judged at its own time", () => {
  const old = recorded("old", "one", { judgedAt: new Date(now.getTime() - day) });
  const rule = withRule({ mode: "deny", expiresAt: now });
  const { changes } = simulate([old, recorded("new", "one")], rule);
  expect(changes.map(({ id }) => id)).toEqual(["old"]);
});

test("of no calls there is nothing to say", () => {
  expect(simulate([], (policy) => policy)).toMatchObject({ judged: 0, changes: [] });
});
