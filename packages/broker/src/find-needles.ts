import { shortestNeedle, type Needle } from "./needles.ts";

/** Where a needle lies: from `start` up to `end`. */
export interface Found {
  readonly start: number;
  readonly end: number;
  readonly name: string;
}

/** Looks for all needles in one pass. */
export interface Finder {
  /** Every place where a needle lies, by start, overlapping ones too; of several at one start the longest. */
  find(text: string): Found[];
  /** The first place from which the text up to its end could be the beginning of a needle; the length of the text where there is none. */
  findOpen(text: string): number;
}

const hashSize = 1 << 16;
const blockLength = 3;
const furthest = shortestNeedle - blockLength + 1;

/**
 * A finder for these needles, each at least `shortestNeedle` long. It looks at the last three characters of a window of
 * eight and moves on by as far as no needle can begin (Wu and Manber's method), so ordinary text is mostly skipped and
 * the memory does not depend on how long needles are.
 */
export function createFinder(needles: readonly Needle[]): Finder {
  const shifts = new Uint8Array(hashSize).fill(furthest);
  const byWindow = new Map<number, Needle[]>();
  const byFirst = new Map<number, Needle[]>();
  let longest = 0;
  for (const needle of needles) {
    const { text } = needle;
    if (text.length < shortestNeedle)
      throw new RangeError(`A needle of ${text.length} characters; at least ${shortestNeedle} are needed`);
    longest = Math.max(longest, text.length);
    for (let end = blockLength; end <= shortestNeedle; end += 1) {
      const hash = hashBlock(text, end - blockLength);
      shifts[hash] = Math.min(shifts[hash] ?? 0, shortestNeedle - end);
    }
    add(byWindow, hashBlock(text, shortestNeedle - blockLength), needle);
    add(byFirst, text.charCodeAt(0), needle);
  }
  for (const bucket of byWindow.values()) bucket.sort((one, other) => other.text.length - one.text.length);

  function find(text: string): Found[] {
    const found: Found[] = [];
    let start = 0;
    while (start + shortestNeedle <= text.length) {
      const hash = hashBlock(text, start + shortestNeedle - blockLength);
      const shift = shifts[hash] ?? 0;
      if (shift === 0) {
        const needle = byWindow.get(hash)?.find((one) => text.startsWith(one.text, start));
        if (needle !== undefined) found.push({ start, end: start + needle.text.length, name: needle.name });
      }
      start += shift || 1;
    }
    return found;
  }

  function findOpen(text: string): number {
    for (let start = Math.max(0, text.length - longest + 1); start < text.length; start += 1) {
      const bucket = byFirst.get(text.charCodeAt(start));
      if (bucket === undefined) continue;
      const rest = text.slice(start);
      if (bucket.some((needle) => needle.text.length > rest.length && needle.text.startsWith(rest))) return start;
    }
    return text.length;
  }

  return { find, findOpen };
}

function hashBlock(text: string, at: number): number {
  const [one, two, three] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
  return (one ^ (two << 5) ^ (three << 10)) & (hashSize - 1);
}

function add(buckets: Map<number, Needle[]>, key: number, needle: Needle): void {
  const bucket = buckets.get(key);
  if (bucket === undefined) buckets.set(key, [needle]);
  else bucket.push(needle);
}
