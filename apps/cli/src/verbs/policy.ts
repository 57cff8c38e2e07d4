import type { Command } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { findRunId } from "../find-id.ts";
import { addVerb, type Cli } from "../verb.ts";

interface ScopeOptions {
  readonly run?: string;
  readonly definition?: string;
  readonly workspace?: boolean;
  readonly all?: boolean;
  readonly reason?: string;
}

/** `countersign kill` and `countersign lift`. */
export function addSwitchVerbs(program: Command): void {
  addVerb<ScopeOptions>(program, {
    usage: "kill",
    summary: "Hold everything in a scope: nothing under it starts, is decided or expires",
    options: (command) => withScope(command).requiredOption("--reason <text>", "why; everybody who waits sees it"),
    async run(cli, _args, options) {
      const json = { ...(await scopeOf(cli, options)), reason: options.reason ?? "" };
      tell(cli, await ask(cli.client.v1.kill.$post({ json })));
    },
  });

  addVerb<ScopeOptions>(program, {
    usage: "lift",
    summary: "Let everything in a scope go on",
    options: (command) => withScope(command).option("--reason <text>", "why; goes to the server's log"),
    async run(cli, _args, options) {
      const { reason } = options;
      const json = { ...(await scopeOf(cli, options)), ...(reason === undefined ? {} : { reason }) };
      tell(cli, await ask(cli.client.v1.lift.$post({ json })));
    },
  });
}

function withScope(command: Command): Command {
  return command
    .option("--run <run>", "one run")
    .option("--definition <name>", "every run of a definition")
    .option("--workspace", "the whole workspace")
    .option("--all", "the whole installation");
}

type Scope = { readonly scope: "app" | "workspace" | "definition" | "run"; readonly id?: string };

async function scopeOf(cli: Cli, { run, definition, workspace, all }: ScopeOptions): Promise<Scope> {
  const given = [run, definition, workspace, all].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new CliError("usage", "Which scope? Give one of --run <run>, --definition <name>, --workspace and --all.");
  }
  if (run !== undefined) return { scope: "run", id: await findRunId(cli.client, run) };
  if (workspace === true) return { scope: "workspace" };
  if (definition === undefined) return { scope: "app" };
  const { definitions } = await ask(cli.client.v1.definitions.$get({ query: {} }));
  const found = definitions.find(({ name }) => name === definition);
  if (found !== undefined) return { scope: "definition", id: found.id };
  const names = definitions.map(({ name }) => name).join(", ");
  throw new CliError("error", `There is no definition ${JSON.stringify(definition)}; there are: ${names}.`);
}

function tell(cli: Cli, answer: { scope: string; outcome: "killed" | "lifted" | "already" }): void {
  if (cli.isJson) return cli.printJson(answer);
  const said = {
    killed: `Everything in this ${answer.scope} is held. Let it go on with ./countersign lift.`,
    lifted: `Everything in this ${answer.scope} goes on.`,
    already: `Nothing changed: the switch of this ${answer.scope} stood so before.`,
  }[answer.outcome];
  cli.print([said]);
}
