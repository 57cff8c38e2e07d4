import { CliError } from "../exit.ts";
import type { Terminal } from "../terminal/terminal.ts";

export interface Interrupt {
  /** Aborted by Ctrl-C, by SIGTERM, when the time is up and when nobody reads any more. */
  readonly signal: AbortSignal;
  /** Throws CliError `timeout` where it was the time; a person who pressed Ctrl-C has what they wanted. */
  check(): void;
  /** Gives the signals back to the process. */
  dispose(): void;
}

/**
 * Turns Ctrl-C, SIGTERM, a time limit and a reader that went away into an abort, so that a verb that waits can leave its
 * terminal in order.
 * `whatStands` says, in whole sentences, how things are once the time was up.
 */
export function onInterrupt(
  { gone }: Pick<Terminal, "gone">,
  timeoutSeconds: number | undefined,
  whatStands: string,
): Interrupt {
  const interrupted = new AbortController();
  const timedOut = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  const timer = timeoutSeconds === undefined ? undefined : setTimeout(() => timedOut.abort(), timeoutSeconds * 1_000);
  return {
    signal: AbortSignal.any([interrupted.signal, timedOut.signal, gone]),
    check() {
      if (!timedOut.signal.aborted) return;
      throw new CliError("timeout", `The time of ${timeoutSeconds} s is up. ${whatStands}`);
    },
    dispose() {
      clearTimeout(timer);
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", interrupt);
    },
  };
}

/** Waits, unless or until the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((done) => {
    const timer = setTimeout(finish, ms);
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      done();
    }
    signal.addEventListener("abort", finish, { once: true });
  });
}
