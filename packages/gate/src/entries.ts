import { matchesWhole, reachesWhole } from "./patterns.ts";
import type { RuleEntry } from "./rule.ts";
import type { Unit } from "./unit.ts";

/**
 * Whether an entry of a rule that allows covers a unit: its key whole, or its text by a pattern. Nothing covers one that
 * cannot be keyed, but the key of a program by its path, where the unit has one.
 */
export function coversUnit(entry: RuleEntry, unit: Unit): boolean {
  switch (entry.kind) {
    case "unit":
      return entry.unit === keyOf(unit);
    case "command":
      return entry.command === keyOf(unit);
    case "pattern":
      return unit.unkeyable === undefined && matchesWhole(entry.pattern, unit.text) === true;
    case "argument":
      return false;
  }
}

/**
 * Whether an entry of a rule that denies or asks reaches a call: through any of its units, however it is written, or
 * through an argument. Units that cannot be told reach nothing here; they ask anyway.
 */
export function reachesCall(entry: RuleEntry, units: readonly Unit[] | undefined, args: unknown): boolean {
  if (entry.kind === "argument") {
    return typeof args === "object" && args !== null && Object.hasOwn(args, entry.name)
      ? (args as Readonly<Record<string, unknown>>)[entry.name] === entry.value
      : false;
  }
  return units?.some((unit) => reachesUnit(entry, unit)) ?? false;
}

/** Whether an entry of a rule that denies or asks reaches a unit. */
export function reachesUnit(entry: Exclude<RuleEntry, { kind: "argument" }>, unit: Unit): boolean {
  switch (entry.kind) {
    case "unit":
      return entry.unit === unit.key || entry.unit === unit.text;
    case "command":
      return (
        entry.command === keyOf(unit) || (unit.commands?.some((words) => startsWith(words, entry.command)) ?? false)
      );
    case "pattern":
      return textsOf(unit).some((text) => reachesWhole(entry.pattern, text));
  }
}

/** What a person wrote for the entry, for reasons and pages. */
export function textOfEntry(entry: RuleEntry): string {
  switch (entry.kind) {
    case "unit":
      return entry.unit;
    case "command":
      return entry.command;
    case "pattern":
      return entry.pattern;
    case "argument":
      return `${entry.name}=${entry.value}`;
  }
}

function keyOf(unit: Unit): string | undefined {
  return unit.key ?? (unit.unkeyable === undefined ? unit.text : undefined);
}

function startsWith(words: readonly string[], command: string): boolean {
  const leading = command.split(" ");
  return leading.length <= words.length && leading.every((word, index) => word === words[index]);
}

function textsOf({ text, key, commands = [] }: Unit): readonly string[] {
  return [text, ...(key === undefined ? [] : [key]), ...commands.map((words) => words.join(" "))];
}
