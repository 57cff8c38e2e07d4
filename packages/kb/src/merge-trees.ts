import { findLongestRise } from "./common-subsequence.ts";
import { areShapesEqual, type TreeNode } from "./page-tree.ts";
import { settleShapes } from "./settle-shapes.ts";

export type TreeMerge =
  | { readonly kind: "merged"; readonly nodes: readonly TreeNode[] }
  /** Both changed the same thing; `nodeIds` are nodes of the page as it is now, or as it was read. */
  | {
      readonly kind: "conflict";
      readonly nodeIds: readonly string[];
      readonly reason: string;
      readonly clashes?: readonly Clash[];
    };

/** A node that both changed: its text on each side, null where it was removed there. */
export interface Clash {
  readonly nodeId: string;
  readonly ours: string | null;
  readonly theirs: string | null;
}

/**
 * Puts what `theirs` changed of `base` onto `ours`, node by node: text, place, insertion, removal. What both inserted
 * alike in one place is there once. The same node changed by both, or removed by one and changed by the other, is a
 * conflict. All lists are in page order, and nodes of one id are one node. The merged page stands below `frontmatter`.
 */
export function mergeTrees(
  base: readonly TreeNode[],
  ours: readonly TreeNode[],
  theirs: readonly TreeNode[],
  frontmatter: string,
): TreeMerge {
  const sides = { base: byId(base), ours: byId(ours), theirs: byId(unifyInsertions(base, ours, theirs)) };
  const merged = new Map<string, TreeNode>();
  const conflicts = new Set<string>();
  for (const id of new Set([...sides.ours.keys(), ...sides.theirs.keys()])) {
    const node = mergeNode(id, sides);
    if (node === "conflict") conflicts.add(id);
    else if (node !== undefined) merged.set(id, node);
  }
  for (const { parentId, id } of merged.values()) {
    if (parentId !== null && !merged.has(parentId)) conflicts.add(parentId).add(id);
  }
  if (conflicts.size > 0) {
    const nodeIds = [...conflicts].filter((id) => sides.base.has(id) || sides.ours.has(id));
    const clashes = nodeIds.map((nodeId) => ({
      nodeId,
      ours: sides.ours.get(nodeId)?.text ?? null,
      theirs: sides.theirs.get(nodeId)?.text ?? null,
    }));
    return { kind: "conflict", nodeIds, reason: "both changed the same nodes", clashes };
  }
  const ordered = orderNodes(merged, base, ours, [...sides.theirs.values()]);
  if (ordered.length < merged.size) {
    const placed = new Set(ordered.map(({ id }) => id));
    const nodeIds = [...merged.keys()].filter((id) => !placed.has(id));
    return { kind: "conflict", nodeIds, reason: "each was moved below the other" };
  }
  const nodes = settleShapes(ordered, frontmatter);
  return nodes === undefined
    ? { kind: "conflict", nodeIds: [], reason: "the two together cannot be written as one page" }
    : { kind: "merged", nodes };
}

type Sides = Readonly<Record<"base" | "ours" | "theirs", ReadonlyMap<string, TreeNode>>>;

function byId(nodes: readonly TreeNode[]): Map<string, TreeNode> {
  return new Map(nodes.map((node) => [node.id, node]));
}

/** The node as both have it together; undefined where it is gone. */
function mergeNode(id: string, sides: Sides): TreeNode | "conflict" | undefined {
  const [base, ours, theirs] = [sides.base.get(id), sides.ours.get(id), sides.theirs.get(id)];
  if (base === undefined) return ours ?? theirs;
  if (ours === undefined || theirs === undefined) {
    const left = ours ?? theirs;
    return left === undefined || (isSameText(left, base) && left.parentId === base.parentId) ? undefined : "conflict";
  }
  const isOursText = isSameText(theirs, base);
  if (!isOursText && !isSameText(ours, base) && !isSameText(ours, theirs)) return "conflict";
  const isOursPlace = theirs.parentId === base.parentId;
  if (!isOursPlace && ours.parentId !== base.parentId && ours.parentId !== theirs.parentId) return "conflict";
  const { kind, text } = isOursText ? ours : theirs;
  const isOursForm = isOursText
    ? !isSameText(ours, base) || areShapesEqual(theirs.shape, base.shape)
    : isSameText(ours, theirs);
  return {
    id,
    parentId: isOursPlace ? ours.parentId : theirs.parentId,
    kind,
    text,
    shape: isOursForm ? ours.shape : theirs.shape,
  };
}

function isSameText(a: TreeNode, b: TreeNode): boolean {
  return a.kind === b.kind && a.text === b.text;
}

