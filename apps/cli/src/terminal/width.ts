import { stripVTControlCharacters } from "node:util";

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** How many columns of a terminal `text` takes; colours take none. */
export function displayWidth(text: string): number {
  const plain = stripVTControlCharacters(text);
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of segmenter.segment(plain)) width += widthOf(segment);
  return width;
}

/** `text` padded with spaces to `width` columns; longer text is left as it is. */
export function padTo(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}

/** Plain `text` in at most `width` columns, with … in place of what does not fit. */
export function cutTo(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Plain `text` in lines of at most `width` columns, broken after spaces where that is possible. Nothing is left out. */
export function wrapTo(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const { segment } of segmenter.segment(text)) {
    const taken = widthOf(segment);
    if (used + taken > width && line !== "") {
      const cut = segment === " " ? line.length : line.lastIndexOf(" ") + 1;
      const keep = cut > line.length / 2 ? cut : line.length;
      lines.push(line.slice(0, keep));
      line = line.slice(keep);
      used = displayWidth(line);
    }
    line += segment;
    used += taken;
  }
  return [...lines, line];
}

function widthOf(segment: string): number {
  if (/^\p{M}+$/u.test(segment)) return 0;
  return wide.test(segment) ? 2 : 1;
}
