/** How much of a long text is looked at. */
const lookedAt = 2_000;

/** How alike two texts are, from 0 to 1: the share of neighbouring pairs of characters that they have in common. */
export function similarityOf(a: string, b: string): number {
  if (a === b) return 1;
  const pairs = new Map<string, number>();
  const countA = countPairs(a, (pair) => pairs.set(pair, (pairs.get(pair) ?? 0) + 1));
  let shared = 0;
  const countB = countPairs(b, (pair) => {
    const left = pairs.get(pair) ?? 0;
    if (left === 0) return;
    pairs.set(pair, left - 1);
    shared += 1;
  });
  return countA + countB === 0 ? 0 : (2 * shared) / (countA + countB);
}

function countPairs(text: string, visit: (pair: string) => void): number {
  const end = Math.min(text.length, lookedAt) - 1;
  for (let n = 0; n < end; n += 1) visit(text.slice(n, n + 2));
  return Math.max(end, 0);
}
