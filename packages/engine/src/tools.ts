import { hashDefinition } from "@countersign/gate/canonical.ts";
import { z } from "zod";
import { type Decorator, decorateTool } from "./decorate-tool.ts";
import { EngineError } from "./engine-error.ts";
import { displayText } from "./exact-text.ts";
import type { Tool } from "./tool.ts";

/** A tool and the hash of what the model is told about it: an approval is bound to it. */
export interface RegisteredTool {
  readonly tool: Tool;
  readonly definitionHash: string;
}

/** The tools of a process by name. A map, so that no name finds anything but a tool. */
export type Tools = ReadonlyMap<string, RegisteredTool>;

export interface RegisterOptions {
  /** Stand around every executor, the first outermost. */
  readonly decorators?: readonly Decorator[];
  /** Every capability that a tool may require; unless stated nothing is checked. */
  readonly capabilities?: ReadonlySet<string>;
}

const effects = new Set<string>(["read-only", "transactional", "idempotent", "once", "question"]);

/**
 * Registers tools. Throws `invalid_tools`, with every problem at once, where two share a name, where one has no executor
 * or a schema that a model cannot be given, or where one requires a capability that nobody knows.
 */
export function registerTools(list: readonly Tool[], options: RegisterOptions = {}): Tools {
  const problems = list.flatMap((tool, index) => problemsOf(tool, index, list, options.capabilities));
  if (problems.length > 0)
    throw new EngineError(
      "invalid_tools",
      `These tools cannot be registered:\n${problems.map((line) => `  ${line}`).join("\n")}`,
    );
  return new Map(
    list.map((tool) => [
      tool.name,
      { tool: decorateTool(tool, options.decorators ?? []), definitionHash: hashDefinition(tool) },
    ]),
  );
}

/** What a model is told of a tool, as JSON text to be read by people; storable whatever is in it. */
export function describeDefinition({ name, description, schema, server }: Tool): string {
  const jsonSchema = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return displayText(JSON.stringify({ name, description, schema: jsonSchema, server }, null, 2));
}

function problemsOf(
  tool: Tool,
  index: number,
  list: readonly Tool[],
  capabilities: ReadonlySet<string> | undefined,
): string[] {
  const name = JSON.stringify(tool.name);
  const problems: string[] = [];
  if (typeof tool.name !== "string" || tool.name === "" || typeof tool.description !== "string")
    return [`tool ${index + 1} needs a name and a description; found ${name}`];
  if (list.findIndex((other) => other.name === tool.name) !== index)
    problems.push(`Two tools are named ${name}; rename one of them`);
  if (!effects.has(tool.effect))
    problems.push(`${name} has the effect ${JSON.stringify(tool.effect)}; expected one of ${[...effects].join(", ")}`);
  const executor = tool.effect === "question" ? tool.question : tool.execute;
  if (typeof executor !== "function")
    problems.push(
      `${name} has no executor; give it the function ${tool.effect === "question" ? "question" : "execute"}`,
    );
  if (tool.effect === "question" && tool.propose !== undefined)
    problems.push(`${name} is a question, which proposes nothing; take its function propose away`);
  if (!hasSchema(tool)) problems.push(`${name} has no schema that can be written as JSON Schema; use one of zod`);
  for (const capability of tool.requires ?? []) {
    if (capabilities === undefined || capabilities.has(capability)) continue;
    problems.push(
      `${name} requires the capability ${JSON.stringify(capability)}, which nobody knows: export it from a module of tools (export const capabilities = [${JSON.stringify(capability)}]), or name one that is known: ${[...capabilities].toSorted().join(", ")}`,
    );
  }
  return problems;
}

function hasSchema({ schema }: Tool): boolean {
  try {
    z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    return true;
  } catch {
    return false;
  }
}
