import { findCommonSubsequence } from "./common-subsequence.ts";
import { indexTree, type IndexedTree } from "./index-tree.ts";
import type { TreeNode } from "./page-tree.ts";
import type { ParsedNode } from "./parse-okf.ts";
import { similarityOf } from "./similarity.ts";

/** Two texts at least this alike, between the same neighbours, are one node that was rewritten. */
const leastSimilarity = 0.5;

/** A gap with more pairs than this is not compared text by text. */
const maxGapPairs = 4_000;

/** Which known node each parsed one is. */
export interface NodeMatch {
  /** For each parsed node the index of the known one, or undefined: it is new. */
  readonly known: readonly (number | undefined)[];
  /** Parsed nodes whose id an earlier one carries already. */
  readonly duplicates: readonly number[];
  /** Parsed nodes that carry an id no node of the page has. */
  readonly strangers: readonly number[];
}

/**
 * Finds again, in an edited page, the nodes it had, so that they keep their ids: by the id they carry, else by an equal
 * and unique subtree, the order under a common parent, an equal and unique text, similarity between the same
 * neighbours, and as the only one left between them; each only among what is still unmatched. Kinds never mix.
 */
export function matchNodes(known: readonly TreeNode[], parsed: readonly ParsedNode[]): NodeMatch {
  const places = new Map(known.map((node, n) => [node.id, n]));
  const codes = new Map<string, number>();
  const parents = known.map(({ parentId }) => (parentId === null ? null : (places.get(parentId) ?? null)));
  const old = indexTree(known, parents, codes);
  const fresh = indexTree(
    parsed,
    parsed.map(({ parent }) => parent),
    codes,
  );
  const match = createMatch(old, fresh);
  const strays = matchByIds(match, places, parsed);
  if (isComplete(match)) return { known: match.known, ...strays };
  matchUnique(match, (tree, n) => tree.subtreeOf(n), match.pairSubtrees);
  alignChildren(match);
  matchUnique(match, (tree, n) => tree.textOf(n), match.pair);
  alignChildren(match);
  while (matchGaps(match, known, parsed, pickSimilar) || matchGaps(match, known, parsed, pickSingle)) {
    alignChildren(match);
  }
  return { known: match.known, ...strays };
}

interface Match {
  readonly old: IndexedTree;
  readonly fresh: IndexedTree;
  /** By parsed node. */
  readonly known: (number | undefined)[];
  /** By known node. */
  readonly parsed: (number | undefined)[];
  readonly pair: (o: number, n: number) => void;
  readonly pairSubtrees: (o: number, n: number) => void;
}

/** True where nothing is left to pair on one side at least. */
function isComplete({ known, parsed }: Match): boolean {
  return !known.includes(undefined) || !parsed.includes(undefined);
}

/** The pairs of matched parents, the page itself first, under which a parsed node is still unmatched. */
function openParents({ fresh, known }: Match): [number | null, number | null][] {
  const parents = new Set<number | null>();
  for (const [n, o] of known.entries()) if (o === undefined) parents.add(fresh.parents[n] ?? null);
  const pairs: [number | null, number | null][] = parents.delete(null) ? [[null, null]] : [];
  for (const n of [...parents].toSorted((a, b) => (a ?? 0) - (b ?? 0))) {
    const o = n === null ? undefined : known[n];
    if (o !== undefined) pairs.push([o, n]);
  }
  return pairs;
}

function createMatch(old: IndexedTree, fresh: IndexedTree): Match {
  const known = Array.from<number | undefined>({ length: fresh.size });
  const parsed = Array.from<number | undefined>({ length: old.size });
  function pair(o: number, n: number): void {
    if (parsed[o] !== undefined || known[n] !== undefined) return;
    parsed[o] = n;
    known[n] = o;
  }
  function pairSubtrees(o: number, n: number): void {
    pair(o, n);
    const children = fresh.children(n);
    old.children(o).forEach((child, i) => {
      const other = children[i];
      if (other !== undefined) pairSubtrees(child, other);
    });
  }
  return { old, fresh, known, parsed, pair, pairSubtrees };
}

function matchByIds(match: Match, places: ReadonlyMap<string, number>, parsed: readonly ParsedNode[]) {
  const duplicates: number[] = [];
  const strangers: number[] = [];
  const seen = new Set<string>();
  for (const [n, { id, kind }] of parsed.entries()) {
    if (id === undefined) continue;
    const o = places.get(id);
    if (seen.has(id)) duplicates.push(n);
    else if (o === undefined) strangers.push(n);
    else if (match.old.kinds[o] === kind) match.pair(o, n);
    seen.add(id);
  }
  return { duplicates, strangers };
}

