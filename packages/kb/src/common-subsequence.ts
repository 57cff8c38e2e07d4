/** The most cells of the table that is filled; beyond it, equal items are paired in order and the longest run is kept. */
const maxCells = 4_000_000;

/** Pairs of indices of a longest common subsequence of `a` and `b`, ascending; for very long lists a long one. */
export function findCommonSubsequence(a: readonly number[], b: readonly number[]): [number, number][] {
  const pairs: [number, number][] = [];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    pairs.push([start, start]);
    start += 1;
  }
  let endA = a.length;
  let endB = b.length;
  const tail: [number, number][] = [];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
    tail.push([endA, endB]);
  }
  const middleA = a.slice(start, endA);
  const middleB = b.slice(start, endB);
  const middle =
    middleA.length * middleB.length <= maxCells ? fillTable(middleA, middleB) : pairInOrder(middleA, middleB);
  for (const [i, j] of middle) pairs.push([i + start, j + start]);
  return [...pairs, ...tail.toReversed()];
}

function fillTable(a: readonly number[], b: readonly number[]): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      pairs.push([i, j]);
      i += 1;
      j += 1;
    } else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i += 1;
    else j += 1;
  }
  return pairs;
}

function pairInOrder(a: readonly number[], b: readonly number[]): [number, number][] {
  const places = new Map<number, number[]>();
  for (let j = b.length - 1; j >= 0; j -= 1) {
    const item = b[j] ?? 0;
    const known = places.get(item);
    if (known === undefined) places.set(item, [j]);
    else known.push(j);
  }
  const pairs: [number, number][] = [];
  for (const [i, item] of a.entries()) {
    const j = places.get(item)?.pop();
    if (j !== undefined) pairs.push([i, j]);
  }
  const kept = findLongestRise(pairs.map(([, j]) => j));
  return kept.flatMap((n) => pairs.slice(n, n + 1));
}

/** Indices of a longest strictly ascending subsequence of `values`. */
export function findLongestRise(values: readonly number[]): number[] {
  const ends: number[] = [];
  const before: number[] = [];
  for (const [n, value] of values.entries()) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((values[ends[middle] ?? 0] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    before[n] = low > 0 ? (ends[low - 1] ?? -1) : -1;
    ends[low] = n;
  }
  const rise: number[] = [];
  for (let n = ends.at(-1) ?? -1; n >= 0; n = before[n] ?? -1) rise.push(n);
  return rise.toReversed();
}
