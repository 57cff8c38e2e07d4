import { createHash } from "node:crypto";
import * as z from "zod";

/** The largest text of arguments that is looked at, in bytes of UTF-8. */
export const maxArgumentsBytes = 256 * 1024;

/** How deep arrays and objects of arguments may be nested. */
const maxArgumentsDepth = 200;

export type ParsedJson =
  | { readonly kind: "parsed"; readonly value: unknown }
  | { readonly kind: "refused"; readonly problem: string };

/**
 * Reads arguments as JSON. Refused, with the problem in words for the model: text over
 * `maxArgumentsBytes`, text that is not JSON, numbers beyond a double (1e400), and
 * nesting deeper than `maxArgumentsDepth`. Never throws.
 */
export function parseArguments(argsText: string): ParsedJson {
  const bytes = Buffer.byteLength(argsText);
  if (bytes > maxArgumentsBytes) {
    return refuse(`the arguments are ${bytes} bytes long; at most ${maxArgumentsBytes} are accepted`);
  }
  let value: unknown;
  try {
    value = JSON.parse(argsText);
  } catch (error) {
    return refuse(`the arguments are not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const problem = findProblem(value, 0);
  return problem === undefined ? { kind: "parsed", value } : refuse(problem);
}

/**
 * The hash that binds an approval to its arguments: sha256, hex, of the canonical JSON.
 * Equal JSON values have equal hashes, whatever their spacing, escapes, key order or number
 * spelling; different ones differ, down to NUL, lone surrogates and -0. Text that
 * `parseArguments` refuses is hashed as it stands, and never equals a parsed one.
 */
export function hashArguments(argsText: string): string {
  const parsed = parseArguments(argsText);
  // Canonical JSON never starts with "r". JSON.stringify keeps lone surrogates apart, which UTF-8 does not.
  return sha256(parsed.kind === "parsed" ? canonicalText(parsed.value) : `refused${JSON.stringify(argsText)}`);
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** A zod schema, or a JSON Schema as an MCP server sent it. */
  readonly schema: z.ZodType | Readonly<Record<string, unknown>>;
  readonly server?: string;
}

/**
 * The hash that pins a tool's definition: sha256, hex, of its name, description, schema
 * and the server it comes from. It moves when any of the four does. Throws where the
 * schema cannot be written as JSON, or is nested too deep to be.
 */
export function hashDefinition(definition: ToolDefinition): string {
  const { name, description, schema, server } = definition;
  const jsonSchema =
    schema instanceof z.ZodType ? z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) : schema;
  // Through JSON once: what JSON leaves out (undefined, zod's hidden keys) is no part of a definition.
  const plain: unknown = JSON.parse(JSON.stringify({ name, description, schema: jsonSchema, server }));
  return sha256(canonicalText(plain));
}

/** JSON with sorted keys and no spacing. For values that came from JSON.parse, of bounded depth. */
function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => `${JSON.stringify(key)}:${canonicalText(member)}`);
    return `{${members.join(",")}}`;
  }
  return Object.is(value, -0) ? "-0" : JSON.stringify(value);
}

function findProblem(value: unknown, depth: number): string | undefined {
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : "a number is too large to be represented";
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === maxArgumentsDepth) {
    return `arrays and objects are nested deeper than ${maxArgumentsDepth} levels`;
  }
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    const problem = findProblem(member, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function refuse(problem: string): ParsedJson {
  return { kind: "refused", problem };
}

function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}
