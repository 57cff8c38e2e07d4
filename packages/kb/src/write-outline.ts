import { columnsOf, contentColumnOf, isBlankLine, type NodeKind, type Shape } from "./outline.ts";
import { needsOwnLine } from "./parse-okf.ts";

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
  const shapes = shapesOf(nodes);
  const isAtLineStart = /^\uFEFF?$/.test(frontmatter) || frontmatter.endsWith("\n");
  const head = nodes.length === 0 || isAtLineStart ? frontmatter : `${frontmatter}\n`;
  return head + nodes.map((node, n) => writeNode(node, shapes[n] ?? newShape(node.kind, ""), options)).join("");
}

/** How each node stands when all are written, in this order: every line but the page's last one ends. */
export function shapesOf(nodes: readonly WrittenNode[]): Shape[] {
  const step = nodes.some((node) => node.shape?.lead.startsWith("\t")) ? "\t" : "  ";
  const indents = new Map<string, string>();
  const lastChild = new Map<string | null, string>();
  return nodes.map((node, n) => {
    const sibling = lastChild.get(node.parentId);
    const parent = node.parentId === null ? undefined : indents.get(node.parentId);
    const beside = sibling === undefined ? undefined : indents.get(sibling);
    const shape = node.shape ?? newShape(node.kind, beside ?? (parent === undefined ? "" : parent + step));
    indents.set(node.id, indentOf(shape.lead));
    lastChild.set(node.parentId, node.id);
    const isCut = n < nodes.length - 1 && !shape.trail.endsWith("\n");
    return isCut ? { ...shape, trail: `${shape.trail}\n` } : shape;
  });
}

/** One node as it stands in a page, its line end included. */
export function writeNode(
  node: Pick<WrittenNode, "id" | "kind" | "text" | "shape">,
  shape: Shape,
  { withIds = false }: WriteOptions,
): string {
  const lines = node.text.split("\n");
  const [first = "", ...more] = lines;
  const rest = more.map((line) => `\n${isBlankLine(line) ? "" : shape.hang}${line}`).join("");
  // Without its id an empty bullet below a line of text would be an underline to other readers.
  const isBare = node.shape === null && node.text === "";
  if (node.kind !== "bullet" || !(withIds || isBare)) return shape.lead + first + rest + shape.trail;

  const comment = `<!--${node.id}-->`;
  const [marker = "", ...below] = shape.lead.split("\n");
  // Blanks behind a marker move the column where text belongs to the bullet only where text follows them.
  const lead = below.length > 0 || first === "" || !/[ \t]$/.test(marker) ? `${marker.trimEnd()} ` : marker;
  if (below.length > 0) return `${lead}${comment}\n${below.join("\n")}${first}${rest}${shape.trail}`;
  if (needsOwnLine(node.text)) {
    const hang = hangBelow(lead, shape.hang);
    return `${lead}${comment}${lines.map((line) => `\n${isBlankLine(line) ? "" : hang}${line}`).join("")}${shape.trail}`;
  }
  return `${lead}${first}${first === "" ? "" : " "}${comment}${rest}${shape.trail}`;
}

/** The indentation that makes a line below a marker the bullet's own: `hang`, where that is enough. */
function hangBelow(lead: string, hang: string): string {
  const content = contentColumnOf(lead);
  return columnsOf(hang) >= content ? hang : " ".repeat(content);
}

/** How a node without a shape of its own is written, `indent` in. */
export function newShape(kind: NodeKind, indent: string): Shape {
  return kind === "bullet"
    ? { lead: `${indent}- `, hang: `${indent}  `, trail: "\n" }
    : { lead: indent, hang: indent, trail: "\n" };
}

function indentOf(lead: string): string {
  return /^[ \t]*/.exec(lead)?.[0] ?? "";
}
