import type { NodeKind } from "./outline.ts";

/** A tree whose nodes are numbers, with codes that are equal where texts or whole subtrees are. */
export interface IndexedTree {
  readonly size: number;
  readonly parents: readonly (number | null)[];
  readonly kinds: readonly NodeKind[];
  /** Equal for nodes of one kind and text. */
  textOf(node: number): number;
  /** Equal for nodes whose subtrees are equal. */
  subtreeOf(node: number): number;
  children(parent: number | null): readonly number[];
}

/** Indexes nodes in page order; `codes` is shared by the trees that are compared. A node is coded once it is asked for. */
export function indexTree(
  nodes: readonly { readonly kind: NodeKind; readonly text: string }[],
  parents: readonly (number | null)[],
  codes: Map<string, number>,
): IndexedTree {
  let grouped: Map<number | null, number[]> | undefined;
  function children(parent: number | null): readonly number[] {
    grouped ??= Map.groupBy(nodes.keys(), (n) => parents[n] ?? null);
    return grouped.get(parent) ?? [];
  }
  const texts = new Map<number, number>();
  const subtrees = new Map<number, number>();
  function codeOf(key: string): number {
    const known = codes.get(key) ?? codes.size;
    codes.set(key, known);
    return known;
  }
  function textOf(node: number): number {
    const known = texts.get(node);
    if (known !== undefined) return known;
    const { kind, text } = nodes[node] ?? { kind: "", text: "" };
    const code = codeOf(`text ${kind} ${text}`);
    texts.set(node, code);
    return code;
  }
  function subtreeOf(node: number): number {
    // No recursion: a tree may be deep. What is below a node comes behind it in the list, and is coded before it.
    const waiting = [node];
    for (let at = 0; at < waiting.length; at += 1) {
      const next = waiting[at] ?? node;
      if (!subtrees.has(next)) for (const child of children(next)) waiting.push(child);
    }
    for (const next of waiting.toReversed()) {
      if (subtrees.has(next)) continue;
      const below = children(next).map((child) => subtrees.get(child));
      subtrees.set(next, codeOf(`tree ${textOf(next)} ${below.join(",")}`));
    }
    return subtrees.get(node) ?? 0;
  }
  return {
    size: nodes.length,
    parents,
    kinds: nodes.map(({ kind }) => kind),
    textOf,
    subtreeOf,
    children,
  };
}
