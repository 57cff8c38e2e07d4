import type { Command } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { askOfFile, readPolicyFile } from "../policy-file.ts";
import { type PolicyScope, type ScopeOptions, scopeOf, withScope } from "../scope.ts";
import { type Layer, showDifference, showLayer, told } from "../show/rules.ts";
import { addVerb, type Cli } from "../verb.ts";
import { confirmChange } from "./confirm-change.ts";
import { addDialVerb, presetNames } from "./dial.ts";
import { addSetVerb } from "./set-rule.ts";
import { addSuggestVerb } from "./suggest.ts";

const here: PolicyScope = { scope: "workspace" };

interface ApplyOptions extends ScopeOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** `countersign rules …` */
export function addRuleVerbs(program: Command): void {
  const rules = program.command("rules").description("Rules: what runs, asks or is denied, scope by scope");

  addVerb<ScopeOptions>(rules, {
    usage: "ls",
    isDefault: true,
    summary: "What a scope says: its rules, those that decisions left there, its dial; the workspace unless named",
    options: withScope,
    async run(cli, _args, options) {
      const layer = await readLayer(cli, await scopeOf(cli.client, options, here));
      if (cli.isJson) cli.printJson(layer);
      else cli.print(showLayer(layer, cli));
    },
  });

  addSetVerb(rules);

  addVerb<ApplyOptions>(rules, {
    usage: "apply <file>",
    summary: "Show what this policy file would change in a scope, then make it so; asks first, or takes --yes",
    options: (command) =>
      withScope(command).option("--yes", "do not ask").option("--dry-run", "only show the difference; change nothing"),
    run: (cli, [file = ""], options) => applyFile(cli, file, options),
  });

  addVerb<ScopeOptions & { readonly remembered?: boolean; readonly reason?: string }>(rules, {
    usage: "revoke [rules...]",
    summary: "Take rules back, by their ids as ls shows them, or with --remembered all that decisions left in a scope",
    options: (command) =>
      withScope(command)
        .option("--remembered", "all that decisions left in the scope")
        .option("--reason <text>", "why; goes to the audit"),
    async run(cli, ids, { remembered, reason, ...options }) {
      if ((ids.length === 0) !== (remembered === true))
        throw new CliError("usage", "Which rules? Give their ids, or --remembered.");
      const scope = await scopeOf(cli.client, options, here);
      const json = {
        ...scope,
        rules: remembered === true ? ("remembered" as const) : named(await readLayer(cli, scope), ids),
        ...(reason === undefined ? {} : { reason }),
      };
      const done = await ask(cli.client.v1.rules.revoke.$post({ json }));
      if (cli.isJson) return cli.printJson(done);
      if (done.rules.length === 0) return cli.print(["There was nothing to take back."]);
      cli.print(done.rules.map(({ id, outcome, waiting }) => `${shortId(id)} ${outcome}${told(waiting)}`));
    },
  });

  addDialVerb(rules);
  addPresetVerb(rules);
  addSuggestVerb(rules);
}

function addPresetVerb(rules: Command): void {
  addVerb<ScopeOptions>(rules, {
    usage: "preset <name>",
    summary: `Set a scope's dial, approval policy and rules together: ${presetNames.join(", ")}; the workspace unless named`,
    options: withScope,
    async run(cli, [given = ""], options) {
      const preset = presetNames.find((name) => name === given);
      if (preset === undefined) {
        throw new CliError(
          "usage",
          `There is no preset ${JSON.stringify(given)}; there are ${presetNames.join(", ")}. Off, ask and allow are modes of one tool: ./countersign rules set.`,
        );
      }
      const { scope, id } = await scopeOf(cli.client, options, here);
      const query = { scope, ...(id === undefined ? {} : { id }) };
      const done = await ask(cli.client.v1.policy.preset.$put({ query, header: {}, json: { preset } }));
      if (cli.isJson) return cli.printJson(done);
      cli.print([
        ...showDifference(done, cli),
        ...(done.changes.length === 0 ? [] : [`This ${scope} is set to ${preset}.${told(done.waiting)}`]),
      ]);
    },
  });
}

async function readLayer(cli: Cli, { scope, id }: PolicyScope): Promise<Layer> {
  return await ask(cli.client.v1.rules.$get({ query: { scope, ...(id === undefined ? {} : { id }) } }));
}

/** The rules whose ids end so, in the version that was just read. */
function named(layer: Layer, ends: readonly string[]): { id: string; version: number }[] {
  return ends.map((end) => {
    const found = layer.rules.filter(({ id }) => id === end || (end.length >= 4 && id.endsWith(end.toLowerCase())));
    const [rule, other] = found;
    if (rule !== undefined && other === undefined) return { id: rule.id, version: rule.version };
    const what = rule === undefined ? "no rule" : "several rules";
    throw new CliError(
      "usage",
      `There ${rule === undefined ? "is" : "are"} ${what} ${JSON.stringify(end)} in this ${layer.scope}; ./countersign rules ls shows them.`,
    );
  });
}

/** What is shown is what is applied: what somebody changes meanwhile is a conflict. */
async function applyFile(cli: Cli, file: string, { yes, dryRun, ...options }: ApplyOptions): Promise<void> {
  const text = readPolicyFile(file);
  const scope = await scopeOf(cli.client, options, here);
  const query = { scope: scope.scope, ...(scope.id === undefined ? {} : { id: scope.id }) };
  const asItIs = { init: { body: text } };
  const planned = await askOfFile(
    file,
    cli.client.v1.rules.$put({ query: { ...query, dryRun: "true" }, header: {}, json: {} }, asItIs),
  );
  if (!cli.isJson) cli.print(showDifference(planned, cli));
  if (dryRun === true || planned.changes.length === 0) {
    if (cli.isJson) cli.printJson(planned);
    return;
  }
  await confirmChange(cli, yes, `the rules of this ${scope.scope} stay as they are`);
  const header = { "if-match": `"${planned.version}"` };
  const applied = await askOfFile(
    file,
    cli.client.v1.rules.$put({ query: { ...query, dryRun: "false" }, header, json: {} }, asItIs),
  );
  if (cli.isJson) cli.printJson(applied);
  else cli.print([`${cli.terminal.style.green("✔")} This ${scope.scope} says so now.${told(applied.waiting)}`]);
}
