/** What the exit code says. Closed: scripts rely on it. */
export const exitCodes = { ok: 0, error: 1, usage: 2, denied: 3, conflict: 4, timeout: 5 } as const;

export type ExitName = Exclude<keyof typeof exitCodes, "ok">;

/** The verb cannot go on. `message` is for the person at the terminal; `details` goes out with `--json`. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exit: ExitName;
  readonly details: object;

  constructor(exit: ExitName, message: string, details: object = {}) {
    super(message);
    this.exit = exit;
    this.details = details;
  }
}
