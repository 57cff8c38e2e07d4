import type { InferRequestType, InferResponseType } from "hono/client";
import type { Answer, api } from "../api.ts";
import { words } from "../words.ts";

type Rules = typeof api.rules;
export type Layer = Answer<InferResponseType<Rules["$get"]>>;
export type Rule = Layer["rules"][number];
export type Entry = NonNullable<Rule["entries"]>[number];
export type Change = InferRequestType<Rules["$patch"]>["json"]["changes"][number];

/** An entry as it is typed. `name` is an argument's; `key` is the row's own as long as the form is open. */
export interface DraftEntry {
  readonly key: number;
  readonly kind: Entry["kind"];
  readonly name: string;
  readonly text: string;
}

/** A rule as it is typed. `expiresAt` as the browser's field has it, in the browser's zone; empty for never. */
export interface Draft {
  readonly kind: Rule["target"]["kind"];
  readonly name: string;
  readonly mode: Rule["mode"];
  readonly entries: readonly DraftEntry[];
  readonly isLocked: boolean;
  readonly expiresAt: string;
}

/** What the form shows first: the rule that is to be changed, or a blank one. */
export function draftOf(rule: Rule | undefined): Draft {
  if (rule === undefined) return { kind: "tool", name: "", mode: "ask", entries: [], isLocked: false, expiresAt: "" };
  return {
    kind: rule.target.kind,
    name: "name" in rule.target ? rule.target.name : "",
    mode: rule.mode,
    entries: (rule.entries ?? []).map((entry, key) => ({ key, ...typed(entry) })),
    isLocked: rule.locked,
    expiresAt: rule.expiresAt === null ? "" : localMoment(rule.expiresAt),
  };
}

/** The rows that are sent: `off` speaks of a tool as a whole, and a row with nothing in it says nothing. */
export function sentEntries({ mode, entries }: Draft): readonly DraftEntry[] {
  return mode === "off" ? [] : entries.filter(({ name, text }) => `${name}${text}`.trim() !== "");
}

/** The change that a draft stands for. A moment that was not touched stays exact to what it was. */
export function changeOf(draft: Draft, before: Rule | undefined): Change {
  const { kind, mode, isLocked, expiresAt } = draft;
  const entries = sentEntries(draft).map(entryOf);
  return {
    target: kind === "everything" ? { kind } : { kind, name: draft.name.trim() },
    mode,
    ...(entries.length === 0 ? {} : { entries }),
    ...(isLocked ? { locked: true } : {}),
    ...(expiresAt === "" ? {} : { expiresAt: instantOf(expiresAt, before?.expiresAt ?? null) }),
  };
}

/** What a rule says, line by line; nothing where there is none. */
export function ruleLines(said: unknown): string {
  if (said === undefined) return "";
  const { mode, entries = [], locked = false, expiresAt } = said as Partial<Change>;
  return [
    words.admin.rules.allModes[mode ?? "ask"],
    ...entries.map((entry) => `${words.admin.rules.entryKinds[entry.kind]}: ${entryText(entry)}`),
    ...(locked ? [words.admin.rules.isLocked] : []),
    ...(expiresAt === undefined ? [] : [`${words.admin.rules.until} ${expiresAt}`]),
  ].join("\n");
}

/** What an entry says, in one line. */
export function entryText(entry: Entry): string {
  switch (entry.kind) {
    case "unit":
      return entry.unit;
    case "command":
      return entry.command;
    case "pattern":
      return `/${entry.pattern}/`;
    case "argument":
      return `${entry.name}=${entry.value}`;
  }
}

function typed(entry: Entry): Omit<DraftEntry, "key"> {
  switch (entry.kind) {
    case "unit":
      return { kind: "unit", name: "", text: entry.unit };
    case "command":
      return { kind: "command", name: "", text: entry.command };
    case "pattern":
      return { kind: "pattern", name: "", text: entry.pattern };
    case "argument":
      return { kind: "argument", name: entry.name, text: entry.value };
  }
}

/** As it was typed: blanks around it may be meant. */
function entryOf({ kind, name, text }: DraftEntry): Entry {
  switch (kind) {
    case "unit":
      return { kind, unit: text };
    case "command":
      return { kind, command: text };
    case "pattern":
      return { kind, pattern: text };
    case "argument":
      return { kind, name, value: text };
  }
}

/** A moment as a browser's field takes it, to the second, in the browser's zone. */
export function localMoment(at: string): string {
  const moment = new Date(at);
  const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/**
 * The instant that was typed; one that was not touched is still `kept`, to the millisecond. What is no moment, as a year of
 * too many digits while it is typed, stays what was typed: the field and the server refuse it.
 */
export function instantOf(typed: string, kept: string | null): string {
  const at = new Date(typed);
  if (Number.isNaN(at.getTime())) return typed;
  const isKept = kept !== null && new Date(localMoment(kept)).getTime() === at.getTime();
  return isKept ? kept : at.toISOString();
}
