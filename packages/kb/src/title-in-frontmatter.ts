import { type Document, isMap, isNode, isScalar, type Pair, parseDocument } from "yaml";
import { longestParsed, quoteText, readFrontmatter } from "./frontmatter.ts";
import { frontmatterBlock } from "./outline.ts";

export type TitledFrontmatter =
  | { readonly kind: "written"; readonly frontmatter: string }
  /** It cannot be done with all else left as it was. */
  | { readonly kind: "refused"; readonly reason: string };

/**
 * The frontmatter with this title and every other byte as it was; one is made where there is none. Afterwards all readers
 * see this title, and nothing else has changed for them; where that cannot be, it is refused and says why.
 */
export function withTitle(text: string, title: string): TitledFrontmatter {
  const found = frontmatterBlock.exec(text);
  const source = found?.[1];
  if (found === null || source === undefined) {
    const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
    const line = `title: ${quoteText(title)}`;
    return { kind: "written", frontmatter: `${mark}---\n${line}\n---\n\n${text.slice(mark.length)}` };
  }
  const value = quoteText(title);
  const before = source.length > longestParsed ? undefined : parse(source);
  if (before !== undefined && titlesIn(before).length === 1 && readFrontmatter(text).title === title) {
    return { kind: "written", frontmatter: text };
  }
  const changed = before === undefined ? setInLines(source, value) : setInDocument(source, before, value);
  if (changed === undefined) return refuse("where its title stands, it cannot be told from what is around it");
  const start = found[0].indexOf("\n") + 1;
  const frontmatter = text.slice(0, start) + changed + text.slice(start + source.length);
  if (readFrontmatter(frontmatter).title !== title) return refuse("it would not be read as its title there");
  if (before !== undefined && restOf(parse(changed)) !== restOf(before)) {
    return refuse("something else in it would change with its title");
  }
  return { kind: "written", frontmatter };
}

function refuse(what: string): TitledFrontmatter {
  const reason = `The title cannot be put into the frontmatter: ${what}. Change the frontmatter by hand, then try again.`;
  return { kind: "refused", reason };
}

/** Undefined where YAML refuses it. */
function parse(source: string): Document | undefined {
  try {
    const options = { strict: false, uniqueKeys: false, logLevel: "silent", prettyErrors: false } as const;
    const document = parseDocument(source, options);
    return document.errors.length === 0 ? document : undefined;
  } catch {
    return undefined;
  }
}

/** All but the title, as text to compare; undefined where it cannot be had. */
function restOf(document: Document | undefined): string | undefined {
  try {
    const value: unknown = document?.toJS({ maxAliasCount: 20 });
    if (value === null) return "{}";
    if (typeof value !== "object") return undefined;
    return JSON.stringify({ ...value, title: undefined });
  } catch {
    return undefined;
  }
}

function titlesIn({ contents }: Document): readonly Pair[] {
  return isMap(contents) ? contents.items.filter(({ key }) => isScalar(key) && key.value === "title") : [];
}

/** A key that stands twice is changed twice: readers do not agree on which of them counts. */
function setInDocument(source: string, document: Document, value: string): string | undefined {
  const { contents } = document;
  if (contents === null) return `${source}title: ${value}\n`;
  if (!isMap(contents)) return undefined;
  const titles = titlesIn(document);
  if (titles.length === 0) {
    if (contents.flow !== true) return `${source}title: ${value}\n`;
    const at = (contents.range?.[0] ?? 0) + 1;
    return `${source.slice(0, at)}title: ${value}${contents.items.length === 0 ? "" : ", "}${source.slice(at)}`;
  }
  let changed = source;
  for (const { value: old } of titles.toReversed()) {
    const [start, end] = rangeOf(old) ?? [];
    if (start === undefined || end === undefined || !mayBeText(old)) return undefined;
    const lineEnd = source.slice(start, end).endsWith("\n") ? "\n" : "";
    const blank = /[ \t\n]$/.test(source.slice(0, start)) ? "" : " ";
    changed = `${changed.slice(0, start)}${blank}${value}${lineEnd}${changed.slice(end)}`;
  }
  return changed;
}

function rangeOf(node: unknown): readonly number[] | undefined {
  return isNode(node) ? (node.range ?? undefined) : undefined;
}

/** False where a tag says that it is something else. */
function mayBeText(node: unknown): boolean {
  return !isNode(node) || node.tag === undefined || node.tag === "tag:yaml.org,2002:str";
}

/** What YAML refuses, or what is too long for it: where the title is one line that is read as such, it is another one. */
function setInLines(source: string, value: string): string | undefined {
  const lines = source.split("\n");
  const key = /^(?:title|"title"|'title')[ \t]*:(.*)$/s;
  const places = lines.flatMap((line, n) => (key.test(line) ? [n] : []));
  const [place] = places;
  if (place === undefined) return `${source}title: ${value}\n`;
  const rest = key.exec(lines[place] ?? "")?.[1]?.trim() ?? "";
  const next = lines.slice(place + 1).find((line) => line.trim() !== "") ?? "";
  if (places.length > 1 || /^[|>&*!{[#]|^$/.test(rest) || /^[ \t]/.test(next)) return undefined;
  const lineEnd = lines[place]?.endsWith("\r") === true ? "\r" : "";
  return lines.with(place, `title: ${value}${lineEnd}`).join("\n");
}
