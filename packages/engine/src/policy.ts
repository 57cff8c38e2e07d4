import { effectiveMode } from "@countersign/gate/layers.ts";
import type { Policy } from "@countersign/gate/types.ts";
import { z } from "zod";
import type { Definition } from "./definition.ts";
import type { AdvertisedTool } from "./model.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import type { Tools } from "./tools.ts";

/** The policy a run is judged under, from what the snapshot and the definition say. */
export function policyOf(snapshot: RunSnapshot, definition: Definition): Policy {
  return {
    versions: snapshot.policyVersions,
    layers: {
      definition: {
        approvalPolicy: { level: definition.approvalPolicy },
        ...(definition.dial === undefined ? {} : { dial: { level: definition.dial } }),
      },
    },
    kills: snapshot.killed === null ? [] : [{ scope: snapshot.killed }],
    toolset: new Set(definition.toolset),
    grants: new Set(snapshot.grants),
    denials: snapshot.denials,
    unattended: definition.unattended,
    canAnybodyAnswer: snapshot.canAnybodyAnswer,
  };
}

/** The tools a run's model is told of: its toolset without what policy turned off. The only place that builds the list. */
export function advertisedTools(definition: Definition, policy: Policy, tools: Tools): AdvertisedTool[] {
  return definition.toolset.flatMap((name) => {
    const tool = tools.get(name)?.tool;
    if (tool === undefined || effectiveMode(tool, policy)?.value === "off") return [];
    return [{ name, description: tool.description, inputSchema: z.toJSONSchema(tool.schema) }];
  });
}
