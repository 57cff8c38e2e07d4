import { CliError } from "../exit.ts";
import type { Cli } from "../verb.ts";

/** Afterwards a person has agreed to the difference that was shown, or `yes` did. Throws CliError otherwise; `unchanged` says what stays. */
export async function confirmChange(cli: Cli, yes: boolean | undefined, unchanged: string): Promise<void> {
  if (yes === true) return;
  if (!cli.terminal.isInteractive || cli.isJson)
    throw new CliError(
      "usage",
      "Nobody can be asked here. Look at the difference with --dry-run, then repeat with --yes.",
    );
  if (await cli.terminal.confirm(`\n${cli.terminal.style.bold("Apply this?")} [y/N] `)) return;
  throw new CliError("error", `Nothing was changed; ${unchanged}.`);
}
