import type { DoubleQuotedChild, Word, WordPart } from "unbash";

/** Why the shell alone knows what becomes of a word. */
export type Unknown = "expansion" | "glob" | "brace" | "tilde" | "bash_only";

/** A word of a command line, before the shell has expanded it. */
export interface ShellWord {
  /** As written. */
  readonly text: string;
  /** After quote removal; what the shell would expand stands as written. */
  readonly value: string;
  /** Absent where the shell takes `value` as it stands. */
  readonly unknown?: Unknown;
  /** What the shell makes of it may begin with a dash, or be several words of which one does. */
  readonly mayBeOption: boolean;
  /** What every word that the shell makes of it begins with: all that stands before the first thing it expands. */
  readonly start: string;
  /** What is written outside of quotes. */
  readonly bare: string;
  /** The variable whose value it is, and nothing else: `"$tmp"`, `${tmp}`. */
  readonly variable?: string;
}

interface Reading {
  bare: string;
  start: string;
  unknown: Unknown | undefined;
  mayBeOption: boolean;
}

/** Takes a word apart: its value after quote removal, and whether the shell would make something else of it. */
export function readWord(word: Word): ShellWord {
  const reading: Reading = { bare: "", start: "", unknown: undefined, mayBeOption: false };
  if (word.text.startsWith("~")) reading.unknown = "tilde";
  const { parts } = word;
  if (parts === undefined) readPlain(word.text, reading);
  else for (const part of parts) readPart(part, reading);
  const variable = parts && variableOf(parts);
  return {
    text: word.text,
    value: word.value,
    bare: reading.bare,
    mayBeOption: reading.mayBeOption,
    start: reading.start,
    ...(reading.unknown && { unknown: reading.unknown }),
    ...(variable !== undefined && { variable }),
  };
}

/** Text that the parser saw no structure in. It is looked through all the same. */
function readPlain(text: string, reading: Reading): void {
  reading.bare += text;
  const unescaped = text.replace(/\\[^]/g, "_");
  const isExpansion = /[`]|\$[\w({*@#?!'"[-]/.test(unescaped);
  const isGlob = /[*?]/.test(unescaped) || /^[^[]*\[[^\]]*\]/.test(unescaped);
  const known = isExpansion || isGlob ? (/^(?:\\[^]|[^\\`$*?[])*/.exec(text)?.[0] ?? "") : text;
  extend(
    reading,
    known.replace(/\\([^])/g, (_, escaped: string) => (escaped === "\n" ? "" : escaped)),
  );
  if (isExpansion) note(reading, "expansion", true);
  else if (isGlob) note(reading, "glob", /^[*?[]/.test(unescaped));
}

function readPart(part: WordPart, reading: Reading): void {
  switch (part.type) {
    case "Literal":
      return readPlain(part.text, reading);
    case "SingleQuoted":
      extend(reading, part.value);
      return;
    case "DoubleQuoted":
      for (const child of part.parts) readQuoted(child, reading);
      return;
    case "AnsiCQuoted":
      return note(reading, "bash_only", reading.start === "");
    case "LocaleString":
      note(reading, "bash_only", reading.start === "");
      for (const child of part.parts) readQuoted(child, reading);
      return;
    case "Glob":
    case "ExtendedGlob":
      reading.bare += part.text;
      return note(reading, "glob", reading.start === "");
    case "BraceExpansion":
      reading.bare += part.text;
      return note(reading, "brace", reading.start === "" || /[$`]/.test(part.text));
    default:
      // Unquoted, its value is split into words, and any of them may begin with a dash.
      return note(reading, "expansion", true);
  }
}

function readQuoted(child: DoubleQuotedChild, reading: Reading): void {
  if (child.type === "Literal") extend(reading, child.value);
  else note(reading, "expansion", reading.start === "" || child.text.includes("@"));
}

/** What follows something that only the shell knows is no beginning any more. */
function extend(reading: Reading, text: string): void {
  if (reading.unknown === undefined) reading.start += text;
}

function note(reading: Reading, unknown: Unknown, mayBeOption: boolean): void {
  reading.unknown ??= unknown;
  reading.mayBeOption ||= mayBeOption;
}

function variableOf(parts: readonly WordPart[]): string | undefined {
  const [only, ...others] = parts;
  if (only === undefined || others.length > 0) return undefined;
  if (only.type === "DoubleQuoted") return variableOf(only.parts);
  if (only.type === "SimpleExpansion") return only.text.slice(1);
  const isPlain = only.type === "ParameterExpansion" && !only.prefix && !only.index && !only.operation;
  return isPlain ? only.parameter : undefined;
}
