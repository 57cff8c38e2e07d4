import type {
  ApprovalPolicy,
  DialLevel,
  LayerName,
  LayerPolicy,
  Mode,
  Policy,
  Risk,
  Rule,
  Tier,
  ToolFacts,
} from "./types.ts";

/** Most specific first: across layers the first that says something wins. */
export const layerOrder: readonly LayerName[] = ["run", "definition", "workspace", "app"];

const modesByTightness: readonly Mode[] = ["allow", "allowlist", "ask", "off", "deny"];
const policiesByTightness: readonly ApprovalPolicy[] = ["none", "outbound", "all"];
const targetsBySpecificity = ["everything", "family", "server", "tool"] as const;

/** What a layer says about a tool, and whether inner layers may only tighten it. */
export interface Entry<T> {
  readonly layer: LayerName;
  readonly value: T;
  readonly isLocked: boolean;
}

/**
 * The entry that holds: of the innermost layer that says something, tightened by every
 * locked entry of a layer further out. Undefined where no layer says anything.
 */
function effectiveEntry<T>(entries: readonly Entry<T>[], byTightness: readonly T[]): Entry<T> | undefined {
  return entries.reduce<Entry<T> | undefined>((held, entry) => {
    if (held === undefined) return entry;
    // Of equals the locked entry holds: it is the one that nothing inside can loosen.
    const isAsTight = byTightness.indexOf(entry.value) >= byTightness.indexOf(held.value);
    return entry.isLocked && isAsTight ? entry : held;
  }, undefined);
}

/** The mode that the rules set for a tool, and where it stands. Undefined: the dial decides. */
export function effectiveMode(tool: ToolFacts, policy: Policy): Entry<Mode> | undefined {
  const entries = entriesOf(policy, (layer) => {
    const rule = mostSpecificRule(tool, layer.rules ?? []);
    return rule && { value: rule.mode, isLocked: rule.locked === true };
  });
  return effectiveEntry(entries, modesByTightness);
}

/** The approval policy that holds; `outbound` where no layer sets one. */
export function effectiveApprovalPolicy(policy: Policy): ApprovalPolicy {
  const entries = entriesOf(
    policy,
    ({ approvalPolicy: set }) => set && { value: set.level, isLocked: set.locked === true },
  );
  return effectiveEntry(entries, policiesByTightness)?.value ?? "outbound";
}

/**
 * The dials that a call must be within, all of them: the innermost unexpired one, then every
 * locked one further out (a dial of risks and a dial of tiers have no common order, so none of
 * them stands for the others). Empty where no layer sets an unexpired dial.
 */
export function effectiveDials(policy: Policy, now: Date): readonly DialLevel[] {
  const entries = entriesOf(policy, ({ dial }) => {
    const isExpired = dial?.expiresAt !== undefined && dial.expiresAt <= now;
    return dial === undefined || isExpired ? undefined : { value: dial.level, isLocked: dial.locked === true };
  });
  return entries.filter((entry, index) => index === 0 || entry.isLocked).map((entry) => entry.value);
}

/** Whether a dial lets a call run unasked. */
export function isWithinDial(level: DialLevel, tier: Tier, risk: Risk): boolean {
  switch (level) {
    case "none":
      return false;
    case "read-only":
      return risk === "read-only";
    case "low":
      return risk === "read-only" || risk === "low";
    case "high":
      return risk !== "unknown";
    case "read":
      return tier === "read";
    case "write":
      return tier === "read" || tier === "write";
  }
}

/** The rules that name a tool: by its name, its server, one of its families, or everything. */
export function rulesFor(tool: ToolFacts, rules: readonly Rule[]): readonly Rule[] {
  return rules.filter(({ target }) => {
    switch (target.kind) {
      case "tool":
        return target.name === tool.name;
      case "server":
        return target.name === tool.server;
      case "family":
        return target.name === tool.family || (target.name === "mcp" && tool.server !== undefined);
      case "everything":
        return true;
    }
  });
}

/** Of two rules with equally specific targets the tighter one. */
function mostSpecificRule(tool: ToolFacts, rules: readonly Rule[]): Rule | undefined {
  return rulesFor(tool, rules).toSorted(
    (a, b) =>
      targetsBySpecificity.indexOf(b.target.kind) - targetsBySpecificity.indexOf(a.target.kind) ||
      modesByTightness.indexOf(b.mode) - modesByTightness.indexOf(a.mode),
  )[0];
}

function entriesOf<T>(
  policy: Policy,
  read: (layer: LayerPolicy) => Omit<Entry<T>, "layer"> | undefined,
): readonly Entry<T>[] {
  return layerOrder.flatMap((layer) => {
    const said = policy.layers[layer] && read(policy.layers[layer]);
    return said ? [{ layer, ...said }] : [];
  });
}
