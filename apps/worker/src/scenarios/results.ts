import type { Stage } from "@countersign/engine/scripted-model.ts";

type Result = Stage["results"][number];

/** The result of the last use of a tool; undefined where it was not used yet. */
export function resultOf({ results }: Stage, tool: string): Result | undefined {
  return results.findLast((result) => result.tool === tool);
}

/** Everything that `tool` found, as one text. */
export function textOf({ results }: Stage, tool: string): string {
  return results.flatMap((result) => (result.tool === tool && !result.isError ? [result.content] : [])).join("\n\n");
}

/** How a scenario that is done with its script takes up what a person said meanwhile; undefined where nobody did. */
export function replyToSteers({ said }: Stage): string | undefined {
  const steers = said.slice(1);
  return steers.length === 0 ? undefined : `You also told me: ${steers.map((text) => `“${text}”`).join("; ")}. Noted.`;
}
