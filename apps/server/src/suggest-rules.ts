import type { Queryable } from "@countersign/db/connect.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import { decide } from "@countersign/gate/decide.ts";
import type { LayerName, Rule } from "@countersign/gate/rule.ts";
import { simulate } from "@countersign/gate/simulate.ts";
import { type DecidedCall, suggestRules, type Suggestion } from "@countersign/gate/suggest.ts";
import type { Policy } from "@countersign/gate/types.ts";
import type { z } from "@hono/zod-openapi";
import type { PolicyScope } from "./policy-scope.ts";
import { type RecordedCall, readRecordedCalls } from "./recorded-calls.ts";
import type { suggestionsSchema } from "./shapes/explain.ts";

/**
 * Rules of the scope that would have let run what people approved `least` times in the last days and never denied, the one
 * that saves most first. What runs unasked by now is not counted. Each was tried on all calls of the time: it is suggested
 * only where its examples come out as they are told.
 */
export async function suggestForScope(
  sql: Queryable,
  scope: PolicyScope,
  asked: { readonly days: number; readonly least: number; readonly workspaceId: string; readonly userId: string },
  tools: Tools,
): Promise<z.infer<typeof suggestionsSchema>> {
  const { calls, isTruncated, since } = await readRecordedCalls(sql, scope, asked, tools);
  const decided = calls.filter(isDecided);
  const counted = decided.filter((call) => call.decision === "deny" || asksNow(call));
  return {
    scope: scope.scope,
    id: scope.scopeId,
    since,
    isTruncated,
    decided: decided.length,
    suggestions: suggestRules(counted, scope.scope, asked.least).flatMap((suggestion) =>
      tryOut(suggestion, calls, scope.scope),
    ),
  };
}

function isDecided(call: RecordedCall): call is RecordedCall & DecidedCall {
  return call.decision !== undefined;
}

function asksNow({ call, policy, judgedAt }: RecordedCall): boolean {
  return decide(call, policy, judgedAt).verdict === "ask";
}

function tryOut(
  { tool, rule, saved, examples }: Suggestion,
  calls: readonly RecordedCall[],
  layer: LayerName,
): z.infer<typeof suggestionsSchema>["suggestions"] {
  const ofTool = calls.filter(({ call }) => call.tool?.name === tool);
  const { changes } = simulate(ofTool, (policy) =>
    withRule(policy, layer, { ...rule, id: "suggested", createdAt: new Date() }),
  );
  const freed = new Set(changes.flatMap(({ id, after }) => (after.verdict === "allow" ? [id] : [])));
  const byId = new Map(ofTool.map((call) => [call.id, call]));
  const shown = examples.flatMap(({ id, verdict }) => {
    const call = byId.get(id);
    if (call?.decision === undefined || (verdict === "allow") !== freed.has(id)) return [];
    return [{ callId: id, runId: call.runId, decision: call.decision, verdict }];
  });
  if (shown.length < examples.length) return [];
  const { target, mode, entries } = rule;
  return [
    {
      rule: { target, mode, entries: entries === undefined ? null : [...entries] },
      saved,
      freed: freed.size,
      examples: shown,
    },
  ];
}

function withRule(policy: Policy, layer: LayerName, rule: Rule): Policy {
  const said = policy.layers[layer];
  return { ...policy, layers: { ...policy.layers, [layer]: { ...said, rules: [...(said?.rules ?? []), rule] } } };
}
