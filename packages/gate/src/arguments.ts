import type * as z from "zod";
import { parseArguments } from "./canonical.ts";
import { type ReadUnits, readUnits } from "./read-units.ts";
import type { ToolFacts } from "./types.ts";
import type { Unit } from "./unit.ts";

/** Any control character but tab, LF and CR. */
const controlCharacter = /(?![\t\n\r])\p{Cc}/u;

const plainKey = /^[A-Za-z_][A-Za-z0-9_]*$/;
const longestPath = 200;
const mostIssues = 50;

export type CheckedArguments =
  | {
      readonly kind: "valid";
      readonly args: unknown;
      /** Undefined where the tool's `units` failed: nobody can say what the call touches. */
      readonly units: readonly Unit[] | undefined;
    }
  | { readonly kind: "invalid"; readonly path: string; readonly detail: string };

/**
 * Checks the arguments of a call against the tool's schema and its units against their bounds and
 * control characters. `path` is where the first fault lies, from the root `$`; `detail` tells the
 * model of all of them. Without a tool only size, JSON and depth are checked, and the schema of a
 * tool from an MCP server is left to the server. Never throws.
 */
export function checkArguments(tool: ToolFacts | undefined, argsText: string): CheckedArguments {
  const json = parseArguments(argsText);
  if (json.kind === "refused") return { kind: "invalid", path: "$", detail: json.problem };
  if (tool === undefined) return { kind: "valid", args: json.value, units: [] };

  if (tool.server !== undefined) return checkUnits(json.value, json.value, readUnits(tool, json.value));
  let checked: z.ZodSafeParseResult<unknown>;
  try {
    checked = tool.schema.safeParse(json.value);
  } catch (error) {
    const detail = `the schema of the tool failed on these arguments: ${messageOf(error)}`;
    return { kind: "invalid", path: "$", detail };
  }
  if (!checked.success) return refuseIssues(checked.error.issues);

  return checkUnits(json.value, checked.data, readUnits(tool, checked.data));
}

/** `written` are the arguments as the model sent them, `args` as the schema made them. */
function checkUnits(written: unknown, args: unknown, read: ReadUnits): CheckedArguments {
  if (read.kind === "refused") return { kind: "invalid", path: "$", detail: read.problem };
  const units = read.kind === "units" ? read.units : undefined;
  const path = findControl(
    written,
    units?.map(({ text }) => text),
  );
  if (path !== undefined) {
    const detail = `${path}: contains a control character other than tab, line feed and carriage return`;
    return { kind: "invalid", path, detail };
  }
  return { kind: "valid", args, units };
}

function hasControl(text: string): boolean {
  return controlCharacter.test(text);
}

/**
 * Where the arguments hold a control character that reaches a unit. Where the units cannot be
 * told, the character may be the reason, so any text that holds one is at fault.
 */
function findControl(args: unknown, units: readonly string[] | undefined): string | undefined {
  if (units === undefined) return findText(args, "$", hasControl);
  const faulty = units.filter(hasControl);
  if (faulty.length === 0) return undefined;
  const reachesUnit = (text: string) =>
    hasControl(text) && faulty.some((unit) => unit.includes(text) || text.includes(unit));
  return findText(args, "$", reachesUnit) ?? "$";
}

function refuseIssues(issues: readonly z.core.$ZodIssue[]): CheckedArguments {
  const listed = issues.slice(0, mostIssues).map((issue) => `${pathOf(issue.path)}: ${issue.message}`);
  if (issues.length > mostIssues) listed.push(`and ${issues.length - mostIssues} more`);
  return { kind: "invalid", path: pathOf(issues[0]?.path ?? []), detail: listed.join("; ") };
}

function pathOf(keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((path, key) => extendPath(path, key), "$");
}

/** Keys may be of the model's own making: quoted unless plain, and cut where the path grows long. */
function extendPath(path: string, key: PropertyKey): string {
  if (path.length >= longestPath) return path;
  if (typeof key === "number") return `${path}[${key}]`;
  const name = String(key);
  const extended = plainKey.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
  return extended.length > longestPath ? `${extended.slice(0, longestPath - 1)}…` : extended;
}

/** The path of the first text, keys included, that fits; undefined where none does. */
function findText(value: unknown, path: string, fits: (text: string) => boolean): string | undefined {
  if (typeof value === "string") return fits(value) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  const members: readonly [PropertyKey, unknown][] = Array.isArray(value)
    ? value.map((member: unknown, index) => [index, member])
    : Object.entries(value);
  for (const [key, member] of members) {
    const memberPath = extendPath(path, key);
    if (typeof key === "string" && fits(key)) return memberPath;
    const found = findText(member, memberPath, fits);
    if (found !== undefined) return found;
  }
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
