import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import type { Command } from "commander";
import { CliError } from "../exit.ts";

/** What may go with every decision. */
export interface DecisionOptions {
  readonly digest?: string;
  readonly feedback?: string;
  readonly note?: string;
}

/** What may go with an approval besides. */
export interface ApproveOptions extends DecisionOptions {
  readonly for?: string;
  readonly unit?: readonly string[];
  readonly whole?: boolean;
  readonly option?: string;
  readonly edit?: string;
  readonly equal?: boolean;
}

/** An approval's choices as the server takes them. */
export interface Choices {
  readonly remember?: { readonly scope: "run" | "definition" | "workspace"; readonly units?: string[] | "all" };
  readonly selectedOption?: string;
  readonly editedArgs?: string;
  readonly equal?: boolean;
}

const scopes = ["run", "definition", "workspace"] as const;

/** The option by which a decision is given where nobody can be asked. */
export function withDigest(command: Command): Command {
  return command.option("--digest <digest>", "the digest that was shown; needed where nobody can be asked");
}

/** What goes with any decision on an approval. */
export function withDecision(command: Command): Command {
  return command
    .option("--feedback <text>", "goes to the agent")
    .option("--note <text>", "stays with the approval, for approvers");
}

/** What goes with an approval alone; `readChoices` reads it. */
export function withChoices(command: Command): Command {
  return command
    .option("--for <scope>", "remember the answer for the run, definition or workspace; as narrow as this call")
    .option("--unit <unit...>", "with --for: only these of what the call touches")
    .option("--whole", "with --for: whatever the tool does")
    .option("--option <id>", "which of the card's options it is to be")
    .option("--edit <file>", "run these arguments instead: a file of JSON, - for standard input")
    .option("--equal", "approve the others that ask for the very same as well");
}

/** Reads the choices of an approval; throws a usage error for those that do not go together. */
export async function readChoices(options: ApproveOptions): Promise<Choices> {
  const { for: scope, unit, whole, option, edit, equal } = options;
  if (scope === undefined && (unit !== undefined || whole === true))
    throw new CliError("usage", "--unit and --whole narrow or widen what --for remembers; say --for what as well.");
  if (unit !== undefined && whole === true) throw new CliError("usage", "Say either --unit or --whole.");
  const units = whole === true ? { units: "all" as const } : unit === undefined ? {} : { units: [...unit] };
  return {
    ...(scope === undefined ? {} : { remember: { scope: readScope(scope), ...units } }),
    ...(option === undefined ? {} : { selectedOption: option }),
    ...(edit === undefined ? {} : { editedArgs: await readArguments(edit) }),
    ...(equal === true ? { equal } : {}),
  };
}

function readScope(given: string): (typeof scopes)[number] {
  const scope = scopes.find((one) => one === given);
  if (scope !== undefined) return scope;
  throw new CliError("usage", `${JSON.stringify(given)} is nothing to remember it for; say ${scopes.join(", ")}.`);
}

async function readArguments(file: string): Promise<string> {
  const read = file === "-" ? readAll(process.stdin) : readFile(file, "utf8");
  const text = await read.catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError("usage", `The arguments cannot be read: ${why}`);
  });
  try {
    JSON.parse(text);
  } catch {
    throw new CliError("usage", "What is to run instead is not JSON. Write all the arguments, as the card shows them.");
  }
  return text.trim();
}
