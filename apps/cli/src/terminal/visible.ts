/**
 * What a terminal would obey, hide, reorder or draw as nothing: control and format characters (escapes, bidirectional
 * marks, tags), other default-ignorable ones, unassigned ones, every space but the plain one, and the mark that
 * `makeVisible` writes with.
 */
const special =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2D7F\u{10A3F}\u{1107F}\u{1193E}\u{11A47}\u{11A99}\u{11F42}\u{16FE4}\u2800\uFFFC\u{13441}\u{13442}\u{1D159}\u{1DA7F}\u{1DA80}⏎⟨]|(?! )\p{Zs}/gu;

/** As many plain spaces as push what follows out of sight, or end a line unseen. */
const blanks = / {5,}| +$/gmu;

/**
 * One line of text such that all of it is seen and nothing of it acts: each special character as ⟨U+202E⟩, long blanks
 * as ⟨400 spaces⟩. Two different texts never come out the same, since ⟨ itself is written as its number.
 */
export function makeVisible(text: string): string {
  return text
    .replaceAll(special, numberOf)
    .replaceAll(blanks, (found) => `⟨${found.length} ${found.length === 1 ? "space" : "spaces"}⟩`);
}

/** What a terminal would obey, reorder or hide; tabs and line ends are none of it. */
const acting = /(?!\t|\r?\n)[\p{C}\p{Zl}\p{Zp}]/gu;

/** The same, and before it what `createStyle` paints with. */
const paintedOrActing = new RegExp(`(\u001b\\[(?:[123]|2[23]|3[1-6]|39)m)|${acting.source}`, "gu");

/** Text of any number of lines of which nothing acts but the paint of `createStyle`: the last thing before a terminal. */
export function makeInert(text: string): string {
  return text.replaceAll(paintedOrActing, (found: string, painted?: string) => painted ?? numberOf(found));
}

/** The value as JSON of which nothing acts on a terminal: what would is escaped, so that it reads back the same. */
export function inertJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(acting, (found) =>
    found.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

function numberOf(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** As `makeVisible`, with line ends kept as such. */
export function visibleLines(text: string): string[] {
  return text.split(/\r\n|\n/).map(makeVisible);
}

/** The marks of `makeVisible` in a line, painted. */
export function paintMarks(line: string, paint: (text: string) => string): string {
  return line.replaceAll(/⟨[^⟨⟩]*⟩/gu, paint);
}
