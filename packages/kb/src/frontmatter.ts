import { parseDocument } from "yaml";
import { findTextProblem, findTitleProblem } from "./text.ts";

/** What a page's frontmatter says that we act on; everything else in it is kept and not looked at. */
export interface Frontmatter {
  readonly title: string | undefined;
  readonly type: string | undefined;
  readonly labels: readonly string[];
  readonly aliases: readonly string[];
  /** Each claim that a person verified the page, as JSON. */
  readonly humanMarks: readonly string[];
  /** Why YAML refuses it, where it does: then what can be read is read line by line. */
  readonly problem: string | undefined;
}

const block = /^\uFEFF?---[ \t]*\n((?:[^\n]*\n)*?)---[ \t]*(?:\n|$)/;
const mostNames = 50;
/** What is longer is not given to the parser of YAML, which takes 10 µs and more for a character. */
const longestParsed = 20_000;

/** Reads the text above a page's first node. Never throws: frontmatter that YAML refuses is read as far as it goes. */
export function readFrontmatter(text: string): Frontmatter {
  const source = block.exec(text)?.[1];
  if (source === undefined) return { ...nothing };
  const read = source.length > longestParsed ? { problem: tooLong(source) } : parseYaml(source);
  return "problem" in read ? { ...readLines(source), problem: read.problem } : { ...read, problem: undefined };
}

function tooLong({ length }: string): string {
  return `it has ${length} characters; at most ${longestParsed} are read as YAML`;
}

/** What stands in it; else why there is nothing to be had, where there is a reason. */
function parseYaml(source: string): Omit<Frontmatter, "problem"> | { readonly problem: string | undefined } {
  try {
    // Errors that point at their place take a look at the whole text each, and there may be one a character.
    const options = { strict: false, uniqueKeys: false, logLevel: "silent", prettyErrors: false } as const;
    const document = parseDocument(source, options);
    const error = document.errors[0];
    if (error !== undefined) return { problem: `${error.message}${placeIn(source, error.pos[0])}` };
    const value = document.toJS({ maxAliasCount: 20 }) as unknown;
    if (!isRecord(value)) return { problem: source.trim() === "" ? undefined : noKeys };
    return {
      title: textOf(value["title"], findTitleProblem),
      type: textOf(value["type"], findTextProblem),
      labels: listOf(value["tags"]),
      aliases: [...listOf(value["aliases"]), ...listOf(value["alias"])].filter(
        (name) => findTitleProblem(name) === undefined,
      ),
      humanMarks: marksOf(value),
    };
  } catch {
    return { problem: noKeys }; // Aliases that multiply without end, or depth without end; the text is kept as it is.
  }
}

const noKeys = "it is no list of keys";

function placeIn(source: string, at: number): string {
  const before = source.slice(0, at).split("\n");
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The frontmatter with this title and all else as it was; one is made where there is none. */
export function withTitle(text: string, title: string): string {
  const line = `title: ${JSON.stringify(title)}`;
  const found = block.exec(text);
  if (found?.[1] === undefined) {
    const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
    return `${mark}---\n${line}\n---\n\n${text.slice(mark.length)}`;
  }
  const key = /^(?:title|"title"|'title')[ \t]*:.*\n(?:[ \t].*\n)*/m;
  const inner = key.test(found[1]) ? found[1].replace(key, () => `${line}\n`) : `${found[1]}${line}\n`;
  const start = found[0].indexOf("\n") + 1;
  return text.slice(0, start) + inner + text.slice(start + found[1].length);
}

const nothing: Frontmatter = {
  title: undefined,
  type: undefined,
  labels: [],
  aliases: [],
  humanMarks: [],
  problem: undefined,
};

function readLines(source: string): Omit<Frontmatter, "problem"> {
  const field = (name: string): string | undefined => {
    const line = new RegExp(`^${name}:[ \\t]+(\\S.*)$`, "m").exec(source)?.[1]?.trim();
    return line === undefined || /^[|>&*!{[#]/.test(line) ? undefined : line.replace(/^(["'])(.*)\1$/, "$2");
  };
  const humanMarks = /verified/i.test(source) ? (source.match(/human:[^\s,}\]]*/gi) ?? []) : [];
  return {
    title: textOf(field("title"), findTitleProblem),
    type: textOf(field("type"), findTextProblem),
    labels: [],
    aliases: [],
    humanMarks,
  };
}

/** Every entry below any key spelled `verified` that names a person, wherever it stands. */
function marksOf(value: unknown, isVerified = false, seen = new Set<unknown>()): string[] {
  if (typeof value === "string") return isVerified && /^\s*human\s*:/i.test(value) ? [value.trim()] : [];
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  const marks = Object.entries(value).flatMap(([key, inner]) =>
    marksOf(inner, isVerified || key.trim().toLowerCase() === "verified", seen),
  );
  seen.delete(value);
  return isVerified && marks.length > 0 && !Array.isArray(value) ? [JSON.stringify(value)] : marks;
}

function textOf(value: unknown, findProblem: (text: string) => string | undefined): string | undefined {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  const text = String(value).trim();
  return text === "" || text.length > 500 || findProblem(text) !== undefined ? undefined : text;
}

function listOf(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : typeof value === "string" ? value.split(",") : [value];
  const texts = items.flatMap((item) => textOf(item, findTextProblem) ?? []);
  return [...new Set(texts)].slice(0, mostNames);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
