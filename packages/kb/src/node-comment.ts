import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import type { Nodes } from "mdast";

const idComment = /^(.*?)[ ]?<!--([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-->[ \t]*$/is;

/** A longer text is not parsed for what a comment in it is: behind a suspect line of it, none is taken for an id. */
const longestParsed = 20_000;

/** The node id at the end of a bullet's first line, and the text without it. */
export interface SplitComment {
  readonly id: string;
  readonly text: string;
}

/**
 * Takes the id off the first line of a bullet's text; undefined where there is none. Only a comment with a whole id that
 * a Markdown parser takes for HTML counts: in code it is text, and any other comment is the writer's own.
 */
export function splitComment(text: string): SplitComment | undefined {
  const end = text.indexOf("\n");
  const first = end < 0 ? text : text.slice(0, end);
  const [, before = "", id = ""] = idComment.exec(first) ?? [];
  if (id === "") return undefined;
  const at = first.lastIndexOf("<!--");
  const isEscaped = first.charAt(at - 1) === "\\";
  if ((isEscaped || isSuspect(before, text.slice(first.length))) && !isHtml(text, at)) return undefined;
  return { id: id.toLowerCase(), text: before + (end < 0 ? "" : text.slice(end)) };
}

/** True where an id behind the first line of `text` would not be read as one, so that it needs a line of its own. */
export function swallowsComment(text: string): boolean {
  const end = text.indexOf("\n");
  const first = end < 0 ? text : text.slice(0, end);
  if (!isSuspect(first, text.slice(first.length))) return false;
  return !isHtml(`${first} <!--id-->${end < 0 ? "" : text.slice(end)}`, first.length + 1);
}

/** A fence, a definition, or a link that goes on: what may keep a comment at the end of a line from being one. */
const suspicion = /^[ \t]*(?:`{3}|~{3})|^\[[^\]]*\]:|\]\([^)]*$/;

/**
 * Whether only a parser can tell what a comment behind the first line is. A bullet within a bullet's first line is text to
 * an outliner, whatever else it is: an id behind it has no other place.
 */
function isSuspect(first: string, rest: string): boolean {
  if (/^[-*+](?:[ \t]|$)/.test(first)) return false;
  return suspicion.test(first) || (first.includes("`") && isCodeOpen(first, rest));
}

/** Whether a run of backticks on the first line may be closed on a later one. */
function isCodeOpen(first: string, rest: string): boolean {
  if (first.includes("\\`")) return true;
  const runs: readonly string[] = first.match(/`+/g) ?? [];
  for (let n = 0; n < runs.length; n += 1) {
    const run = runs[n] ?? "";
    const close = runs.indexOf(run, n + 1);
    if (close >= 0) n = close;
    else if (rest.includes(run)) return true;
  }
  return false;
}

/** Parses Markdown for structure and offsets; what is stored is always the source itself. */
export function parseMarkdown(text: string): Nodes {
  return fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
}

function isHtml(text: string, offset: number): boolean {
  if (text.length > longestParsed) return false;
  let node: Nodes | undefined = parseMarkdown(text);
  while (node !== undefined) {
    if (node.type === "html") return true;
    if (!("children" in node)) return false;
    node = (node.children as Nodes[]).find(
      ({ position }) =>
        position !== undefined && (position.start.offset ?? 0) <= offset && offset < (position.end.offset ?? 0),
    );
  }
  return false;
}
