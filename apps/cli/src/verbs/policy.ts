import type { Command } from "commander";
import { ask, type KillSwitch } from "../client.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { type PolicyScope, type ScopeOptions, scopeOf, withScope } from "../scope.ts";
import { paragraph } from "../show/paragraph.ts";
import { quoted } from "../show/quoted.ts";
import { heldScopes, thrownBy } from "../show/words.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";

interface SwitchOptions extends ScopeOptions {
  readonly tool?: string;
  readonly server?: string;
  readonly reason?: string;
}

/** `countersign kill`, `countersign kill ls` and `countersign lift`. */
export function addSwitchVerbs(program: Command): void {
  const kill = addVerb<SwitchOptions>(program, {
    usage: "kill",
    summary: "Hold everything in a scope (nothing starts, is decided or expires), or deny the calls of a tool",
    // Not required of `kill ls`, of which commander would require it too.
    options: (command) => withTarget(command).option("--reason <text>", "why; everybody who waits sees it (required)"),
    async run(cli, _args, { reason = "", ...options }) {
      const target = await targetOf(cli, options);
      if (reason === "") throw new CliError("usage", "Why? Give --reason <text>; everybody who waits sees it.");
      tell(cli, await ask(cli.client.v1.kill.$post({ json: { ...target, reason } })), options);
    },
  });
  // What follows `ls` is its own: both have --json.
  kill.enablePositionalOptions();

  addVerb(kill, {
    usage: "ls",
    summary: "What is held, since when, by whom and why, and how to let it go on",
    async run(cli) {
      const { switches, scopes } = await ask(cli.client.v1.kill.$get());
      if (cli.isJson) return cli.printJson(switches);
      if (switches.length === 0) return cli.print(["No kill switch is on."]);
      const { style } = cli.terminal;
      cli.print(
        switches.flatMap((one) => [
          style.bold(nameOf(one)),
          ...paragraph(thrownBy(one), cli.terminal, 2),
          ...(scopes.includes(one.scope) ? [`  ${style.cyan(howToLift(one))}`] : []),
        ]),
      );
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

/** What a switch holds, as people say it. */
export function nameOf({ scope, name }: Pick<KillSwitch, "scope" | "name">): string {
  if (scope === "tool" || scope === "server") return `${scope} ${makeVisible(name ?? "")}`;
  return name === null ? heldScopes[scope] : `${heldScopes[scope]}: ${makeVisible(name)}`;
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
      "Which scope? Give one of --run <run>, --definition <name>, --workspace, --all, --tool <name> and --server <name>. What is held already: ./countersign kill ls",
    );
  }
  if (tool !== undefined) return { scope: "tool", name: tool };
  if (server !== undefined) return { scope: "server", name: server };
  return await scopeOf(cli.client, scope);
}

function tell(
  cli: Cli,
  answer: { scope: KillSwitch["scope"]; id: string; outcome: "killed" | "lifted" | "already"; waiting: number },
  { tool, server, definition }: SwitchOptions,
): void {
  if (cli.isJson) return cli.printJson(answer);
  const { scope, id, outcome, waiting } = answer;
  const goOn = `Let it go on: ${howToLift({ scope, id, name: tool ?? server ?? definition ?? null })}`;
  const isTool = scope === "tool" || scope === "server";
  const what = nameOf({ scope, name: isTool ? id : null });
  const said = {
    killed: isTool
      ? `Calls of the ${what} are denied${waiting > 0 ? `, ${waiting} that wait for approval too` : ""}. ${goOn}`
      : `Everything in ${what} is held. ${goOn}`,
    lifted: isTool ? `Calls of the ${what} go on.` : `Everything in ${what} goes on.`,
    already: `Nothing changed: the switch of ${isTool ? "the " : ""}${what} was already so.`,
  }[outcome];
  cli.print([said]);
}

/** The whole command that takes a switch back. */
function howToLift({ scope, id, name }: Pick<KillSwitch, "scope" | "id" | "name">): string {
  const named = { app: "all", workspace: "workspace", run: `run ${shortId(id ?? "")}` };
  const target = scope in named ? named[scope as keyof typeof named] : `${scope} ${quoted(name ?? "")}`;
  return `./countersign lift --${target}`;
}
