import { generateNKeysBetween } from "fractional-indexing";
import { findLongestRise } from "./common-subsequence.ts";
import { areShapesEqual, compareSiblings, type KeyedNode, type TreeNode } from "./page-tree.ts";

/** What has to happen to a page's nodes; each node is named once. */
export interface NodeChanges {
  readonly inserted: readonly KeyedNode[];
  readonly updated: readonly { readonly before: KeyedNode; readonly after: KeyedNode }[];
  readonly deleted: readonly KeyedNode[];
}

/** A node as it shall be; one that comes back may say which key it had. */
type WantedNode = TreeNode & { readonly orderKey?: string };

/**
 * The least that turns `current` into `wanted`, both in page order: a node that is as it was is not among it, and only
 * those get a new order key that moved against their siblings. One that comes back has its key again where that fits.
 */
export function planChanges(current: readonly KeyedNode[], wanted: readonly WantedNode[]): NodeChanges {
  const known = new Map(current.map((node) => [node.id, node]));
  const keys = new Map<string, string>();
  for (const siblings of Map.groupBy(wanted, (node) => node.parentId).values()) assignKeys(siblings, known, keys);
  const inserted: KeyedNode[] = [];
  const updated: { before: KeyedNode; after: KeyedNode }[] = [];
  for (const { id, parentId, kind, text, shape } of wanted) {
    const after = { id, parentId, orderKey: keys.get(id) ?? "", kind, text, shape };
    const before = known.get(id);
    if (before === undefined) inserted.push(after);
    else if (!areNodesEqual(before, after)) updated.push({ before, after });
    known.delete(id);
  }
  return { inserted, updated, deleted: [...known.values()] };
}

/** True where nothing has to happen. */
export function isEmpty({ inserted, updated, deleted }: NodeChanges): boolean {
  return inserted.length + updated.length + deleted.length === 0;
}

/** True where two rows say the same, place and form included. */
function areNodesEqual(a: KeyedNode, b: KeyedNode): boolean {
  return (
    a.parentId === b.parentId &&
    a.orderKey === b.orderKey &&
    a.kind === b.kind &&
    a.text === b.text &&
    areShapesEqual(a.shape, b.shape)
  );
}

function assignKeys(
  siblings: readonly WantedNode[],
  known: ReadonlyMap<string, KeyedNode>,
  keys: Map<string, string>,
): void {
  const stayed = siblings.flatMap((node) => {
    const before = known.get(node.id);
    return before?.parentId === node.parentId ? [before] : [];
  });
  const ranks = new Map(stayed.toSorted(compareSiblings).map((node, rank) => [node.id, rank]));
  const rise = findLongestRise(stayed.map((node) => ranks.get(node.id) ?? 0));
  const kept = new Map(rise.flatMap((n) => stayed.slice(n, n + 1)).map((node) => [node.id, node.orderKey]));

  let low: string | null = null;
  let open: string[] = [];
  const left = [...kept.values()].toReversed();
  for (const { id, orderKey } of siblings) {
    const key: string | undefined = kept.get(id) ?? (isBetween(low, orderKey, left.at(-1)) ? orderKey : undefined);
    if (kept.has(id)) left.pop();
    // Two writers took one key: whoever comes between, or stands behind what did, needs another.
    if (key === undefined || (low !== null && (key < low || (key === low && open.length > 0)))) {
      open.push(id);
      continue;
    }
    fillGap(keys, open, low, key);
    open = [];
    keys.set(id, key);
    low = key;
  }
  fillGap(keys, open, low, null);
}

function isBetween(low: string | null, key: string | undefined, high: string | undefined): boolean {
  return key !== undefined && (low === null || low < key) && (high === undefined || key < high);
}

function fillGap(keys: Map<string, string>, ids: readonly string[], low: string | null, high: string | null): void {
  generateNKeysBetween(low, high, ids.length).forEach((key, n) => keys.set(ids[n] ?? "", key));
}
