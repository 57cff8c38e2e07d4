import { expect, test } from "vitest";
import { z } from "zod";
import { outdoneBy } from "./outdone.ts";
import type { LayerPolicy, Mode, Rule } from "./rule.ts";
import type { Policy, ToolFacts } from "./types.ts";

const now = new Date("2026-01-31T09:00:00Z");
const mail: ToolFacts = { name: "mail.send", family: "mail", description: "", schema: z.object({}) };

const ruleOf = (mode: Mode, more: Partial<Rule> = {}): Rule => ({
  id: `${mode}-rule`,
  target: { kind: "tool", name: "mail.send" },
  mode,
  ...more,
});

function policyOf(layers: Policy["layers"]): Policy {
  return {
    versions: "",
    layers,
    kills: [],
    toolset: new Set(["mail.send"]),
    grants: new Set(),
    denials: [],
    unattended: "park",
    canAnybodyAnswer: true,
  };
}

function outdone(mode: Mode, app: LayerPolicy, tool = mail): string | undefined {
  const policy = policyOf({ workspace: { rules: [ruleOf(mode)] }, app });
  return outdoneBy(tool, mode, policy, now)?.reason;
}

test("a rule is outdone by a locked ask, an off or a deny further out", () => {
  expect(outdone("allow", { rules: [ruleOf("ask", { locked: true })] })).toBe("ask_locked@app");
  expect(outdone("allow", { rules: [ruleOf("off", { locked: true })] })).toBe("tool_off@app");
  expect(outdone("ask", { rules: [ruleOf("off", { locked: true })] })).toBe("tool_off@app");
  expect(outdone("allow", { rules: [ruleOf("deny")] })).toBe("denied_by_rule:deny-rule@app");
  expect(outdone("allow", { rules: [ruleOf("ask", { locked: true, target: { kind: "everything" } })] })).toBe(
    "ask_locked@app",
  );
});

test("what is not locked, speaks of some calls alone, is over or of another tool outdoes nothing", () => {
  for (const rule of [
    ruleOf("ask"),
    ruleOf("off"),
    ruleOf("deny", { entries: [{ kind: "unit", unit: "a@example.org" }] }),
    ruleOf("ask", { locked: true, expiresAt: now }),
    ruleOf("ask", { locked: true, target: { kind: "tool", name: "kb.read" } }),
  ]) {
    expect(outdone("allow", { rules: [rule] })).toBeUndefined();
  }
  expect(outdone("ask", { rules: [ruleOf("ask", { locked: true })] })).toBeUndefined();
  expect(outdone("deny", { rules: [ruleOf("allow", { locked: true })] })).toBeUndefined();
});

test("what asks under every rule outdoes an allow, and a tool that is never gated any rule but off", () => {
  expect(outdone("allow", {}, { ...mail, alwaysGate: true })).toBe("always_gate");
  expect(outdone("allow", { approvalPolicy: { level: "all", locked: true } })).toBe("policy_all");
  expect(outdone("allowlist", { dial: { level: "none" } })).toBe("dial_none");
  expect(outdone("ask", { dial: { level: "none" } })).toBeUndefined();
  const question: ToolFacts = { ...mail, neverGated: true };
  expect(outdone("deny", {}, question)).toBe("never_gated");
  expect(outdone("off", {}, question)).toBeUndefined();
  expect(outdone("allow", {}, question)).toBeUndefined();
});
