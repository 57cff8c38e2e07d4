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
  write(text: string): void;
  /** Asks for yes or no; anything but y or yes is no. */
  confirm(question: string): Promise<boolean>;
}

export interface TerminalOptions {
  readonly isColorUnwanted: boolean;
}

/** The terminal of this process. A reader that goes away, as `head` does, ends the program in peace. */
export function openTerminal({ isColorUnwanted }: TerminalOptions): Terminal {
  const { stdin, stdout } = process;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    throw error;
  });
  const isTerminal = stdout.isTTY === true;
  return {
    isTerminal,
    isInteractive: isTerminal && stdin.isTTY === true,
    style: createStyle(isTerminal && !isColorUnwanted),
    size: () =>
      isTerminal ? { columns: stdout.columns || 80, rows: stdout.rows || 24 } : { columns: 10_000, rows: 10_000 },
    write: (text) => void stdout.write(text),
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
