import type { Command } from "commander";
import type { InferRequestType, InferResponseType } from "hono/client";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { momentIn, type ScopeOptions, scopeOf, span, withScope } from "../scope.ts";
import {
  type Entry,
  howToExplain,
  openApprovals,
  outdoneText,
  ruleText,
  showDifference,
  type Target,
  targetText,
  told,
} from "../show/rules.ts";
import { makeVisible } from "../terminal/visible.ts";
import { addVerb, type Cli } from "../verb.ts";
import { confirmChange } from "./confirm-change.ts";

const modes = ["off", "deny", "ask", "allowlist", "allow"] as const;
type Mode = (typeof modes)[number];

interface SetOptions extends ScopeOptions {
  readonly command?: string[];
  readonly unit?: string[];
  readonly pattern?: string[];
  readonly lock?: boolean;
  readonly for?: number;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

type Patch = Client["v1"]["rules"]["$patch"];
type Change = InferRequestType<Patch>["json"]["changes"][number];
type Changed = Extract<InferResponseType<Patch>, { changes: unknown }>;

/** `countersign rules set` */
export function addSetVerb(rules: Command): void {
  addVerb<SetOptions>(rules, {
    usage: "set <target> <mode>",
    summary:
      "Set what one target does: tool:<name>, family:<name>, server:<name> or everything; mode inherit takes it away. Asks before it loosens what is locked or lets run what waits",
    options: (command) =>
      withScope(command)
        .option("--command <key...>", 'only these commands, such as "git status"')
        .option("--unit <unit...>", "only what is exactly this: a host, a path, an address")
        .option("--pattern <regex...>", "only what this matches as a whole, in RE2 syntax")
        .option("--lock", "scopes further in may only tighten it; for a workspace")
        .option("--for <span>", "how long, such as 2h", span)
        .option("--yes", "do not ask")
        .option("--dry-run", "only show the difference; change nothing"),
    run: (cli, [target = "", mode = ""], options) =>
      setRule(cli, { target: readTarget(target), ...ruleOf(mode, options) }, options),
  });
}

/** What is shown is what is replaced: a rule that somebody changed meanwhile is a conflict. */
async function setRule(cli: Cli, change: Change, { yes, dryRun, ...options }: SetOptions): Promise<void> {
  const { scope, id } = await scopeOf(cli.client, options, { scope: "workspace" });
  const send = async (isDryRun: boolean, json: { changes: Change[] }): Promise<Changed> => {
    const query = { scope, ...(id === undefined ? {} : { id }), dryRun: isDryRun ? "true" : "false" } as const;
    return await ask(cli.client.v1.rules.$patch({ query, json }));
  };
  const planned = await send(true, { changes: [change] });
  const [plan] = planned.changes;
  if (plan === undefined) throw new Error("The server said nothing of the one change");
  const { before, after, outdone, isLoosening, outcome } = plan;
  const path = targetText(change.target);
  const isChange = outcome !== "unchanged";
  const lockGives = isChange && isLocked(before) && (isLoosening === true || !isLocked(after));
  const letsRun = isLoosening === true && outdone === undefined && plan.waiting > 0;
  const reasons = [
    ...(lockGives ? ["It loosens what is locked."] : []),
    ...(letsRun ? [`${openApprovals(plan.waiting)} judged again, and may run unasked.`] : []),
  ];
  if (!cli.isJson && (dryRun === true || (reasons.length > 0 && yes !== true))) {
    const changes = !isChange ? [] : [{ path, before, after, ...(outdone && { outdone }) }];
    cli.print([
      ...showDifference({ scope: planned.scope, changes }, cli),
      ...reasons.map((reason) => cli.terminal.style.yellow(`    ! ${reason}`)),
    ]);
  }
  if (dryRun === true) {
    if (cli.isJson) cli.printJson(planned);
    return;
  }
  if (reasons.length > 0) await confirmChange(cli, yes, `the rules of this ${scope} stay as they are`);
  const done = await send(false, { changes: [{ ...change, version: plan.version }] });
  if (cli.isJson) return cli.printJson(done);
  const [said] = done.changes;
  const words = { written: `is ${change.mode}`, cleared: "is inherited", unchanged: "stands as it was" };
  const replaced = !isChange || before === undefined ? "" : `, in place of ${ruleText(before)}`;
  cli.print([
    `${makeVisible(path)} ${words[said?.outcome ?? "unchanged"]} in this ${scope}${replaced}.${told(said?.waiting ?? 0)}`,
    ...(said?.outdone === undefined ? [] : [outdoneText(said.outdone, cli), ...howToExplain(change.target, options)]),
  ]);
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

function isLocked(rule: unknown): boolean {
  return typeof rule === "object" && rule !== null && "locked" in rule && rule.locked === true;
}
