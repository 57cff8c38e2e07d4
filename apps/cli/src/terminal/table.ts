import { cutTo, displayWidth, padTo } from "./width.ts";

export interface Cell {
  /** Plain, one line. */
  readonly text: string;
  readonly paint?: (text: string) => string;
}

/** Rows as aligned lines of at most `width` columns; the cells of the column `flexible` are cut where they do not fit. */
export function layTable(rows: readonly (readonly Cell[])[], flexible: number, width: number): string[] {
  const gap = 2;
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, n) =>
    Math.max(...rows.map((row) => displayWidth(row[n]?.text ?? ""))),
  );
  const others = widths.reduce((sum, each, n) => (n === flexible ? sum : sum + each), 0) + gap * (count - 1);
  const room = Math.max(8, Math.min(widths[flexible] ?? 0, width - others));
  return rows.map((row) =>
    row
      .map(({ text, paint = (plain) => plain }, n) => {
        const size = n === flexible ? room : (widths[n] ?? 0);
        const cut = n === flexible ? cutTo(text, size) : text;
        const padding = n === count - 1 ? "" : padTo("", size - displayWidth(cut));
        return paint(cut) + padding;
      })
      .join(" ".repeat(gap))
      .trimEnd(),
  );
}
