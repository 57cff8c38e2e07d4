import { expose, type Exposed } from "./expose.ts";
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
    const found = findIn(finder, text, expose(text));
    return found.length === 0 ? text : replace(text, joinOverlapping(found), 0);
  }

  return { scrub, createStream: () => createScrubStream(finder) };
}

type Finder = ReturnType<typeof createFinder>;

/** Where values lie in a text as it stands, and as it reads without its escapes. */
function findIn(finder: Finder, text: string, exposed: Exposed | undefined): Found[] {
  const found = finder.find(text);
  if (exposed === undefined || exposed.text === text) return found;
  const inside = finder.find(exposed.text);
  if (inside.length === 0) return found;
  const mapped = inside.map(({ start, end, name }) => ({
    start: exposed.startOf(start),
    end: exposed.endOf(end),
    name,
  }));
  return [...found, ...mapped].toSorted((one, other) => one.start - other.start || other.end - one.end);
}

/** As much of what was passed on is remembered: an escape that began in it goes on. */
const remembered = 64;

/** An escape that goes on for longer than any value could be passed on is nobody's. */
const longestOpen = 16_384;

function createScrubStream(finder: Finder): ScrubStream {
  let before = "";
  let kept = "";
  // So much of the beginning of what is kept lies under a placeholder that was passed on already.
  let covered = 0;

  function push(chunk: string): string {
    kept += chunk;
    return release(false);
  }

  function release(isEnd: boolean): string {
    const exposed = expose(before + kept);
    const open = isEnd ? kept.length : Math.max(findOpen(exposed), kept.length - longestOpen);
    const under = covered === 0 ? [] : [{ start: 0, end: covered, name: "" }];
    const found = findIn(finder, before + kept, exposed).flatMap(({ start, end, name }) =>
      end <= before.length ? [] : [{ start: Math.max(0, start - before.length), end: end - before.length, name }],
    );
    const intervals = joinOverlapping([...under, ...found]);
    const leaving = intervals.filter(({ start }) => start < open || (start === 0 && covered > 0));
    // The placeholder goes out at once; a value that overlaps the one under it is still looked for from `open` on.
    const upTo = Math.max(open, leaving.at(-1)?.end ?? 0);
    const text = replace(kept.slice(0, upTo), leaving, covered);
    before = (before + kept.slice(0, open)).slice(-remembered);
    kept = kept.slice(open);
    covered = upTo - open;
    return text;
  }

  /** From where on what is kept could be the beginning of a value, or of an escape in one. */
  function findOpen(exposed: Exposed | undefined): number {
    const open = finder.findOpen(kept);
    if (exposed === undefined) return open;
    const { text, settled } = exposed;
    const inside = finder.findOpen(text.slice(0, settled));
    const unsettled = finder.find(text).find(({ end }) => end > settled)?.start ?? text.length;
    return Math.max(0, Math.min(open, exposed.startOf(Math.min(inside, unsettled)) - before.length));
  }

  return { push, end: () => release(true) };
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
