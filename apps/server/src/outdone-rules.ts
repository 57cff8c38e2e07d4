import type { Queryable } from "@countersign/db/connect.ts";
import type { RuleChange } from "@countersign/engine/commits/set-rules.ts";
import { keyOf } from "@countersign/engine/rule-changes.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { outdoneBy } from "@countersign/gate/outdone.ts";
import type { LayerName, Rule } from "@countersign/gate/rule.ts";
import type { Policy } from "@countersign/gate/types.ts";
import type { z } from "@hono/zod-openapi";
import { readEffectivePolicy } from "./effective-policy.ts";
import type { PolicyScope } from "./policy-scope.ts";
import type { outdoneSchema } from "./shapes/rules.ts";

type Outdone = z.infer<typeof outdoneSchema>;

/**
 * For each target that the changes name, by its key: what holds for every call of it whatever the changed rule says. A
 * target whose rule has an effect on some call is not among them.
 */
export async function findOutdone(
  sql: Queryable,
  scope: PolicyScope,
  changes: readonly RuleChange[],
  tools: Tools,
): Promise<ReadonlyMap<string, Outdone>> {
  const hasDefinition = scope.scope === "run" || scope.scope === "definition";
  if (changes.every(({ rule }) => rule === undefined) || (hasDefinition && scope.definition === undefined))
    return new Map();
  const { policy: stored, now } = await readEffectivePolicy(sql, scope, tools);
  const policy = withChanges(stored, scope.scope, changes);
  return new Map(
    changes.flatMap((change) => {
      const outdone = outdoneOf(change, policy, tools, now);
      return outdone === undefined ? [] : [[keyOf(change.target), outdone] as const];
    }),
  );
}

function outdoneOf({ rule, covers }: RuleChange, policy: Policy, tools: Tools, now: Date): Outdone | undefined {
  if (rule === undefined) return undefined;
  const covered = (covers ?? [...tools.keys()]).flatMap((name) => tools.get(name)?.tool ?? []);
  const found = covered.map((tool) => outdoneBy(tool, rule.mode, policy, now));
  const [first] = found;
  if (first === undefined || found.includes(undefined)) return undefined;
  const { verdict, reason, layer = null, ruleId = null } = first;
  return { verdict, reason, layer, ruleId };
}

/** The policy with the changes made, also where they are not written yet. */
function withChanges(policy: Policy, layer: LayerName, changes: readonly RuleChange[]): Policy {
  const said = policy.layers[layer];
  const keys = new Set(changes.map(({ target }) => keyOf(target)));
  const others = (said?.rules ?? []).filter((rule) => rule.remembered === true || !keys.has(keyOf(rule.target)));
  const changed = changes.flatMap(({ target, rule }): Rule[] => {
    if (rule === undefined) return [];
    const { mode, entries, locked, expiresAt } = rule;
    return [
      {
        id: keyOf(target),
        target,
        mode,
        ...(entries === undefined ? {} : { entries }),
        ...(locked === undefined ? {} : { locked }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
      },
    ];
  });
  return { ...policy, layers: { ...policy.layers, [layer]: { ...said, rules: [...others, ...changed] } } };
}
