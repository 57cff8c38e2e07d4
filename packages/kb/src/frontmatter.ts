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

const block = /^\uFEFF?---[ \t]*\n([\s\S]*?)^---[ \t]*$/m;
const mostNames = 50;

/** Reads the text above a page's first node. Never throws: frontmatter that YAML refuses is read as far as it goes. */
export function readFrontmatter(text: string): Frontmatter {
  const source = block.exec(text)?.[1];
  if (source === undefined) return { ...nothing };
  const document = parseDocument(source, { strict: false, uniqueKeys: false, logLevel: "silent" });
  const error = document.errors[0];
  const value: unknown =
    error === undefined ? safely(() => document.toJS({ maxAliasCount: 20 }) as unknown) : undefined;
  if (!isRecord(value)) {
    const problem = error?.message.split("\n", 1)[0] ?? (source.trim() === "" ? undefined : "it is no list of keys");
    return { ...readLines(source), problem };
  }
  return {
    title: textOf(value["title"], findTitleProblem),
    type: textOf(value["type"], findTextProblem),
    labels: listOf(value["tags"]),
    aliases: [...listOf(value["aliases"]), ...listOf(value["alias"])].filter(
      (name) => findTitleProblem(name) === undefined,
    ),
    humanMarks: marksOf(value),
    problem: undefined,
  };
}

/** The frontmatter with this title and all else as it was; one is made where there is none. */
export function withTitle(text: string, title: string): string {
  const line = `title: ${JSON.stringify(title)}`;
  const found = block.exec(text);
  if (found?.[1] === undefined) {
    const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
    return `${mark}---\n${line}\n---\n\n${text.slice(mark.length)}`;
  }
  const key = /^(?:title|"title"|'title')[ \t]*:.*\n(?:[ \t]+.*\n)*/m;
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

function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // Aliases that multiply without end; the text is kept as it is.
  }
}
