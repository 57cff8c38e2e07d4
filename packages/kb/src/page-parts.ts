import { createHash } from "node:crypto";

/** A stretch of a page that gets one vector. */
export interface PagePart {
  /** Its first node that is no heading, to show what it is about; null for a page without text. */
  readonly nodeId: string | null;
  /** Opens with the page's title, which says what a short stretch is about. */
  readonly text: string;
  readonly hash: string;
}

interface Stretch {
  readonly id: string;
  readonly kind: string;
  readonly text: string;
}

/** About 400 tokens of English, and within the 512 that small models take. */
const mostChars = 1_200;
/** From here on a heading opens a part, so that an edit leaves the parts after the next heading as they were. */
const enoughChars = 400;
/** Of a longer page the rest has no vectors; it is found by its words. */
const mostParts = 200;

/**
 * The parts of a page whose nodes are given in page order: nodes in a row, cut at headings where that leaves no crumbs. A node
 * that is longer than a part becomes several. A page has one at least, its title, and 200 at most.
 */
export function cutParts(title: string, nodes: readonly Stretch[]): PagePart[] {
  const parts: PagePart[] = [];
  const open = { nodeId: null as string | null, hasBody: false, lines: [] as string[], length: 0 };
  const close = (): void => {
    if (open.lines.length === 0) return;
    parts.push(makePart(title, open.nodeId, open.lines.join("\n")));
    Object.assign(open, { nodeId: null, hasBody: false, lines: [], length: 0 });
  };
  for (const { id, kind, text } of nodes) {
    for (const piece of slice(text.trim())) {
      const isFull = open.length + piece.length > mostChars;
      if (isFull || (kind === "heading" && open.length >= enoughChars)) close();
      if (parts.length === mostParts) return parts;
      if (open.nodeId === null || (!open.hasBody && kind !== "heading")) open.nodeId = id;
      open.hasBody ||= kind !== "heading";
      open.lines.push(piece);
      open.length += piece.length + 1;
    }
  }
  close();
  return parts.length === 0 ? [makePart(title, null, "")] : parts.slice(0, mostParts);
}

function slice(text: string): string[] {
  if (text === "") return [];
  const pieces: string[] = [];
  for (let at = 0; at < text.length && pieces.length <= mostParts; at += mostChars)
    pieces.push(text.slice(at, at + mostChars).toWellFormed());
  return pieces;
}

function makePart(title: string, nodeId: string | null, body: string): PagePart {
  const text = body === "" ? title : `${title}\n\n${body}`;
  return { nodeId, text, hash: createHash("sha256").update(text).digest("base64url") };
}
