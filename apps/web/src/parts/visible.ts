/** A piece of a text: as it is, or a mark that stands for what no reader would see or what would act on the page. */
export interface Piece {
  readonly text: string;
  readonly isMark: boolean;
}

/** Characters that Unicode counts as seen and that are drawn as nothing: blanks, joiners, spaces of notations. */
const drawnAsNothing =
  "\\u2800\\u2D7F\\uFFFC\\u{10A3F}\\u{1107F}\\u{1193E}\\u{11A47}\\u{11A99}\\u{11F42}\\u{13441}\\u{13442}\\u{16FE4}\\u{1D159}\\u{1DA7F}\\u{1DA80}";

/**
 * What a reader would not see, or see elsewhere: control and format characters (escapes, bidirectional marks, tags), other
 * default-ignorable ones, unassigned ones, every space but the plain one, and the signs that marks are written with.
 */
const special = new RegExp(
  `[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}${drawnAsNothing}⏎⟨]|(?! )\\p{Zs}`,
  "u",
);

const blank = new RegExp(`^[\\s\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}${drawnAsNothing}]*$`, "u");

/** As many plain spaces as push what follows out of sight, or end a line unseen; what only indents a line does neither. */
const blanks = /(?<=[^ ]) {5,}| {41,}| +$/u;

const marks = new RegExp(`${special.source}|${blanks.source}`, "gmu");

/** Within prose a space at the end of a piece is followed by the next piece. */
const marksOfProse = new RegExp(`${special.source}| {5,}`, "gu");

/**
 * A text in lines of pieces such that all of it is seen and nothing of it acts: `⟨U+202E⟩` stands for a character,
 * `⟨400 spaces⟩` for blanks. Two different texts never look the same, since ⟨ itself is written as its number. The same
 * rule as the command line's.
 */
export function visibleLines(text: string): readonly (readonly Piece[])[] {
  return text.split(/\r\n|\n/).map((line) => piecesOf(line, marks));
}

/** A piece of prose, without line ends of its own, by the same rule. */
export function visibleProse(text: string): readonly Piece[] {
  return piecesOf(text, marksOfProse);
}

/** True of a text that shows nothing: empty, or of blanks and characters that no reader sees. */
export function isBlank(text: string): boolean {
  return blank.test(text);
}

/** How many places a text has that no reader would see, or see elsewhere. */
export function countMarks(text: string): number {
  return visibleLines(text).reduce((sum, line) => sum + line.filter((piece) => piece.isMark).length, 0);
}

/** The same as one text, where no mark of it can stand out. */
export function visibleText(text: string): string {
  return visibleLines(text).map(joined).join("\n");
}

/** The same of a text that goes on: a space at its end is followed by something. */
export function visibleBeginning(text: string): string {
  const lines = text.split(/\r\n|\n/);
  const last = lines.pop() ?? "";
  return [...lines.map((line) => piecesOf(line, marks)), visibleProse(last)].map(joined).join("\n");
}

function joined(pieces: readonly Piece[]): string {
  return pieces.map((piece) => piece.text).join("");
}

function piecesOf(line: string, found: RegExp): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const { 0: mark, index } of line.matchAll(found)) {
    if (index > from) pieces.push({ text: line.slice(from, index), isMark: false });
    pieces.push({ text: markOf(mark), isMark: true });
    from = index + mark.length;
  }
  if (from < line.length) pieces.push({ text: line.slice(from), isMark: false });
  return pieces;
}

function markOf(found: string): string {
  if (found.startsWith(" ")) return `⟨${found.length} ${found.length === 1 ? "space" : "spaces"}⟩`;
  return `⟨U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
