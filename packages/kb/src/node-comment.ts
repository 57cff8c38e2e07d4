import { findCode } from "./code-spans.ts";
import { isBlankLine } from "./outline.ts";

const comment = /^<!--([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-->$/i;
const commentLength = 43;

/** The node id at the end of a bullet's first line, and the text without it. */
export interface SplitComment {
  readonly id: string;
  readonly text: string;
}

/**
 * Takes the ids off the first line of a bullet's text, of which the last one is the node's; undefined where there is none.
 * Only a comment with a whole id that is HTML counts: in code it is text, and any other comment is the writer's own. Where
 * a link or a definition may go on below the line, none counts.
 */
export function splitComments(text: string): SplitComment | undefined {
  const { first, rest } = splitLine(text);
  let found: SplitComment | undefined;
  let isText: boolean | undefined;
  for (let line = first; ;) {
    const last = lastComment(line);
    if (last === undefined || isEscaped(line, last.at)) break;
    // Ids are all that comes off, so what makes the first of them text makes all of them text.
    isText ??= isSwallowed(last.before, rest);
    if (isText) break;
    found = { id: found?.id ?? last.id, text: last.before };
    line = last.before;
  }
  return found && { ...found, text: found.text + rest };
}

function isEscaped(line: string, at: number): boolean {
  let start = at;
  while (line.charAt(start - 1) === "\\") start -= 1;
  return (at - start) % 2 === 1;
}

/** The comment at the end of a line, blanks aside, and what stands before it and the blank that sets it off. */
function lastComment(line: string): { readonly id: string; readonly at: number; readonly before: string } | undefined {
  let end = line.length;
  while (line.charAt(end - 1) === " " || line.charAt(end - 1) === "\t") end -= 1;
  const at = end - commentLength;
  const id = comment.exec(line.slice(Math.max(at, 0), end))?.[1]?.toLowerCase();
  if (id === undefined) return undefined;
  return { id, at, before: line.slice(0, line.charAt(at - 1) === " " ? at - 1 : at) };
}

function splitLine(text: string): { readonly first: string; readonly rest: string } {
  const end = text.indexOf("\n");
  return end < 0 ? { first: text, rest: "" } : { first: text.slice(0, end), rest: text.slice(end) };
}

/** True where an id behind the first line of `text` would not be read as one, so that it needs a line of its own. */
export function swallowsComment(text: string): boolean {
  const { first, rest } = splitLine(text);
  return isSwallowed(first, rest);
}

const definition = /^\[[^\]]*\]:(.*)$/s;

/**
 * Whether a comment behind the first line is code, or may be part of a link or a definition. A bullet within a bullet's
 * first line is text to an outliner, whatever else it is: an id behind it has no other place.
 */
function isSwallowed(first: string, rest: string): boolean {
  if (/^[-*+](?:[ \t]|$)/.test(first)) return false;
  const defined = definition.exec(first)?.[1];
  if (defined !== undefined && (isBlankLine(defined) || /["'(<]/.test(defined))) return true;
  if (first.includes("](", first.lastIndexOf(")") + 1) && rest.includes(")")) return true;
  if (!/[`~]/.test(first)) return false;
  const at = first.length + 1;
  return findCode(`${first} <!--id-->${rest}`).some(([start, end]) => start <= at && at < end);
}
