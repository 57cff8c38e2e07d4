import type { Terminal } from "./terminal.ts";
import { makeInert } from "./visible.ts";

/** Lines at the end of the output that are drawn over in place. */
export interface Live {
  /** Shows `lines` in place of those shown before. Nothing is written where they are the same. */
  draw(lines: readonly string[]): void;
  /** Writes `lines` above, to stay. */
  print(lines: readonly string[]): void;
  /** Leaves the terminal as an ordinary one, the last lines drawn gone or kept. */
  end(options?: { readonly keep: boolean }): void;
}

const escape = "\u001b[";
const beginTogether = `${escape}?2026h`;
const endTogether = `${escape}?2026l`;
const hideCursor = `${escape}?25l`;
const showCursor = `${escape}?25h`;
const clearLine = `${escape}K`;
const clearBelow = `${escape}J`;

/**
 * Draws in place on a terminal: only what changed is written, all of it at once, so that nothing flickers. Lines must fit
 * the terminal's width. Where the output is no terminal only `print` writes.
 */
export function createLive({ isTerminal, write }: Pick<Terminal, "isTerminal" | "write">): Live {
  let shown: readonly string[] = [];
  let isOpen = false;

  function backToStart(): string {
    return shown.length > 1 ? `\r${escape}${shown.length - 1}A` : "\r";
  }

  return {
    draw(given) {
      if (!isTerminal) return;
      const lines = given.map(makeInert);
      if (lines.length === shown.length && lines.every((line, n) => line === shown[n])) return;
      const body = lines.map((line) => line + clearLine).join("\n");
      const opening = isOpen ? "" : hideCursor;
      isOpen = true;
      write(`${beginTogether}${opening}${backToStart()}${body}${clearBelow}${endTogether}`);
      shown = lines;
    },
    print(lines) {
      if (lines.length === 0) return;
      const text = lines.map((line) => `${makeInert(line)}\n`).join("");
      if (!isOpen) return write(text);
      const below = shown.map((line) => line + clearLine).join("\n");
      write(`${beginTogether}${backToStart()}${clearBelow}${text}${below}${endTogether}`);
    },
    end({ keep } = { keep: false }) {
      if (!isOpen) return;
      write(keep ? `\n${showCursor}` : `${backToStart()}${clearBelow}${showCursor}`);
      isOpen = false;
      shown = [];
    },
  };
}
