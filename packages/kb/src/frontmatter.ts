import { parseDocument, type Tags } from "yaml";
import { frontmatterBlock } from "./outline.ts";
import { findTextProblem, findTitleProblem } from "./text.ts";

/** What a page's frontmatter says that we act on; everything else in it is kept and not looked at. */
export interface Frontmatter {
  readonly title: string | undefined;
  readonly type: string | undefined;
  readonly labels: readonly string[];
  readonly aliases: readonly string[];
  /** Why YAML refuses it, where it does: then what can be read is read line by line. */
  readonly problem: string | undefined;
}

const mostNames = 50;
/** What is longer is not given to the parser of YAML, which takes 10 µs and more for a character. */
export const longestParsed = 20_000;

/** Reads the text above a page's first node. Never throws: frontmatter that YAML refuses is read as far as it goes. */
export function readFrontmatter(text: string): Frontmatter {
  const source = frontmatterBlock.exec(text)?.[1];
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
    const document = parseDocument(source, { ...options, customTags: asWritten });
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
    };
  } catch {
    return { problem: noKeys }; // Aliases that multiply without end, or depth without end; the text is kept as it is.
  }
}

/** A name is what it says: `1.10` is no `1.1`, and `007` no `7`. */
function asWritten(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === "string" || !/:(?:int|float|bool)$/.test(tag.tag));
}

const noKeys = "it is no list of keys";

function placeIn(source: string, at: number): string {
  const before = source.slice(0, at).split("\n");
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

const nothing: Frontmatter = {
  title: undefined,
  type: undefined,
  labels: [],
  aliases: [],
  problem: undefined,
};

function readLines(source: string): Omit<Frontmatter, "problem"> {
  const field = (name: string): string | undefined => {
    const line = new RegExp(`^${name}:[ \\t]+(\\S.*)$`, "m").exec(source)?.[1]?.trim();
    return line === undefined || /^[|>&*!{[#]/.test(line) ? undefined : line.replace(/^(["'])(.*)\1$/, "$2");
  };
  return {
    title: textOf(field("title"), findTitleProblem),
    type: textOf(field("type"), findTextProblem),
    labels: [],
    aliases: [],
  };
}

function textOf(value: unknown, findProblem: (text: string) => string | undefined): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim();
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

/** A text in quotes, which all readers of YAML see alike: what ends a line for some of them is written as an escape. */
export function quoteText(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u0085\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
