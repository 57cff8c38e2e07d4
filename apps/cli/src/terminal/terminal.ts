import { createInterface } from "node:readline/promises";
import { createStyle, type Style } from "./style.ts";

/** Where a verb writes, and whether somebody is there to be asked. */
export interface Terminal {
  readonly isTerminal: boolean;
  /** Both ends are a terminal: a question can be asked. */
  readonly isInteractive: boolean;
  readonly style: Style;
  /** Columns and rows now. Where the output is no terminal, lines may be as long as they are. */
  size(): { readonly columns: number; readonly rows: number };
  /** Nothing where nobody reads any more. */
  write(text: string): void;
  /** Aborted when the reader has gone away, as `head` does: what was asked for is still done, and told by the exit code alone. */
  readonly gone: AbortSignal;
  /** Asks for yes or no; anything but y or yes is no. */
  confirm(question: string): Promise<boolean>;
}

export interface TerminalOptions {
  readonly isColorUnwanted: boolean;
}

/** The terminal of this process. */
export function openTerminal({ isColorUnwanted }: TerminalOptions): Terminal {
  const { stdin, stdout } = process;
  const gone = new AbortController();
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    gone.abort();
  });
  const isTerminal = stdout.isTTY === true;
  return {
    isTerminal,
    isInteractive: isTerminal && stdin.isTTY === true,
    style: createStyle(isTerminal && !isColorUnwanted),
    size: () =>
      isTerminal ? { columns: stdout.columns || 80, rows: stdout.rows || 24 } : { columns: 10_000, rows: 10_000 },
    write(text) {
      if (!gone.signal.aborted) stdout.write(text);
    },
    gone: gone.signal,
    async confirm(question) {
      const reader = createInterface({ input: stdin, output: stdout });
      const closed = new AbortController();
      reader.once("close", () => closed.abort());
      try {
        const said = await reader.question(question, { signal: closed.signal });
        return /^y(es)?$/i.test(said.trim());
      } catch {
        // Ctrl-C or the end of the input is a no.
        stdout.write("\n");
        return false;
      } finally {
        reader.close();
      }
    },
  };
}
