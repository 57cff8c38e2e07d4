import type { Queryable } from "@countersign/db/connect.ts";
import { appScope } from "@countersign/engine/commits/kill-scope.ts";
import { grantsOf } from "@countersign/engine/definition.ts";
import { type PolicyFacts, policyOf, timeOf } from "@countersign/engine/policy.ts";
import { readPolicyFacts, readPolicyFactsOfScope } from "@countersign/engine/read-policy-facts.ts";
import { readPolicy } from "@countersign/engine/stored-policy.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { effectiveApprovalPolicy, effectiveDials } from "@countersign/gate/layers.ts";
import { effectiveMode } from "@countersign/gate/modes.ts";
import type { LayerName, Mode, RuleTarget } from "@countersign/gate/rule.ts";
import type { Policy, ToolFacts } from "@countersign/gate/types.ts";
import type { PolicyScope } from "./policy-scope.ts";
import { Problem } from "./problem.ts";
import type { EffectivePolicy, Layer } from "./shapes/rules.ts";

/** A policy, and the time of the database at which it is to be asked. */
export interface PolicyNow {
  readonly policy: Policy;
  readonly now: Date;
}

/** The policy that calls in a scope are judged under now. For a workspace or the app: of a definition that says nothing and offers every tool. */
export async function readEffectivePolicy(sql: Queryable, scope: PolicyScope, tools: Tools): Promise<PolicyNow> {
  // The app has no workspace: for its own id there is nothing but its layer.
  const { workspaceId = appScope.scopeId, definition, definitionId } = scope;
  if (scope.scope === "run") {
    const facts = await readPolicyFacts(sql, workspaceId, scope.scopeId);
    if (facts === undefined || definition === undefined) throw unreadable(scope);
    return { policy: policyOf(facts, definition), now: timeOf(facts) };
  }
  if (scope.scope === "definition") {
    if (definition === undefined) throw unreadable(scope);
    const grants = grantsOf(definition, tools);
    const facts = await readPolicyFactsOfScope(sql, workspaceId, definitionId, grants);
    return { policy: policyOf(facts, definition), now: timeOf(facts) };
  }
  const facts = await readPolicyFactsOfScope(sql, workspaceId, undefined, capabilitiesOf(tools));
  return { policy: policyOfWorkspace(facts, tools), now: timeOf(facts) };
}

function policyOfWorkspace(facts: PolicyFacts, tools: Tools): Policy {
  const stored = readPolicy(facts.policy);
  return {
    versions: facts.policyVersions,
    layers: stored.layers,
    kills: [...(facts.killed === null ? [] : [{ scope: facts.killed }]), ...stored.switches],
    toolset: new Set(tools.keys()),
    grants: new Set(facts.grants),
    denials: [],
    pins: stored.pins,
    denylistSoftened: stored.softened,
    ...(stored.isUnreadable ? { unreadable: true } : {}),
    unattended: "park",
    canAnybodyAnswer: facts.canAnybodyAnswer,
  };
}

function capabilitiesOf(tools: Tools): string[] {
  return [...new Set([...tools.values()].flatMap(({ tool }) => tool.requires ?? []))];
}

/** What a scope comes to for each of its tools, and the layer that says so. */
export function showEffective(
  scope: PolicyScope,
  layer: Layer,
  { policy, now }: PolicyNow,
  tools: Tools,
): EffectivePolicy {
  const [dial] = effectiveDials(policy, now);
  const names = scope.definition?.toolset ?? [...tools.keys()].toSorted();
  const killed = (kind: "tool" | "server", name: string | undefined) =>
    policy.kills.some((kill) => kill.scope === kind && kill.name === name);
  return {
    scope: scope.scope,
    id: scope.scopeId,
    version: layer.version,
    dial: dial === undefined ? null : { level: dial.value, layer: dial.layer, locked: dial.isLocked },
    approvalPolicy: { level: effectiveApprovalPolicy(policy, now) },
    tools: names.flatMap((name) => {
      const tool = tools.get(name)?.tool;
      if (tool === undefined) return [];
      const entry = effectiveMode(tool, policy, now);
      const own = layer.rules.find(
        ({ target, isRemembered }) => !isRemembered && target.kind === "tool" && target.name === name,
      );
      return [
        {
          name,
          family: tool.family ?? null,
          server: tool.server ?? null,
          effective:
            entry === undefined
              ? null
              : { mode: entry.value, layer: entry.layer, locked: entry.isLocked, ruleId: entry.rules[0]?.id ?? "" },
          own: own === undefined ? null : { id: own.id, mode: own.mode, version: own.version },
          isOffered: entry?.value !== "off",
          isKilled: killed("tool", name) || killed("server", tool.server),
        },
      ];
    }),
  };
}

/** The mode that a target would have in a scope that said nothing of it: what the scope says of wider targets, and the layers further out. */
export function inheritedMode(
  { policy, now }: PolicyNow,
  layer: LayerName,
  target: RuleTarget,
  tools: Tools,
): Mode | undefined {
  const said = policy.layers[layer];
  const rules = (said?.rules ?? []).filter((rule) => rule.remembered === true || !isTarget(rule.target, target));
  const without = { ...policy, layers: { ...policy.layers, [layer]: { ...said, rules } } };
  const tool = factsOf(target, tools);
  return tool && effectiveMode(tool, without, now)?.value;
}

/** What the gate would read of a tool of which only this is known. */
function factsOf(target: RuleTarget, tools: Tools): ToolFacts | undefined {
  switch (target.kind) {
    case "everything":
      return undefined;
    case "tool":
      return tools.get(target.name)?.tool;
    case "family":
    case "server": {
      const member = [...tools.values()].find(({ tool }) => tool[target.kind] === target.name)?.tool;
      return member && { ...member, name: "", aliases: [], [target.kind]: target.name };
    }
  }
}

function isTarget(one: RuleTarget, other: RuleTarget): boolean {
  return one.kind === other.kind && ("name" in one ? one.name : "") === ("name" in other ? other.name : "");
}

function unreadable({ scope, scopeId }: PolicyScope): Problem {
  return new Problem(
    "wrong_kind",
    `The definition of the ${scope} ${scopeId} cannot be read as it is stored, so nobody can say what its calls would come to. Apply it anew.`,
  );
}
