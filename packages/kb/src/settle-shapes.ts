import type { TreeNode } from "./page-tree.ts";
import { parseOkf, type ParsedNode } from "./parse-okf.ts";
import { shapesOf, writeOutline } from "./write-outline.ts";

/** How often a page is written and read back before it is given up. */
const maxRounds = 200;

/**
 * The nodes with shapes under which the page, written below its frontmatter, reads back as this very tree. Needed where a tree was put together
 * rather than read: a node may have come to stand deeper, or before what it would swallow. Undefined where none is found.
 */
export function settleShapes(nodes: readonly TreeNode[], frontmatter: string): TreeNode[] | undefined {
  const settled = [...nodes];
  const places = new Map(nodes.map((node, n) => [node.id, n]));
  for (let round = 0; round < maxRounds; round += 1) {
    const { frontmatter: head, nodes: read } = parseOkf(writeOutline(frontmatter, settled, { withIds: true }), "\n");
    const n = settled.findIndex((node, at) => !isAsRead(node, read[at], places));
    const node = settled[n];
    if (node === undefined) return isHead(head, frontmatter) && read.length === settled.length ? settled : undefined;
    const swallows = read[n]?.text.startsWith(`${node.text}\n`) === true;
    const changed =
      (swallows && separate(settled, n)) ||
      unshape(settled, swallows ? n + 1 : n) ||
      unshape(settled, n) ||
      separate(settled, n - 1);
    if (!changed) return undefined;
  }
  return undefined;
}

/** The last line of a frontmatter need not end where nothing follows it. */
function isHead(read: string, frontmatter: string): boolean {
  return read === frontmatter || read === `${frontmatter}\n`;
}

function isAsRead(node: TreeNode, read: ParsedNode | undefined, places: ReadonlyMap<string, number>): boolean {
  if (read === undefined) return false;
  const parent = node.parentId === null ? null : (places.get(node.parentId) ?? null);
  return read.kind === node.kind && read.text === node.text && read.parent === parent;
}

/** Leaves the form of a node, and of all that is below it, to the writer; false where it was. */
function unshape(nodes: TreeNode[], n: number): boolean {
  const inside = new Set<string>();
  let hasChanged = false;
  for (let at = n; at < nodes.length; at += 1) {
    const node = nodes[at];
    if (node === undefined || (at > n && !inside.has(node.parentId ?? ""))) break;
    inside.add(node.id);
    if (node.shape === null) continue;
    nodes[at] = { ...node, shape: null };
    hasChanged = true;
  }
  return hasChanged;
}

/** Puts a blank line below a node; false where there is one. */
function separate(nodes: TreeNode[], n: number): boolean {
  const node = nodes[n];
  const shape = shapesOf(nodes)[n];
  if (node === undefined || shape === undefined || /\n[ \t]*\n$/.test(shape.trail)) return false;
  nodes[n] = { ...node, shape: { ...shape, trail: `${shape.trail}${shape.trail.endsWith("\n") ? "" : "\n"}\n` } };
  return true;
}
