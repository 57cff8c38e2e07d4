import { splitComments, swallowsComment } from "./node-comment.ts";
import {
  columnsOf,
  contentColumnOf,
  isBlankLine,
  parseOutline,
  sharedIndent,
  startsBlock,
  type NodeKind,
  type OutlineNode,
  type Shape,
} from "./outline.ts";

/** A node as a page's text gives it; `id` where its bullet carried one, `parent` an index into the same list. */
export interface ParsedNode {
  readonly id: string | undefined;
  readonly kind: NodeKind;
  readonly parent: number | null;
  readonly text: string;
  readonly shape: Shape;
}

export interface ParsedPage {
  /** The exact text above the first node. */
  readonly frontmatter: string;
  readonly lineEnd: "\n" | "\r\n";
  readonly nodes: readonly ParsedNode[];
}

/**
 * Reads a page's text: frontmatter verbatim, the outline, and the node ids that bullets carry, which are no part of the
 * text. `writeOutline` gives the same text back, with or without ids. What that wrote has `\n` as its `lineEnd`, also where
 * all lines end in `\r\n`.
 */
export function parseOkf(source: string, lineEnd?: "\n" | "\r\n"): ParsedPage {
  const { nodes, ...head } = parseOutline(source, lineEnd);
  return { ...head, nodes: nodes.map(readNode) };
}

function readNode({ kind, parent, text, shape }: OutlineNode): ParsedNode {
  if (kind !== "bullet") return { id: undefined, kind, parent, text, shape };
  const carried = splitComments(text) ?? { id: undefined, text };
  const placed = lowerText(carried.text, shape);
  // A comment that stands below an empty first line is text, and would be an id where the text moved up.
  const wasRaised =
    carried.id !== undefined &&
    isRaised(placed.shape.lead) &&
    columnsOf(placed.shape.hang) >= contentColumnOf(shape.lead) &&
    needsOwnLine(placed.text) &&
    splitComments(placed.text) === undefined;
  const lead = wasRaised ? shape.lead : placed.shape.lead;
  return { id: carried.id, kind, parent, text: placed.text, shape: { ...placed.shape, lead } };
}

/** True where an id cannot stand behind the first line of a bullet's text: it stands alone, and the text below it. */
export function needsOwnLine(text: string): boolean {
  return startsBlock(text) || swallowsComment(text);
}

/** A bullet whose text begins below its marker: what lies between is shape, and so is all indentation the lines share. */
function lowerText(text: string, shape: Shape): { text: string; shape: Shape } {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => !isBlankLine(line));
  if (start <= 0) return { text, shape };
  const own = lines.slice(start);
  const shared = sharedIndent(own, Infinity);
  const hang = shape.hang + shared;
  const lead = `${shape.lead}${lines.slice(0, start).join("\n")}\n${hang}`;
  const rest = own.map((line) => (isBlankLine(line) ? line : line.slice(shared.length)));
  return { text: rest.join("\n"), shape: { ...shape, lead, hang } };
}

function isRaised(lead: string): boolean {
  return /^[^\n]*\n[^\n]*$/.test(lead);
}
