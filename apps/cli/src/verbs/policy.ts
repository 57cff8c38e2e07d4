import type { Command } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { type PolicyScope, type ScopeOptions, scopeOf, withScope } from "../scope.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";

interface SwitchOptions extends ScopeOptions {
  readonly tool?: string;
  readonly server?: string;
  readonly reason?: string;
}

/** `countersign kill` and `countersign lift`. */
export function addSwitchVerbs(program: Command): void {
  addVerb<SwitchOptions>(program, {
    usage: "kill",
    summary: "Hold everything in a scope (nothing starts, is decided or expires), or deny the calls of a tool",
    options: (command) => withTarget(command).requiredOption("--reason <text>", "why; everybody who waits sees it"),
    async run(cli, _args, options) {
      const json = { ...(await targetOf(cli, options)), reason: options.reason ?? "" };
      tell(cli, await ask(cli.client.v1.kill.$post({ json })), options);
    },
  });

  addVerb<SwitchOptions>(program, {
    usage: "lift",
    summary: "Let everything in a scope go on",
    options: (command) => withTarget(command).option("--reason <text>", "why; goes to the audit"),
    async run(cli, _args, options) {
      const { reason } = options;
      const json = { ...(await targetOf(cli, options)), ...(reason === undefined ? {} : { reason }) };
      tell(cli, await ask(cli.client.v1.lift.$post({ json })), options);
    },
  });
}

function withTarget(command: Command): Command {
  return withScope(command)
    .option("--tool <name>", "the calls of one tool in this workspace")
    .option("--server <name>", "the calls of all tools of one server in this workspace");
}

type Target = PolicyScope | { readonly scope: "tool" | "server"; readonly name: string };

async function targetOf(cli: Cli, { tool, server, ...scope }: SwitchOptions): Promise<Target> {
  const { run, definition, workspace, all } = scope;
  const given = [tool, server, run, definition, workspace, all].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new CliError(
      "usage",
      "Which scope? Give one of --run <run>, --definition <name>, --workspace, --all, --tool <name> and --server <name>.",
    );
  }
  if (tool !== undefined) return { scope: "tool", name: tool };
  if (server !== undefined) return { scope: "server", name: server };
  return await scopeOf(cli.client, scope);
}

function tell(
  cli: Cli,
  answer: { scope: string; id: string; outcome: "killed" | "lifted" | "already"; waiting: number },
  options: SwitchOptions,
): void {
  if (cli.isJson) return cli.printJson(answer);
  const { scope, outcome, waiting } = answer;
  const isTool = scope === "tool" || scope === "server";
  const what = isTool ? `${scope} ${makeVisible(answer.id)}` : scope;
  const said = {
    killed: isTool
      ? `Calls of the ${what} are denied${waiting > 0 ? `, ${waiting} that wait for approval too` : ""}. ${howToLift(options)}`
      : `Everything in this ${what} is held. ${howToLift(options)}`,
    lifted: isTool ? `Calls of the ${what} go on.` : `Everything in this ${what} goes on.`,
    already: isTool
      ? `Nothing changed: the switch of the ${what} was already so.`
      : `Nothing changed: the switch of this ${what} was already so.`,
  }[outcome];
  cli.print([said]);
}

/** The whole command that takes a switch back. */
function howToLift({ tool, server, run, definition, workspace }: SwitchOptions): string {
  const named = Object.entries({ tool, server, run, definition }).find(([, name]) => name !== undefined);
  const target = named === undefined ? (workspace === true ? "workspace" : "all") : `${named[0]} ${quoted(named[1])}`;
  return `Let it go on: ./countersign lift --${target}`;
}

/** As a shell takes it for one word. */
function quoted(name = ""): string {
  return /^[\w.:-]+$/.test(name) ? name : `'${makeVisible(name).replaceAll("'", `'\\''`)}'`;
}
