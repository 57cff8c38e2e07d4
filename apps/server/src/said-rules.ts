import type { RuleChange } from "@countersign/engine/commits/set-rules.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import type { KnownTools } from "@countersign/gate/check-rules.ts";

/** The tools that rules can speak of. */
export function knownTools(tools: Tools): KnownTools {
  return { tools: [...tools.values()].map(({ tool }) => tool) };
}

/** What a rule says, as it is shown before and after a change; undefined where there is none. */
export function saidBy(rule: RuleChange["rule"]): object | undefined {
  if (rule === undefined) return undefined;
  const { mode, entries, locked, expiresAt } = rule;
  return {
    mode,
    ...(entries === undefined ? {} : { entries }),
    ...(locked === true ? { locked } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}
