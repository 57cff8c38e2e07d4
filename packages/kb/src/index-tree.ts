import type { NodeKind } from "./outline.ts";

/** A tree whose nodes are numbers, with codes that are equal where texts or whole subtrees are. */
export interface IndexedTree {
  readonly parents: readonly (number | null)[];
  readonly kinds: readonly NodeKind[];
  /** Equal for nodes of one kind and text. */
  readonly texts: readonly number[];
  /** Equal for nodes whose subtrees are equal. */
  readonly subtrees: readonly number[];
  children(parent: number | null): readonly number[];
}

/** Indexes nodes in page order; `codes` is shared by the trees that are compared. */
export function indexTree(
  nodes: readonly { readonly kind: NodeKind; readonly text: string }[],
  parents: readonly (number | null)[],
  codes: Map<string, number>,
): IndexedTree {
  const children = Map.groupBy(nodes.keys(), (n) => parents[n] ?? null);
  function codeOf(key: string): number {
    const known = codes.get(key) ?? codes.size;
    codes.set(key, known);
    return known;
  }
  const texts = nodes.map(({ kind, text }) => codeOf(`text ${kind} ${text}`));
  const subtrees: number[] = [];
  for (let n = nodes.length - 1; n >= 0; n -= 1) {
    const below = (children.get(n) ?? []).map((child) => subtrees[child]);
    subtrees[n] = codeOf(`tree ${texts[n]} ${below.join(",")}`);
  }
  return {
    parents,
    kinds: nodes.map(({ kind }) => kind),
    texts,
    subtrees,
    children: (parent) => children.get(parent) ?? [],
  };
}
