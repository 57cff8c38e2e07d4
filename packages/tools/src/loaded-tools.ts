import type { Decorator } from "@countersign/engine/decorate-tool.ts";
import type { Tool } from "@countersign/engine/tool.ts";

/** What a file adds. */
export interface LoadedTools {
  readonly tools: readonly Tool[];
  readonly decorators: readonly Decorator[];
  /** Capabilities of its own that its tools may require; their secrets are stored like any other. */
  readonly capabilities: readonly string[];
}

const capabilityName = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+$/;

/** Whether a name can be one of a capability, such as `mail.send`. */
export function isCapability(name: unknown): name is string {
  return typeof name === "string" && capabilityName.test(name);
}
