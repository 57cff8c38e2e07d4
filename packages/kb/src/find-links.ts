import type { Nodes } from "mdast";
import { foldName } from "./fold.ts";
import { parseMarkdown } from "./node-comment.ts";
import type { NodeKind } from "./outline.ts";

/** A link in a node's text: by a page's name, or by a file's path. `start` and `end` are where the name or path stands. */
export interface FoundLink {
  readonly kind: "title" | "path";
  /** What it goes to: the name as names are compared, or the path without what follows `#`. */
  readonly target: string;
  readonly start: number;
  readonly end: number;
}

const wikiLink = /\[\[(?!\[)((?:(?!\[\[|\]\])[^\n])+)\]\]/g;
const pathLink = /\]\(<?([^()\s<>]+\.md)(?:#[^()\s<>]*)?>?(?:[ \t]+"[^"\n]*")?\)/gi;
const longestTarget = 600;
/** A longer text is not parsed for what in it is code. */
const longestParsed = 20_000;

/**
 * The links in a node's raw text, in order: `[[title]]`, `[[title|alias]]` with the bar escaped or not, and Markdown links
 * to `.md` files. What stands in code is no link.
 */
export function findLinks({ kind, text }: { readonly kind: NodeKind; readonly text: string }): FoundLink[] {
  if (kind === "fence" || !(text.includes("[[") || text.includes("]("))) return [];
  const found: FoundLink[] = [];
  for (const match of text.matchAll(wikiLink)) {
    const inner = match[1] ?? "";
    const [name = ""] = /^(?:[^|\\]|\\(?!\|))*/.exec(inner) ?? [];
    const start = match.index + 2 + (name.length - name.trimStart().length);
    found.push({ kind: "title", target: foldName(name.trim()), start, end: start + name.trim().length });
  }
  for (const match of text.matchAll(pathLink)) {
    const path = match[1] ?? "";
    if (/^[a-z][a-z0-9+.-]*:/i.test(path)) continue;
    const start = match.index + match[0].indexOf(path);
    found.push({ kind: "path", target: decodePath(path), start, end: start + path.length });
  }
  const usable = found.filter(
    ({ target }) => target !== "" && target.length <= longestTarget && !target.includes("\0"),
  );
  const code = usable.length > 0 && /[`~]/.test(text) && text.length <= longestParsed ? findCode(text) : [];
  return usable
    .filter((link) => !code.some(([start, end]) => start <= link.start && link.end <= end))
    .toSorted((a, b) => a.start - b.start);
}

/** The text with the links of a page's name renamed, and how many there were. */
export function renameLinks(
  node: { readonly kind: NodeKind; readonly text: string },
  from: string,
  to: string,
): { readonly text: string; readonly count: number } {
  const links = findLinks(node).filter(({ kind, target }) => kind === "title" && target === from);
  let { text } = node;
  for (const { start, end } of links.toReversed()) text = text.slice(0, start) + to + text.slice(end);
  return { text, count: links.length };
}

function findCode(text: string): [number, number][] {
  const code: [number, number][] = [];
  const waiting: Nodes[] = [parseMarkdown(text)];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const { start, end } = node.position ?? {};
    if (node.type === "code" || node.type === "inlineCode") code.push([start?.offset ?? 0, end?.offset ?? 0]);
    if ("children" in node) waiting.push(...node.children);
  }
  return code;
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // A percent sign that begins no escape is itself.
  }
}
