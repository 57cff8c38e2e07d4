import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { ask } from "../client.ts";
import { CliError } from "../exit.ts";
import { shortId } from "../find-id.ts";
import { momentIn, type PolicyScope, type ScopeOptions, scopeOf, span, withScope } from "../scope.ts";
import {
  type Entry,
  howToExplain,
  type Layer,
  outdoneText,
  showDifference,
  showLayer,
  type Target,
  told,
} from "../show/rules.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";
import { confirmChange } from "./confirm-change.ts";
import { addDialVerb, presetNames } from "./dial.ts";
import { addSuggestVerb } from "./suggest.ts";

const modes = ["off", "deny", "ask", "allowlist", "allow"] as const;
type Mode = (typeof modes)[number];

const here: PolicyScope = { scope: "workspace" };

interface SetOptions extends ScopeOptions {
  readonly command?: string[];
  readonly unit?: string[];
  readonly pattern?: string[];
  readonly lock?: boolean;
  readonly for?: number;
}

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

  addVerb<SetOptions>(rules, {
    usage: "set <target> <mode>",
    summary:
      "Set what one target does: tool:<name>, family:<name>, server:<name> or everything; mode inherit takes it away",
    options: (command) =>
      withScope(command)
        .option("--command <key...>", 'only these commands, such as "git status"')
        .option("--unit <unit...>", "only what is exactly this: a host, a path, an address")
        .option("--pattern <regex...>", "only what this matches as a whole, in RE2 syntax")
        .option("--lock", "scopes further in may only tighten it; for a workspace")
        .option("--for <span>", "how long, such as 2h", span),
    async run(cli, [target = "", mode = ""], options) {
      const { scope, id } = await scopeOf(cli.client, options, here);
      const change = { target: readTarget(target), ...ruleOf(mode, options) };
      const query = { scope, ...(id === undefined ? {} : { id }) };
      const done = await ask(cli.client.v1.rules.$patch({ query, json: { changes: [change] } }));
      if (cli.isJson) return cli.printJson(done);
      const [said] = done.changes;
      const words = { written: `is ${mode}`, cleared: "is inherited", unchanged: "stands as it was" };
      cli.print([
        `${makeVisible(target)} ${words[said?.outcome ?? "unchanged"]} in this ${scope}.${told(said?.waiting ?? 0)}`,
        ...(said?.outdone === undefined
          ? []
          : [outdoneText(said.outdone, cli), ...howToExplain(change.target, options)]),
      ]);
    },
  });

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

function readTarget(text: string): Target {
  if (text === "everything") return { kind: "everything" };
  const [, kind, name] = /^(tool|family|server):(.+)$/.exec(text) ?? [];
  if (kind === undefined || name === undefined) {
    throw new CliError(
      "usage",
      `${JSON.stringify(text)} is no target; expected tool:<name>, family:<name>, server:<name> or everything.`,
    );
  }
  return { kind: kind as "tool" | "family" | "server", name };
}

function ruleOf(mode: string, { command, unit, pattern, lock, for: ms }: SetOptions) {
  if (mode === "inherit") return { mode: null };
  if (!isMode(mode)) {
    throw new CliError("usage", `There is no mode ${JSON.stringify(mode)}; there are ${modes.join(", ")} and inherit.`);
  }
  const entries: Entry[] = [
    ...(command ?? []).map((text) => ({ kind: "command" as const, command: text })),
    ...(unit ?? []).map((text) => ({ kind: "unit" as const, unit: text })),
    ...(pattern ?? []).map((text) => ({ kind: "pattern" as const, pattern: text })),
  ];
  return {
    mode,
    ...(entries.length === 0 ? {} : { entries }),
    ...(lock === true ? { locked: true } : {}),
    ...(ms === undefined ? {} : { expiresAt: momentIn(ms) }),
  };
}

function isMode(text: string): text is Mode {
  return modes.some((mode) => mode === text);
}

/** What is shown is what is applied: what somebody changes meanwhile is a conflict. */
async function applyFile(cli: Cli, file: string, { yes, dryRun, ...options }: ApplyOptions): Promise<void> {
  const text = readFile(file);
  const scope = await scopeOf(cli.client, options, here);
  const query = { scope: scope.scope, ...(scope.id === undefined ? {} : { id: scope.id }) };
  // The file goes as it is, so that the server can name its lines.
  const asItIs = { init: { body: text } };
  const planned = await ask(
    cli.client.v1.rules.$put({ query: { ...query, dryRun: "true" }, header: {}, json: {} }, asItIs),
  );
  if (!cli.isJson) cli.print(showDifference(planned, cli));
  if (dryRun === true || planned.changes.length === 0) {
    if (cli.isJson) cli.printJson(planned);
    return;
  }
  await confirmChange(cli, yes, `the rules of this ${scope.scope} stay as they are`);
  const header = { "if-match": `"${planned.version}"` };
  const applied = await ask(
    cli.client.v1.rules.$put({ query: { ...query, dryRun: "false" }, header, json: {} }, asItIs),
  );
  if (cli.isJson) cli.printJson(applied);
  else cli.print([`${cli.terminal.style.green("✔")} This ${scope.scope} says so now.${told(applied.waiting)}`]);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError("usage", `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
