import { isBlankLine, startsBlock, type NodeKind, type Shape } from "./outline.ts";

/** A node as it is written: `shape` null leaves indentation and marker to the writer. */
export interface WrittenNode {
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: NodeKind;
  readonly text: string;
  readonly shape: Shape | null;
}

export interface WriteOptions {
  /** Puts `<!--id-->` last on the first line of every bullet. */
  readonly withIds?: boolean;
}

/**
 * Writes nodes, given in the order of the page, as Markdown below `frontmatter`. A node with a shape comes out exactly as
 * it was read; one without stands like its siblings, else one step inside its parent. Lines end in `\n`.
 */
export function writeOutline(frontmatter: string, nodes: readonly WrittenNode[], options: WriteOptions = {}): string {
  const step = nodes.some((node) => node.shape?.lead.startsWith("\t")) ? "\t" : "  ";
  const indents = new Map<string, string>();
  const lastChild = new Map<string | null, string>();
  const pieces = [frontmatter];
  let isAtLineStart = /^\uFEFF?$/.test(frontmatter) || frontmatter.endsWith("\n");
  for (const node of nodes) {
    const sibling = lastChild.get(node.parentId);
    const parent = node.parentId === null ? undefined : indents.get(node.parentId);
    const beside = sibling === undefined ? undefined : indents.get(sibling);
    const shape = node.shape ?? newShape(node.kind, beside ?? (parent === undefined ? "" : parent + step));
    indents.set(node.id, /^[ \t]*/.exec(shape.lead)?.[0] ?? "");
    lastChild.set(node.parentId, node.id);
    if (!isAtLineStart) pieces.push("\n");
    pieces.push(writeNode(node, shape, options.withIds === true));
    isAtLineStart = shape.trail.endsWith("\n");
  }
  return pieces.join("");
}

function newShape(kind: NodeKind, indent: string): Shape {
  return kind === "bullet"
    ? { lead: `${indent}- `, hang: `${indent}  `, trail: "\n" }
    : { lead: indent, hang: indent, trail: "\n" };
}

function writeNode(node: WrittenNode, shape: Shape, withIds: boolean): string {
  const [first = "", ...more] = node.text.split("\n");
  const comment = withIds && node.kind === "bullet" ? `<!--${node.id}-->` : "";
  const rest = more.map((line) => `\n${isBlankLine(line) ? "" : shape.hang}${line}`).join("");
  if (comment === "") return shape.lead + first + rest + shape.trail;
  const lead = /[ \t]$/.test(shape.lead) ? shape.lead : `${shape.lead} `;
  if (startsBlock(node.text)) {
    const hang = more.length > 0 ? shape.hang : `${/^[ \t]*/.exec(lead)?.[0] ?? ""}  `;
    return `${lead}${comment}\n${hang}${first}${rest}${shape.trail}`;
  }
  return `${lead}${first}${first === "" || /[ \t]$/.test(first) ? "" : " "}${comment}${rest}${shape.trail}`;
}
