import type { Terminal } from "../terminal/terminal.ts";
import { paintMarks, visibleLines } from "../terminal/visible.ts";
import { wrapTo } from "../terminal/width.ts";

/** What it takes to lay out text: colours, and how wide it may be. */
export type Place = Pick<Terminal, "style" | "size">;

/** Text of others at an indent, in lines that fit, nothing of it left out or unseen; a line that goes on hangs. */
export function paragraph(text: string, { style, size }: Place, indent: number, hang = 0): string[] {
  const width = Math.max(20, size().columns - indent - hang - 1);
  return visibleLines(text).flatMap((line) =>
    wrapTo(line, width).map(
      (part, n) => " ".repeat(n === 0 ? indent : indent + hang) + paintMarks(part, style.magenta),
    ),
  );
}
