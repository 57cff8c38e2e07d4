import { inspect } from "node:util";
import { type Command, InvalidArgumentError } from "commander";
import type { Client } from "./client.ts";
import { type CliConfig, readConfig } from "./config.ts";
import { connectToServer } from "./connection.ts";
import { CliError, exitCodes } from "./exit.ts";
import { Refusal } from "./local/refusal.ts";
import { openTerminal, type Terminal } from "./terminal/terminal.ts";
import { inertJson, makeInert } from "./terminal/visible.ts";

/** What a verb works with. */
export interface Cli {
  readonly config: CliConfig;
  readonly terminal: Terminal;
  readonly isJson: boolean;
  /** The server to ask; looked up on first use, since not every verb needs one. */
  readonly client: Client;
  /** Writes lines for a person. */
  print(lines: readonly string[]): void;
  /** Writes a value for a program: one line of JSON. */
  printJson(value: unknown): void;
}

/** Options that every verb has. */
interface CommonOptions {
  readonly json?: boolean;
  readonly color?: boolean;
}

export interface Verb<O> {
  /** Its name and arguments, as `show <task>`. */
  readonly usage: string;
  readonly summary: string;
  /** What its group does where it is named alone. */
  readonly isDefault?: boolean;
  readonly options?: (command: Command) => Command;
  /** It takes none of the options that all others have. */
  readonly isBare?: boolean;
  readonly run: (cli: Cli, args: readonly string[], options: O) => Promise<void> | void;
}

/** Adds a verb with the options that all have; what it throws becomes a message and the exit code. Returns its command. */
export function addVerb<O = object>(parent: Command, verb: Verb<O>): Command {
  const command = parent.command(verb.usage, { isDefault: verb.isDefault === true }).description(verb.summary);
  verb.options?.(command);
  // Else a slip such as `runs lst` would be told to be too many arguments of a verb that nobody named.
  if (verb.isDefault === true) command.allowExcessArguments();
  if (verb.isBare !== true) command.option("--json", "write JSON").option("--no-color", "write without colours");
  command.action(async () => {
    const options = command.opts<CommonOptions & O>();
    const cli = createCli(options);
    try {
      if (verb.isDefault === true) refuseWords(parent, command);
      await verb.run(cli, command.args, options);
    } catch (error) {
      tellError(cli, error);
    }
  });
  return command;
}

function refuseWords(parent: Command, command: Command): void {
  const [word] = command.args;
  if (word === undefined) return;
  const group = parent.name();
  const isNamed = parent.args[0] === command.name();
  throw new CliError(
    "usage",
    isNamed
      ? `${group} ${command.name()} takes no ${JSON.stringify(word)}; see ./countersign ${group} ${command.name()} --help.`
      : `${group} has no verb ${JSON.stringify(word)}; there are ${parent.commands.map((one) => one.name()).join(", ")}.`,
  );
}

function createCli({ json, color = true }: CommonOptions): Cli {
  const config = readConfig();
  const terminal = openTerminal({ isColorUnwanted: !color || config.isColorUnwanted || json === true });
  let client: Client | undefined;
  return {
    config,
    terminal,
    isJson: json === true,
    get client() {
      return (client ??= connectToServer(config));
    },
    print: (lines) => terminal.write(lines.map((line) => `${makeInert(line)}\n`).join("")),
    printJson: (value) => terminal.write(`${inertJson(value)}\n`),
  };
}

/** Tells what went wrong on standard error and sets the exit code. An error of ours shows its message, any other itself. */
export function tellError({ isJson, terminal }: Pick<Cli, "isJson" | "terminal">, error: unknown): void {
  const isOurs = error instanceof CliError;
  const isTold = isOurs || error instanceof Refusal;
  process.exitCode = isOurs ? exitCodes[error.exit] : exitCodes.error;
  if (isJson) {
    const message = error instanceof Error ? error.message : String(error);
    const details = isOurs ? error.details : {};
    console.error(inertJson({ error: { exit: isOurs ? error.exit : "error", message, ...details } }));
  } else {
    const told = makeInert(isTold ? error.message : inspect(error));
    console.error(isTold && process.stderr.isTTY ? terminal.style.red(told) : told);
  }
}

/** Reads a whole number within bounds, for an option. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`expected a whole number from ${least} to ${most}.`);
  };
}