/** Theirs, in which what ours inserted too, alike and after the same node, has the id it has in ours. */
function unifyInsertions(
  base: readonly TreeNode[],
  ours: readonly TreeNode[],
  theirs: readonly TreeNode[],
): TreeNode[] {
  const known = new Set(base.map(({ id }) => id));
  const inserted = Map.groupBy(insertionsOf(ours, known), (insertion) => insertion.place);
  const renamed = new Map<string, string>();
  const taken = new Set(ours.map(({ id }) => id));
  for (const { node, place } of insertionsOf(theirs, known, renamed)) {
    const twin = inserted.get(place)?.shift();
    if (twin !== undefined) renamed.set(node.id, twin.node.id);
    else if (taken.has(node.id)) renamed.set(node.id, crypto.randomUUID());
  }
  return theirs.map((node) => ({
    ...node,
    id: renamed.get(node.id) ?? node.id,
    parentId: node.parentId === null ? null : (renamed.get(node.parentId) ?? node.parentId),
  }));
}

/** The nodes that `known` lacks, each with what identifies its place and content. */
function* insertionsOf(
  nodes: readonly TreeNode[],
  known: ReadonlySet<string>,
  renamed: ReadonlyMap<string, string> = new Map(),
): Generator<{ node: TreeNode; place: string }> {
  const anchors = new Map<string | null, string>();
  for (const node of nodes) {
    const { id, parentId, kind, text } = node;
    if (known.has(id)) {
      anchors.set(parentId, id);
      continue;
    }
    const parent = parentId === null ? null : (renamed.get(parentId) ?? parentId);
    yield { node, place: JSON.stringify([parent, anchors.get(parentId) ?? null, kind, text]) };
  }
}

/** The merged nodes in page order: ours, into which theirs are put that are new, moved or rearranged. */
function orderNodes(
  merged: ReadonlyMap<string, TreeNode>,
  base: readonly TreeNode[],
  ours: readonly TreeNode[],
  theirs: readonly TreeNode[],
): TreeNode[] {
  const ranks = new Map(base.map(({ id }, rank) => [id, rank]));
  const parentsBefore = new Map(base.map(({ id, parentId }) => [id, parentId]));
  const wanted = Map.groupBy(merged.values(), (node) => node.parentId);
  const inOurs = new Map(ours.map((node, n) => [node.id, { node, n }]));
  const inTheirs = new Map(theirs.map((node, n) => [node.id, { node, n }]));

  function orderSiblings(parentId: string | null): TreeNode[] {
    const siblings = wanted.get(parentId) ?? [];
    const given = siblings
      .filter(({ id }) => inTheirs.get(id)?.node.parentId === parentId)
      .toSorted((a, b) => (inTheirs.get(a.id)?.n ?? 0) - (inTheirs.get(b.id)?.n ?? 0));
    const stayed = given.filter(
      ({ id }) => parentsBefore.get(id) === parentId && inOurs.get(id)?.node.parentId === parentId,
    );
    const rise = findLongestRise(stayed.map(({ id }) => ranks.get(id) ?? 0));
    const fixed = new Set(rise.flatMap((n) => stayed.slice(n, n + 1)).map(({ id }) => id));
    const placed = new Set(given.map(({ id }) => id));
    // What theirs does not have, or left in its order, stands where ours has it.
    const order = siblings
      .filter(({ id }) => inOurs.get(id)?.node.parentId === parentId && (fixed.has(id) || !placed.has(id)))
      .toSorted((a, b) => (inOurs.get(a.id)?.n ?? 0) - (inOurs.get(b.id)?.n ?? 0));
    const isOursAlone = new Set(order.filter(({ id }) => !ranks.has(id) && !placed.has(id)).map(({ id }) => id));
    // Each by the one before it, undefined before the first: a list would be searched for every node that is put in.
    const after = new Map<string | undefined, TreeNode>();
    order.forEach((node, n) => after.set(order[n - 1]?.id, node));
    let previous: string | undefined;
    for (const node of given) {
      if (!fixed.has(node.id)) {
        let place = previous;
        for (let next = after.get(place); next !== undefined && place !== undefined; next = after.get(place)) {
          if (!isOursAlone.has(next.id)) break;
          place = next.id;
        }
        const follower = after.get(place);
        after.set(place, node);
        if (follower !== undefined) after.set(node.id, follower);
      }
      previous = node.id;
    }
    const arranged: TreeNode[] = [];
    for (let node = after.get(undefined); node !== undefined; node = after.get(node.id)) arranged.push(node);
    const there = new Set(arranged.map(({ id }) => id));
    return [...arranged, ...siblings.filter(({ id }) => !there.has(id))];
  }

  const ordered: TreeNode[] = [];
  const waiting = orderSiblings(null).toReversed();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    ordered.push(node);
    waiting.push(...orderSiblings(node.id).toReversed());
  }
  return ordered;
}
