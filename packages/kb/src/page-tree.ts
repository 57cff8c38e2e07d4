import type { NodeKind, Shape } from "./outline.ts";
import type { ParsedNode } from "./parse-okf.ts";
import { shapesOf, writeNode } from "./write-outline.ts";

/** A node of a page in memory; a list of them is in the order of the page, parents before children. */
export interface TreeNode {
  readonly id: string;
  readonly parentId: string | null;
  readonly kind: NodeKind;
  readonly text: string;
  readonly shape: Shape | null;
}

/** A node as it is stored: siblings are ordered by key, then id. */
export interface KeyedNode extends TreeNode {
  readonly orderKey: string;
}

/** The nodes in the order of the page. */
export function inPageOrder<T extends KeyedNode>(nodes: readonly T[]): T[] {
  const children = Map.groupBy(nodes.toSorted(compareSiblings), (node) => node.parentId);
  const ordered: T[] = [];
  const waiting = (children.get(null) ?? []).toReversed();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    ordered.push(node);
    for (const child of (children.get(node.id) ?? []).toReversed()) waiting.push(child);
  }
  return ordered;
}

/** The order of siblings, the same for every reader: two writers may have taken one key. */
export function compareSiblings(a: Pick<KeyedNode, "orderKey" | "id">, b: Pick<KeyedNode, "orderKey" | "id">): number {
  if (a.orderKey !== b.orderKey) return a.orderKey < b.orderKey ? -1 : 1;
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1;
}

/**
 * The parsed nodes under the ids given to them. One that stands in the text exactly as `known` would write it is that
 * node, its text and shape untouched.
 */
export function adoptNodes(
  known: readonly TreeNode[],
  parsed: readonly ParsedNode[],
  ids: readonly string[],
): TreeNode[] {
  const shapes = shapesOf(known);
  const knownAt = new Map(known.map((node, n) => [node.id, n]));
  return parsed.map(({ id: carriedId, parent, kind, text, shape }, n) => {
    const id = ids[n] ?? "";
    const parentId = parent === null ? null : (ids[parent] ?? null);
    const at = knownAt.get(id);
    const old = at === undefined ? undefined : known[at];
    const oldShape = at === undefined ? undefined : shapes[at];
    const given = { id, parentId, kind, text, shape };
    if (old === undefined || oldShape === undefined) return given;
    if (old.kind === kind && old.text === text && areShapesEqual(oldShape, shape)) {
      return { id, parentId, kind, text, shape: old.shape };
    }
    const options = { withIds: carriedId !== undefined };
    const before = writeNode(old, oldShape, options);
    const after = writeNode(given, shape, options);
    const isSame = old.kind === kind && (before === after || (n < parsed.length - 1 && isEnded(before, after)));
    return isSame ? { id, parentId, kind, text: old.text, shape: old.shape } : given;
  });
}

/** Whether two nodes are written with the same characters around their text. */
export function areShapesEqual(a: Shape | null, b: Shape | null): boolean {
  return a === b || (a !== null && b !== null && a.lead === b.lead && a.hang === b.hang && a.trail === b.trail);
}

/** The last line of a page need not end; where something follows it, the writer ends it. */
function isEnded(before: string, after: string): boolean {
  return !before.endsWith("\n") && `${before}\n` === after;
}
