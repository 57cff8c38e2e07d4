import { type Command, InvalidArgumentError } from "commander";
import { ask, type Client } from "./client.ts";
import { CliError } from "./exit.ts";
import { findRunId } from "./find-id.ts";

/** The options that name a scope of policy. */
export interface ScopeOptions {
  readonly run?: string;
  readonly definition?: string;
  readonly workspace?: boolean;
  readonly all?: boolean;
}

export type PolicyScope = { readonly scope: "app" | "workspace" | "definition" | "run"; readonly id?: string };

const scopeWords = {
  run: "one run",
  definition: "every run of a definition",
  workspace: "the whole workspace",
  all: "the whole installation",
};

/** Adds the options that name a scope; `words` say what each means to the verb. */
export function withScope(command: Command, words = scopeWords): Command {
  return command
    .option("--run <run>", words.run)
    .option("--definition <name>", words.definition)
    .option("--workspace", words.workspace)
    .option("--all", words.all);
}

/** The scope that the options name; `otherwise` where they name none. Refused where they name several. */
export async function scopeOf(
  client: Client,
  { run, definition, workspace, all }: ScopeOptions,
  otherwise?: PolicyScope,
): Promise<PolicyScope> {
  const given = [run, definition, workspace, all].filter((one) => one !== undefined);
  if (given.length === 0 && otherwise !== undefined) return otherwise;
  if (given.length !== 1) {
    throw new CliError("usage", "Which scope? Give one of --run <run>, --definition <name>, --workspace and --all.");
  }
  if (run !== undefined) return { scope: "run", id: await findRunId(client, run) };
  if (workspace === true) return { scope: "workspace" };
  if (definition === undefined) return { scope: "app" };
  const { definitions } = await ask(client.v1.definitions.$get({ query: { name: definition } }));
  const [found] = definitions;
  if (found !== undefined) return { scope: "definition", id: found.id };
  throw new CliError(
    "error",
    `There is no definition ${JSON.stringify(definition)}. ./countersign defs ls lists them.`,
  );
}

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a span such as `30m`, for an option; in milliseconds. */
export function span(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError("expected a number with s, m, h or d, such as 30m.");
  return Number(count) * units[unit as keyof typeof units];
}

/** The moment so long from now, as a request takes it. */
export function momentIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
