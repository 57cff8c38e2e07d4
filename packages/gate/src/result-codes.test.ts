import { describe, expect, test } from "vitest";
import { hashArguments } from "./canonical.ts";
import { decide } from "./decide.ts";
import { codeOfVerdict, resultCodes, textOfVerdict } from "./result-codes.ts";
import type { Rule } from "./rule.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { KillSwitch, Policy, Verdict } from "./types.ts";

const argsHash = hashArguments('{"a":"x"}');
const killTool: KillSwitch = { scope: "tool", name: "demo" };

function ruled(mode: Rule["mode"]): Partial<Policy> {
  return {
    layers: { app: { rules: [{ id: "secret-rule", target: { kind: "everything" }, mode }] } },
  };
}

const settled: readonly (readonly [string, Partial<Policy>, string])[] = [
  ["killed", { kills: [killTool] }, '{"a":"x"}'],
  ["invalid_args", {}, '{"a":1}'],
  ["tool_not_available", { toolset: new Set() }, '{"a":"x"}'],
  ["tool_off", ruled("off"), '{"a":"x"}'],
  ["policy_denied", ruled("deny"), '{"a":"x"}'],
  ["already_denied", { denials: [{ approvalId: "apr-9", tool: "demo", argsHash }] }, '{"a":"x"}'],
  ["no_approver", { unattended: "deny", canAnybodyAnswer: false }, '{"a":"x"}'],
];

describe("result codes", () => {
  test.each(settled)("%s is what the model gets", (code, policy, argsText) => {
    const verdict = decide(makeCall({}, argsText), makePolicy(policy), now);
    expect(codeOfVerdict(verdict)).toBe(code);
    expect(resultCodes).toContain(code);
    const text = textOfVerdict(verdict, "demo");
    expect(text).toContain("demo");
    expect(text).not.toMatch(/apr-9|secret-rule/);
  });

  test("a missing capability reads exactly so", () => {
    const verdict = decide(makeCall({ requires: ["mail.send"] }), makePolicy(), now);
    expect(codeOfVerdict(verdict)).toBe("capability_denied");
    expect(textOfVerdict(verdict, "demo")).toBe("capability denied: mail.send");
  });

  test("what is on the denylist is told by what it does", () => {
    const denylisted = [{ name: "rm-home", reason: "deletes a home folder" }];
    const call = makeCall({ units: () => [{ text: "rm -r ~", denylisted }] });
    const verdict = decide(call, makePolicy(), now);
    expect(codeOfVerdict(verdict)).toBe("policy_denied");
    expect(textOfVerdict(verdict, "demo")).toBe(
      'denied by policy: this call of "demo" deletes a home folder; find another way',
    );
  });

  test("a choice that nobody can make is told by what would have to be bound", () => {
    const call = makeCall({ options: () => [{ id: "a", label: "A" }], role: "analyze:image" });
    const verdict = decide(call, makePolicy({ unattended: "deny", canAnybodyAnswer: false }), now);
    expect(codeOfVerdict(verdict)).toBe("no_approver");
    expect(textOfVerdict(verdict, "demo")).toContain("needs an option for analyze:image");
  });

  test("invalid arguments are told in full", () => {
    const verdict = decide(makeCall({}, "{}"), makePolicy(), now);
    expect(textOfVerdict(verdict, "demo")).toMatch(/^invalid arguments for "demo": \$\.a: /);
  });

  test.each(["allow", "ask", "pick", "held"] as const)("%s has no result yet", (kind) => {
    const verdict: Verdict = { verdict: kind, row: "24", reason: "x" };
    expect(codeOfVerdict(verdict)).toBeUndefined();
    expect(textOfVerdict(verdict, "demo")).toBeUndefined();
  });

  test("a tool name of the model's own making is quoted and cut", () => {
    const verdict: Verdict = { verdict: "deny", row: "3", reason: "tool_not_available" };
    const text = textOfVerdict(verdict, `a"\n${"x".repeat(10_000)}`);
    expect(text).toContain(String.raw`"a\"\nx`);
    expect(text?.length).toBeLessThan(250);
  });
});
