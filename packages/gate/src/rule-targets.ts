import { reachesCall } from "./entries.ts";
import type { Rule } from "./rule.ts";
import type { ToolFacts } from "./types.ts";
import type { Unit } from "./unit.ts";

const targetsBySpecificity = ["everything", "family", "server", "tool"] as const;

/**
 * The rules of a layer that reach a tool now: by its name, its server, one of its families, or everything, and not
 * expired. One that bears a former name reaches it only to tighten: an allow not at all, an allowlist without its entries.
 */
export function rulesFor(tool: ToolFacts, rules: readonly Rule[], now: Date): readonly Rule[] {
  return rules.flatMap((rule) => {
    if (rule.expiresAt !== undefined && rule.expiresAt <= now) return [];
    if (isTarget(tool, rule)) return [rule];
    const isFormerName = rule.target.kind === "tool" && (tool.aliases?.includes(rule.target.name) ?? false);
    if (!isFormerName || rule.mode === "allow") return [];
    return [rule.mode === "allowlist" ? { ...rule, entries: [] } : rule];
  });
}

function isTarget(tool: ToolFacts, { target }: Rule): boolean {
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
}

/** How narrow a rule's target is; the higher wins within a layer. */
export function specificityOf({ target }: Rule): number {
  return targetsBySpecificity.indexOf(target.kind);
}

/** A rule that vouches for units, or for a tool because a person said so. It sets no mode: it covers what it covers. */
export function isVouching({ mode, entries, remembered }: Rule): boolean {
  return mode === "allow" && (entries !== undefined || remembered === true);
}

/** Whether a rule speaks of this call: one that denies or asks by entries does where an entry reaches the call. */
export function speaksOf(rule: Rule, units: readonly Unit[] | undefined, args: unknown): boolean {
  if (rule.entries === undefined || rule.mode === "allowlist" || rule.mode === "off") return true;
  return rule.entries.some((entry) => reachesCall(entry, units, args));
}

/** The rules without the asks for one tool that an allow for its family, written later in the same layer, made stale. */
export function withoutStaleAsks(rules: readonly Rule[]): readonly Rule[] {
  const familyAllows = rules.filter(
    ({ mode, target }) => mode === "allow" && (target.kind === "family" || target.kind === "server"),
  );
  if (familyAllows.length === 0) return rules;
  return rules.filter(({ mode, target, locked, createdAt }) => {
    if (mode !== "ask" || target.kind !== "tool" || locked === true || createdAt === undefined) return true;
    return !familyAllows.some((allow) => allow.createdAt !== undefined && createdAt < allow.createdAt);
  });
}
