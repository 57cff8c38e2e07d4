import { hashDefinition } from "@countersign/gate/canonical.ts";
import { EngineError } from "./engine-error.ts";
import type { Tool } from "./tool.ts";

/** A tool and the hash of what the model is told about it: an approval is bound to it. */
export interface RegisteredTool {
  readonly tool: Tool;
  readonly definitionHash: string;
}

/** The tools of a process by name. A map, so that no name finds anything but a tool. */
export type Tools = ReadonlyMap<string, RegisteredTool>;

/** Registers tools. Throws `invalid_tools` where two share a name. */
export function registerTools(list: readonly Tool[]): Tools {
  const tools = new Map<string, RegisteredTool>();
  for (const tool of list) {
    if (tools.has(tool.name)) {
      throw new EngineError("invalid_tools", `Two tools are named ${JSON.stringify(tool.name)}; rename one of them`);
    }
    tools.set(tool.name, { tool, definitionHash: hashDefinition(tool) });
  }
  return tools;
}
