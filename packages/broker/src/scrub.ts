import { createFinder, type Found } from "./find-needles.ts";
import { needlesOf, type HeldValue } from "./needles.ts";

/** Takes values out of text. */
export interface Scrubber {
  /** The text with `[redacted <name>]` in the place of every form of every value. */
  scrub(text: string): string;
  /** The same for a text that comes in pieces. */
  createStream(): ScrubStream;
}

/** Text in pieces: what the pieces give, joined, is what `scrub` gives for the whole. */
export interface ScrubStream {
  /** What can be passed on now. What might be the beginning of a value is held back until it shows. */
  push(chunk: string): string;
  /** What was still held back; nothing may be pushed afterwards. */
  end(): string;
}

/**
 * A scrubber for these values. Where values overlap in a text all of it goes, under one placeholder. Text in which no
 * value lies comes back as it was. Names are not secret; values under 8 characters are passed over.
 */
export function createScrubber(values: Iterable<HeldValue>): Scrubber {
  const finder = createFinder(needlesOf(values));

  function scrub(text: string): string {
    const found = finder.find(text);
    return found.length === 0 ? text : replace(text, joinOverlapping(found), 0);
  }

  return { scrub, createStream: () => createScrubStream(finder) };
}

type Finder = ReturnType<typeof createFinder>;

function createScrubStream(finder: Finder): ScrubStream {
  let kept = "";
  // So much of the beginning of what is kept lies under a placeholder that was passed on already.
  let covered = 0;

  function push(chunk: string): string {
    kept += chunk;
    return release(finder.findOpen(kept));
  }

  function release(open: number): string {
    const before = covered === 0 ? [] : [{ start: 0, end: covered, name: "" }];
    const intervals = joinOverlapping([...before, ...finder.find(kept)]);
    const leaving = intervals.filter(({ start }) => start < open || (start === 0 && covered > 0));
    // The placeholder goes out at once; a value that overlaps the one under it is still looked for from `open` on.
    const upTo = Math.max(open, leaving.at(-1)?.end ?? 0);
    const text = replace(kept.slice(0, upTo), leaving, covered);
    kept = kept.slice(open);
    covered = upTo - open;
    return text;
  }

  return { push, end: () => release(kept.length) };
}

/** Intervals by start, those that share a character joined under the first one's name. */
function joinOverlapping(found: readonly Found[]): Found[] {
  const joined: Found[] = [];
  for (const next of found) {
    const last = joined.at(-1);
    if (last === undefined || next.start >= last.end) joined.push(next);
    else if (next.end > last.end) joined[joined.length - 1] = { ...last, end: next.end };
  }
  return joined;
}

/** What `covered` characters at the beginning stood for was said before. */
function replace(text: string, intervals: readonly Found[], covered: number): string {
  let out = "";
  let at = 0;
  for (const { start, end, name } of intervals) {
    out += text.slice(at, start);
    if (start > 0 || covered === 0) out += `[redacted ${name}]`;
    at = end;
  }
  return out + text.slice(at);
}
