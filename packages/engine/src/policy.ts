import { effectiveMode } from "@countersign/gate/modes.ts";
import type { LayerPolicy } from "@countersign/gate/rule.ts";
import type { Policy } from "@countersign/gate/types.ts";
import { z } from "zod";
import type { Definition } from "./definition.ts";
import type { AdvertisedTool } from "./model.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import { readPolicy } from "./stored-policy.ts";
import type { Tool } from "./tool.ts";
import type { Tools } from "./tools.ts";

/** What a run's policy is made of beside its definition. */
export type PolicyFacts = Pick<
  RunSnapshot,
  "databaseTime" | "readAt" | "policyVersions" | "policy" | "killed" | "grants" | "denials" | "canAnybodyAnswer"
>;

/** The time now by the database's clock, which rules and dials expire by, whatever this machine's says. */
export function timeOf({ databaseTime, readAt }: Pick<RunSnapshot, "databaseTime" | "readAt">): Date {
  return new Date(databaseTime + performance.now() - readAt);
}

/**
 * The policy a run is judged under, from what the snapshot and the definition say. What was set at the definition's scope
 * since goes before what the definition itself says.
 */
export function policyOf(snapshot: PolicyFacts, definition: Definition): Policy {
  const stored = readPolicy(snapshot.policy);
  return {
    versions: snapshot.policyVersions,
    layers: {
      ...stored.layers,
      definition: { ...declaredBy(definition), ...withoutExpiredDial(stored.layers.definition, timeOf(snapshot)) },
    },
    kills: [...(snapshot.killed === null ? [] : [{ scope: snapshot.killed }]), ...stored.switches],
    toolset: new Set(definition.toolset),
    grants: new Set(snapshot.grants),
    denials: snapshot.denials,
    pins: stored.pins,
    denylistSoftened: stored.softened,
    ...(definition.companions === undefined ? {} : { bindings: new Map(Object.entries(definition.companions)) }),
    ...(stored.isUnreadable ? { unreadable: true } : {}),
    unattended: definition.unattended,
    canAnybodyAnswer: snapshot.canAnybodyAnswer,
  };
}

/** What a definition says of its own layer. */
export function declaredBy({ approvalPolicy, dial }: Definition): LayerPolicy {
  return { approvalPolicy: { level: approvalPolicy }, ...(dial === undefined ? {} : { dial: { level: dial } }) };
}

/** A dial that is over no longer stands before the one that the definition itself has; nor does a `none` that was for as long. */
function withoutExpiredDial(layer: LayerPolicy | undefined, now: Date): LayerPolicy | undefined {
  if (layer?.dial?.expiresAt === undefined || layer.dial.expiresAt > now) return layer;
  const { dial: _over, approvalPolicy, ...rest } = layer;
  return { ...rest, ...(approvalPolicy === undefined || approvalPolicy.level === "none" ? {} : { approvalPolicy }) };
}

/** Until when a verdict given `now` can hold: the next moment at which a rule or a dial stops to count. */
export function validUntil(snapshot: PolicyFacts, now: Date): Date | undefined {
  return readPolicy(snapshot.policy).expiries.find((at) => at > now);
}

/** The tools a run's model is told of: its toolset without what policy turned off `now`. The only place that builds the list. */
export function advertisedTools(definition: Definition, policy: Policy, now: Date, tools: Tools): AdvertisedTool[] {
  return definition.toolset.flatMap((name) => {
    const tool = tools.get(name)?.tool;
    if (tool === undefined || effectiveMode(tool, policy, now)?.value === "off") return [];
    return [advertise(tool)];
  });
}

const advertised = new WeakMap<Tool, AdvertisedTool>();

/** What a model is told of a tool; made once, since it is told with every turn. */
function advertise(tool: Tool): AdvertisedTool {
  const known = advertised.get(tool);
  if (known !== undefined) return known;
  const { name, description, schema } = tool;
  const made = { name, description, inputSchema: z.toJSONSchema(schema) };
  advertised.set(tool, made);
  return made;
}