/** Pairs what has a code that occurs once among the unmatched of each side. */
function matchUnique(
  { old, fresh, known, parsed }: Match,
  codeOf: (tree: IndexedTree, n: number) => number,
  pair: (o: number, n: number) => void,
): void {
  const [left, right] = [old, fresh].map((tree) => {
    const taken = tree === old ? parsed : known;
    return Map.groupBy(
      taken.keys().filter((n) => taken[n] === undefined),
      (n) => codeOf(tree, n),
    );
  });
  for (const [code, [o, ...others]] of left ?? []) {
    const [n, ...more] = right?.get(code) ?? [];
    if (o !== undefined && n !== undefined && others.length + more.length === 0) pair(o, n);
  }
}

/** Under every pair of matched parents, the longest common subsequence of their unmatched children, and below those. */
function alignChildren(match: Match): void {
  const { old, fresh, known, parsed } = match;
  const waiting = openParents(match);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [parentOld, parentNew] = next;
    for (const codeOf of ["subtreeOf", "textOf"] as const) {
      const left = old.children(parentOld).filter((o) => parsed[o] === undefined);
      const right = fresh.children(parentNew).filter((n) => known[n] === undefined);
      if (left.length === 0 || right.length === 0) break;
      const common = findCommonSubsequence(
        left.map((o) => old[codeOf](o)),
        right.map((n) => fresh[codeOf](n)),
      );
      for (const [i, j] of common) {
        const [o, n] = [left[i], right[j]];
        if (o === undefined || n === undefined) continue;
        if (codeOf === "subtreeOf") match.pairSubtrees(o, n);
        else match.pair(o, n);
        waiting.push([o, n]);
      }
    }
  }
}

type Pick = (
  old: readonly number[],
  fresh: readonly number[],
  alike: (o: number, n: number) => number,
) => [number, number][];

/** Looks at what is unmatched between the same two matched siblings; true where it paired anything. */
function matchGaps(match: Match, known: readonly TreeNode[], parsed: readonly ParsedNode[], pick: Pick): boolean {
  const { old, fresh } = match;
  const alike = (o: number, n: number): number =>
    old.kinds[o] === fresh.kinds[n] ? similarityOf(known[o]?.text ?? "", parsed[n]?.text ?? "") : -1;
  let hasPaired = false;
  for (const [parentOld, parentNew] of openParents(match)) {
    const left = gapsOf(
      old.children(parentOld),
      match.parsed,
      (n) => fresh.parents[n] === parentNew,
      (o) => o,
    );
    if (left.size === 0) continue;
    const right = gapsOf(
      fresh.children(parentNew),
      match.known,
      (o) => old.parents[o] === parentOld,
      (n) => match.known[n],
    );
    for (const [gap, olds] of left) {
      for (const [o, n] of pick(olds, right.get(gap) ?? [], alike)) {
        match.pair(o, n);
        hasPaired = true;
      }
    }
  }
  return hasPaired;
}

/** The unmatched among `siblings`, by the matched ones before and after them, which are named by their known node. */
function gapsOf(
  siblings: readonly number[],
  partners: readonly (number | undefined)[],
  isBeside: (partner: number) => boolean,
  nameOf: (sibling: number) => number | undefined,
): Map<string, number[]> {
  const gaps = new Map<string, number[]>();
  let before = "";
  let open: number[] = [];
  const close = (after: string): void => {
    if (open.length > 0) gaps.set(`${before},${after}`, open);
    before = after;
    open = [];
  };
  for (const sibling of siblings) {
    const partner = partners[sibling];
    if (partner === undefined) open.push(sibling);
    else if (isBeside(partner)) close(String(nameOf(sibling)));
  }
  close("");
  return gaps;
}

const pickSimilar: Pick = (olds, fresh, alike) => {
  if (olds.length * fresh.length > maxGapPairs) return [];
  const scored = olds.flatMap((o) => fresh.map((n) => ({ o, n, score: alike(o, n) })));
  const picked: [number, number][] = [];
  const taken = new Set<string>();
  for (const { o, n, score } of scored.toSorted((a, b) => b.score - a.score || a.o - b.o || a.n - b.n)) {
    if (score < leastSimilarity) break;
    if (taken.has(`o${o}`) || taken.has(`n${n}`)) continue;
    taken.add(`o${o}`).add(`n${n}`);
    picked.push([o, n]);
  }
  return picked;
};

const pickSingle: Pick = ([o, ...olds], [n, ...fresh], alike) =>
  o !== undefined && n !== undefined && olds.length + fresh.length === 0 && alike(o, n) >= 0 ? [[o, n]] : [];
