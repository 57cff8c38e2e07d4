import type { CheckedRule } from "@countersign/gate/check-rules.ts";
import type { RuleTarget } from "@countersign/gate/rule.ts";
import { rulesFor } from "@countersign/gate/rule-targets.ts";
import type { RuleChange } from "./commits/set-rules.ts";
import type { WrittenRule } from "./read-rules.ts";
import type { Tools } from "./tools.ts";

/** The names of the tools that a rule of this target reaches, also by a former name; undefined for every tool. */
export function coversOf(target: RuleTarget, tools: Tools): readonly string[] | undefined {
  if (target.kind === "everything") return undefined;
  const probe = [{ id: "", target, mode: "deny" }] as const;
  const names = [...tools.values()].flatMap(({ tool }) =>
    rulesFor(tool, probe, new Date(0)).length > 0 ? [tool.name] : [],
  );
  // A name that no tool has any more may still be on calls that wait.
  return target.kind === "tool" && !names.includes(target.name) ? [...names, target.name] : names;
}

/** What has to change so that a scope has exactly the `wanted` rules: each as it is written, and none besides. */
export function changesTo(
  written: readonly WrittenRule[],
  wanted: readonly CheckedRule[],
  coversOf: (target: RuleTarget) => readonly string[] | undefined,
): RuleChange[] {
  const seen = new Map(written.map((rule) => [keyOf(rule.target), rule]));
  const kept = new Set(wanted.map(({ target }) => keyOf(target)));
  return [
    ...wanted.flatMap(({ target, ...rule }) => {
      const before = seen.get(keyOf(target));
      if (before !== undefined && isSame(before, rule)) return [];
      return [{ target, rule, covers: coversOf(target), seenVersion: before?.version ?? 0 }];
    }),
    ...written.flatMap(({ target, version }) =>
      kept.has(keyOf(target)) ? [] : [{ target, rule: undefined, covers: coversOf(target), seenVersion: version }],
    ),
  ];
}

/** A target as one text: equal for equal targets. */
export function keyOf(target: RuleTarget): string {
  return target.kind === "everything" ? target.kind : `${target.kind}:${target.name}`;
}

type Said = Omit<CheckedRule, "target">;

function isSame(before: Said, after: Said): boolean {
  return (
    before.mode === after.mode &&
    (before.locked === true) === (after.locked === true) &&
    before.expiresAt?.getTime() === after.expiresAt?.getTime() &&
    JSON.stringify(before.entries) === JSON.stringify(after.entries)
  );
}
