import type { DialChange } from "@countersign/engine/commits/set-dial.ts";
import type { RuleChange } from "@countersign/engine/commits/set-rules.ts";
import type { WrittenRule } from "@countersign/engine/read-rules.ts";
import { keyOf } from "@countersign/engine/rule-changes.ts";
import type { Mode } from "@countersign/gate/rule.ts";

/** What tightens, the tightest last. */
const tightening: readonly Mode[] = ["ask", "off", "deny"];

type Change = Pick<RuleChange, "target" | "rule">;

/**
 * Whether calls could run under these changes that would have waited for a person, or been denied, by what the scope had
 * `written` before. A denial that takes the place of a wider one, a tighter one or one that holds longer lets calls run too.
 */
export function loosens(
  changes: readonly Change[],
  written: readonly WrittenRule[],
  { dial, approvalPolicy }: DialChange = {},
): boolean {
  const before = new Map(written.map((rule) => [keyOf(rule.target), rule]));
  return (
    changes.some(({ target, rule }) => !isAsTight(rule, before.get(keyOf(target)))) ||
    (dial !== undefined && (dial?.level !== "none" || dial.expiresAt !== undefined)) ||
    (approvalPolicy !== undefined && approvalPolicy?.level !== "all")
  );
}

function isAsTight(after: Change["rule"], before: WrittenRule | undefined): boolean {
  if (after === undefined || !tightening.includes(after.mode)) return false;
  if (before === undefined || before.mode === "allow" || before.isOver) return true;
  return (
    tightening.indexOf(after.mode) >= tightening.indexOf(before.mode) &&
    lastsAsLong(after.expiresAt, before.expiresAt) &&
    (after.entries === undefined ||
      (before.mode !== "allowlist" && before.entries !== undefined && holdsAll(after.entries, before.entries)))
  );
}

function lastsAsLong(after: Date | undefined, before: Date | undefined): boolean {
  return after === undefined || (before !== undefined && after >= before);
}

function holdsAll(after: readonly object[], before: readonly object[]): boolean {
  const held = new Set(after.map((entry) => JSON.stringify(entry)));
  return before.every((entry) => held.has(JSON.stringify(entry)));
}
