import { findCode } from "./code-spans.ts";
import { foldName } from "./fold.ts";
import { readLinkName, writeLinkName } from "./link-names.ts";
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
// Where a Markdown link goes to, as CommonMark has it: in angle brackets, or without blanks and with parentheses in pairs.
const plain = String.raw`(?:\\\S|[^()\s<>\\])`;
const address = String.raw`(?:<((?:\\.|[^<>\n\\])+)>|((?:${plain}|\((?:${plain}|\(${plain}*\))*\))+))`;
const addressed = String.raw`\s*${address}(?:\s+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?`;
const inlineLink = new RegExp(String.raw`\]\(${addressed}\s*\)`, "g");
const definition = new RegExp(String.raw`^ {0,3}\[(?!\^)[^[\]\n]+\]:${addressed}[ \t]*$`, "gm");
const longestTarget = 600;

/**
 * The links in a node's raw text, in order: `[[title]]`, `[[title|alias]]` with the bar escaped or not, and Markdown links
 * to `.md` files, inline or as what a reference is defined to be. A bracket that is open in the name closes before the link
 * does. What stands in code is no link.
 */
export function findLinks({ kind, text }: { readonly kind: NodeKind; readonly text: string }): FoundLink[] {
  if (kind === "fence" || !/\[\[|\][(:]/.test(text)) return [];
  const found: FoundLink[] = [];
  for (const match of text.matchAll(wikiLink)) {
    const { 0: link, 1: inner = "", index } = match;
    const isOpen = inner.lastIndexOf("[") > inner.lastIndexOf("]") && text.charAt(index + link.length) === "]";
    const [name = ""] = /^(?:[^|\\]|\\(?!\|))*/.exec(isOpen ? `${inner}]` : inner) ?? [];
    const start = index + 2 + (name.length - name.trimStart().length);
    found.push({ kind: "title", target: foldName(readLinkName(name)), start, end: start + name.trim().length });
  }
  for (const { path, start } of findPaths(text)) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(path)) continue;
    found.push({ kind: "path", target: decodePath(path), start, end: start + path.length });
  }
  const usable = found.filter(
    ({ target }) => target !== "" && target.length <= longestTarget && !target.includes("\0"),
  );
  const links = usable.toSorted((a, b) => a.start - b.start);
  const code = links.length > 0 && /[`~]/.test(text) ? findCode(text).values() : [].values();
  let around = code.next().value;
  return links.filter((link) => {
    while (around !== undefined && around[1] <= link.start) around = code.next().value;
    return around === undefined || link.start <= around[0] || around[1] < link.end;
  });
}

/** The paths of links to `.md` files. What was looked at is not looked at again, however much of it is no link. */
function* findPaths(text: string): Generator<{ readonly path: string; readonly start: number }> {
  for (const sort of [inlineLink, definition]) {
    const next = new RegExp(sort);
    for (let match = next.exec(text); match !== null; match = next.exec(text)) {
      const [link, bracketed, bare = ""] = match;
      const path = /^([^]+\.md)(?:#|$)/i.exec(bracketed ?? bare)?.[1];
      if (path !== undefined) yield { path, start: match.index + link.indexOf(path, link.indexOf("]")) };
      else next.lastIndex = match.index + 2; // Its title may hold a link of its own.
    }
  }
}

/** The text with its links by these names, as names are compared, renamed, and how many there were. */
export function renameLinks(
  node: { readonly kind: NodeKind; readonly text: string },
  titles: ReadonlyMap<string, string>,
): { readonly text: string; readonly count: number } {
  let [{ text }, count] = [node, 0];
  for (const { kind, target, start, end } of findLinks(node).toReversed()) {
    const title = kind === "title" ? titles.get(target) : undefined;
    if (title === undefined) continue;
    text = text.slice(0, start) + writeLinkName(title) + text.slice(end);
    count += 1;
  }
  return { text, count };
}

function decodePath(written: string): string {
  const path = written.replaceAll(/\\([!-/:-@[-`{-~])/g, "$1");
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // A percent sign that begins no escape is itself.
  }
}
