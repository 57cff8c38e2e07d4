import type { Queryable } from "@countersign/db/connect.ts";
import type { Tools } from "@countersign/engine/tools.ts";
import type { CheckedLayer } from "@countersign/gate/policy-document.ts";
import { simulate } from "@countersign/gate/simulate.ts";
import type { LayerPolicy } from "@countersign/gate/rule.ts";
import type { Policy, Verdict } from "@countersign/gate/types.ts";
import type { z } from "@hono/zod-openapi";
import { readDocument } from "./apply-policy.ts";
import type { PolicyScope } from "./policy-scope.ts";
import { readRecordedCalls } from "./recorded-calls.ts";
import type { simulationSchema } from "./shapes/explain.ts";

const mostShown = 200;

/**
 * What the calls of the last days would have come to if the scope had said what the document says, in place of all it
 * says: judged twice with the tools and the rest of the policy as they are now, so that what differs is the document.
 * What people denied, and kill switches, are left out on both sides. Of a document that is text the lines are its own.
 */
export async function simulateDocument(
  sql: Queryable,
  scope: PolicyScope,
  asked: {
    readonly document: object | string;
    readonly days: number;
    readonly workspaceId: string;
    readonly userId: string;
  },
  tools: Tools,
): Promise<z.infer<typeof simulationSchema>> {
  const text = typeof asked.document === "string" ? asked.document : JSON.stringify(asked.document, null, 2);
  const layer = readDocument(text, scope, tools, "Nothing was tried: this is not a policy.");
  const { calls, isTruncated, since } = await readRecordedCalls(sql, scope, asked, tools);
  const declared = new Map(calls.map((call) => [call.policy, call.declared]));
  const { judged, before, after, changes } = simulate(calls, (policy) =>
    underDocument(policy, scope, layer, declared.get(policy)),
  );
  const byId = new Map(calls.map((call) => [call.id, call]));
  return {
    judged,
    isTruncated,
    since,
    before,
    after,
    changeCount: changes.length,
    changes: changes.slice(0, mostShown).map((change) => ({
      callId: change.id,
      runId: byId.get(change.id)?.runId ?? "",
      tool: byId.get(change.id)?.call.name ?? "",
      before: told(change.before),
      after: told(change.after),
    })),
  };
}

function underDocument(
  policy: Policy,
  { scope }: PolicyScope,
  layer: CheckedLayer,
  declared: LayerPolicy | undefined,
): Policy {
  const said = policy.layers[scope];
  const remembered = (said?.rules ?? []).filter((rule) => rule.remembered === true);
  const now = new Date();
  const rules = layer.rules.map((rule, index) => ({ ...rule, id: `simulated:${index + 1}`, createdAt: now }));
  return {
    ...policy,
    layers: {
      ...policy.layers,
      [scope]: {
        ...(scope === "definition" ? declared : {}),
        rules: [...remembered, ...rules],
        ...(layer.dial === undefined ? {} : { dial: layer.dial }),
        ...(layer.approvalPolicy === undefined ? {} : { approvalPolicy: layer.approvalPolicy }),
      },
    },
  };
}

function told({ verdict, row, reason }: Verdict): { verdict: Verdict["verdict"]; row: string; reason: string } {
  return { verdict, row, reason };
}
