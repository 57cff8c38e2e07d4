import { resultCodes } from "@countersign/gate/result-codes.ts";
import type { ToolResult } from "./tool.ts";

const kinds: ReadonlySet<unknown> = new Set<ToolResult["kind"]>(["done", "failed", "changed", "unknown"]);

/**
 * What a tool returned, if it is a result: its content is text, so that the first run sees what a resumed one reads.
 * Throws where it is anything else (a date, a map, nothing), naming what was found; whoever wrote the tool turns it into
 * text.
 */
export function checkToolResult(returned: ToolResult): ToolResult {
  const found: unknown = returned;
  if (typeof found !== "object" || found === null || !("kind" in found) || !kinds.has(found.kind)) {
    throw new TypeError(
      `A tool returned ${nameOf(found)}; a result is { kind: "done" | "failed" | "changed" | "unknown", content }`,
    );
  }
  if (!("content" in found) || typeof found.content !== "string") {
    const content = "content" in found ? found.content : undefined;
    throw new TypeError(`A tool returned a result whose content is ${nameOf(content)}; turn it into text`);
  }
  if (returned.kind === "failed" && returned.code !== undefined && !resultCodes.includes(returned.code)) {
    throw new TypeError(`A tool returned the code ${JSON.stringify(returned.code)}; known: ${resultCodes.join(", ")}`);
  }
  return returned;
}

function nameOf(value: unknown): string {
  if (value === null || typeof value !== "object")
    return typeof value === "undefined" ? "nothing" : `a ${typeof value}`;
  return Array.isArray(value) ? "an array" : `a ${value.constructor?.name ?? "bare object"}`;
}
