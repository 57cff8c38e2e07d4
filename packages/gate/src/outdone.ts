import { effectiveApprovalPolicy, effectiveDials, layerOrder } from "./layers.ts";
import { effectiveMode } from "./modes.ts";
import type { LayerName, Mode } from "./rule.ts";
import { rulesFor } from "./rule-targets.ts";
import type { Policy, ToolFacts } from "./types.ts";

/** What every call of a tool comes to whatever a rule says. */
export interface Outdoing {
  readonly verdict: "allow" | "ask" | "deny";
  /** As the gate names it, such as `ask_locked@app`. */
  readonly reason: string;
  /** Where it is said; undefined where the tool itself says so. */
  readonly layer: LayerName | undefined;
  readonly ruleId: string | undefined;
}

/**
 * What outdoes a rule of this mode for every call of the tool, under a policy in which the rule stands: a deny or an off of
 * any layer, a lock further out, what asks under every rule, or that the tool is never gated. Undefined where some call
 * may go by the rule. In the order of the table.
 */
export function outdoneBy(tool: ToolFacts, mode: Mode, policy: Policy, now: Date): Outdoing | undefined {
  if (mode === "off") return undefined;
  const entry = effectiveMode(tool, policy, now);
  const said = (verdict: Outdoing["verdict"], reason: string): Outdoing => ({
    verdict,
    reason,
    layer: entry?.layer,
    ruleId: entry?.rules[0]?.id,
  });
  if (entry?.value === "off") return said("deny", `tool_off@${entry.layer}`);
  if (tool.neverGated === true) {
    return mode === "allow" ? undefined : { ...nowhere, verdict: "allow", reason: "never_gated" };
  }
  if (mode === "deny") return undefined;
  for (const layer of layerOrder) {
    const rule = rulesFor(tool, policy.layers[layer]?.rules ?? [], now).find(
      (one) => one.mode === "deny" && one.entries === undefined,
    );
    if (rule !== undefined)
      return { verdict: "deny", reason: `denied_by_rule:${rule.id}@${layer}`, layer, ruleId: rule.id };
  }
  if (mode === "ask") return undefined;
  if (tool.alwaysGate === true) return { ...nowhere, verdict: "ask", reason: "always_gate" };
  if (effectiveApprovalPolicy(policy, now) === "all") return { ...nowhere, verdict: "ask", reason: "policy_all" };
  if (entry?.value === "ask" && entry.isLocked) return said("ask", `ask_locked@${entry.layer}`);
  const still = effectiveDials(policy, now).find(({ value }) => value === "none");
  return still && { verdict: "ask", reason: "dial_none", layer: still.layer, ruleId: undefined };
}

const nowhere = { layer: undefined, ruleId: undefined };
