import * as z from "zod";
import type { ToolFacts } from "./types.ts";
import type { Unit } from "./unit.ts";

export type ReadUnits =
  | { readonly kind: "units"; readonly units: readonly Unit[] }
  /** The tool cannot say what the call touches. */
  | { readonly kind: "error" }
  /** The arguments are beyond what can be taken apart. */
  | { readonly kind: "refused"; readonly problem: string };

/**
 * What a call touches, by the tool's own `units`. A tool of an MCP server that declares none is one unit, its full name and
 * the first text among its arguments; any other is one unit, its name. Never throws.
 */
export function readUnits(tool: ToolFacts, args: unknown): ReadUnits {
  if (tool.units === undefined) return { kind: "units", units: [unitOfCall(tool, args)] };
  try {
    const answer: unknown = tool.units(args);
    if (Array.isArray(answer)) {
      const units = answer.map((unit: unknown) => (typeof unit === "string" ? { text: unit } : unit));
      return units.every(isUnit) ? { kind: "units", units } : { kind: "error" };
    }
    const isRefusal = isRecord(answer) && answer["kind"] === "refused" && typeof answer["problem"] === "string";
    return isRefusal ? { kind: "refused", problem: String(answer["problem"]) } : { kind: "error" };
  } catch {
    return { kind: "error" };
  }
}

/**
 * The unit of a call whose tool declares none. An entry that allows reads `mcp_<server>_<tool> <first text argument>`, or
 * the tool's name. One that denies or asks reads any text among the arguments, in whatever order the model wrote them, and
 * knows the tool by its former names too.
 */
function unitOfCall(tool: ToolFacts, args: unknown): Unit {
  const { server, name, aliases = [] } = tool;
  const fullName = (one: string): string => {
    const prefix = `mcp_${server}_`;
    return server === undefined || one.startsWith(prefix) ? one : prefix + one;
  };
  const texts = server === undefined ? [] : textsIn(args);
  const first = isRecord(args)
    ? keysInOrder(tool, args)
        .map((key) => args[key])
        .find(isText)
    : undefined;
  const own = fullName(name);
  const text = server === undefined || first === undefined ? own : `${own} ${first}`;
  if (texts.length === 0 && aliases.length === 0) return { text };
  const names = [name, ...aliases].map(fullName);
  return { text, commands: names.flatMap((one) => [[one], ...texts.map((argument) => [one, argument])]) };
}

/** Those that the tool's schema declares come first, in its order: which is the first is not for the model to say. */
function keysInOrder({ schema }: ToolFacts, args: Readonly<Record<string, unknown>>): readonly string[] {
  const declared = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const own = declared.filter((key) => Object.hasOwn(args, key));
  return [...own, ...Object.keys(args).filter((key) => !own.includes(key))];
}

/** Every text in a value, however deep. */
function textsIn(value: unknown): readonly string[] {
  if (isText(value)) return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function isUnit(unit: unknown): unit is Unit {
  if (!isRecord(unit) || typeof unit["text"] !== "string") return false;
  const { key, unkeyable, commands, denylisted } = unit;
  return (
    isAbsentOr(key, isText) &&
    isAbsentOr(unkeyable, isText) &&
    isAbsentOr(commands, (all) => isListOf(all, (words) => isListOf(words, isText))) &&
    isAbsentOr(denylisted, (all) =>
      isListOf(all, (one) => isRecord(one) && isText(one["name"]) && isText(one["reason"])),
    )
  );
}

function isAbsentOr(value: unknown, fits: (value: unknown) => boolean): boolean {
  return value === undefined || fits(value);
}

function isListOf(value: unknown, fits: (member: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
