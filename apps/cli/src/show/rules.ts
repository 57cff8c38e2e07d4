import type { InferResponseType } from "hono/client";
import type { Client } from "../client.ts";
import { shortId } from "../find-id.ts";
import type { ScopeOptions } from "../scope.ts";
import { layTable } from "../terminal/table.ts";
import { absoluteTime } from "../terminal/time.ts";
import { makeVisible } from "../terminal/visible.ts";
import type { Cli } from "../verb.ts";
import { countOf } from "./count.ts";
import { untilOf } from "./words.ts";

/** What a scope says. */
export type Layer = Extract<InferResponseType<Client["v1"]["rules"]["$get"]>, { rules: unknown }>;
export type Target = Layer["rules"][number]["target"];
export type Entry = NonNullable<Layer["rules"][number]["entries"]>[number];
interface Difference {
  readonly scope: Applied["scope"];
  readonly changes: readonly {
    readonly path: string;
    readonly before?: unknown;
    readonly after?: unknown;
    readonly outdone?: Outdone | undefined;
  }[];
}

interface SaidRule {
  readonly mode: string;
  readonly locked?: boolean;
  readonly entries?: readonly Entry[];
  readonly expiresAt?: string;
}
type Applied = Extract<InferResponseType<Client["v1"]["rules"]["$put"]>, { isDryRun: boolean }>;

/** What a document or a preset changes in a scope, a line for what was and one for what is. */
export function showDifference({ scope, changes }: Difference, { terminal }: Cli): string[] {
  const { style } = terminal;
  if (changes.length === 0) return [`This ${scope} says so already.`];
  return changes.flatMap(({ path, before, after, outdone }) => [
    ...(before === undefined ? [] : [style.red(`  - ${makeVisible(path)}: ${makeVisible(JSON.stringify(before))}`)]),
    ...(after === undefined ? [] : [style.green(`  + ${makeVisible(path)}: ${makeVisible(JSON.stringify(after))}`)]),
    ...(outdone === undefined ? [] : [`    ${outdoneText(outdone, { terminal })}`]),
  ]);
}

type Outdone = NonNullable<Applied["changes"][number]["outdone"]>;

const layers = { app: "installation", workspace: "workspace", definition: "definition", run: "run" } as const;
const fates = { allow: "runs unasked", ask: "still asks", deny: "is still denied" } as const;

/** That a rule stands and changes nothing, and what holds instead. */
export function outdoneText(
  { verdict, reason, layer, ruleId }: Outdone,
  { terminal: { style } }: Pick<Cli, "terminal">,
): string {
  const where = layer === null ? "" : `, since the ${layers[layer]} says so`;
  const rule = ruleId === null ? "" : `, rule ${shortId(ruleId)}`;
  return style.yellow(
    `! It has no effect now: every such call ${fates[verdict]}${where} (${makeVisible(reason)}${rule}).`,
  );
}

/** How to ask why a rule for this target has no effect. */
export function howToExplain(target: Target, { run, definition }: ScopeOptions): string[] {
  if (target.kind !== "tool") return [];
  const scope =
    run !== undefined ? ` --run ${run}` : definition !== undefined ? ` --definition ${JSON.stringify(definition)}` : "";
  return [`  ./countersign explain --tool ${makeVisible(target.name)}${scope} --args <json> shows why.`];
}

/** All that a scope says itself. */
export function showLayer(
  { scope, rules, dial, approvalPolicy, presets }: Layer,
  { terminal: { style, size } }: Cli,
): string[] {
  const rows = rules.map((rule) => [
    { text: shortId(rule.id), paint: style.cyan },
    { text: makeVisible(targetText(rule.target)) },
    { text: `${rule.mode}${rule.locked ? ", locked" : ""}` },
    { text: (rule.entries ?? []).map((entry) => makeVisible(entryText(entry))).join(" · ") },
    {
      text: [
        rule.isRemembered ? "remembered" : "",
        rule.expiresAt === null ? "" : `until ${absoluteTime(rule.expiresAt)}`,
      ]
        .filter(Boolean)
        .join(", "),
      paint: style.dim,
    },
  ]);
  const expiry = dial?.expiresAt == null ? "" : `, ${untilOf(dial.expiresAt)}`;
  return [
    ...(rows.length === 0 ? [`This ${scope} has no rules.`] : layTable(rows, 3, size().columns)),
    style.dim(`dial ${dial === null ? "inherited" : `${dial.level}${dial.locked ? ", locked" : ""}${expiry}`}`),
    style.dim(`approval policy ${approvalPolicy === null ? "inherited" : approvalPolicy.level}`),
    ...(presets.length === 0 ? [] : [style.dim(`preset ${presets.join(", ")}`)]),
  ];
}

/** What a rule speaks of, as `rules set` takes it. */
export function targetText(target: Target): string {
  return target.kind === "everything" ? target.kind : `${target.kind}:${target.name}`;
}

function entryText(entry: Entry): string {
  switch (entry.kind) {
    case "unit":
      return entry.unit;
    case "command":
      return entry.command;
    case "pattern":
      return `/${entry.pattern}/`;
    case "argument":
      return `${entry.name}=${entry.value}`;
  }
}

/** What a rule said, in words: its mode, whether it is locked, of what it speaks and until when it holds. */
export function ruleText(rule: unknown): string {
  const { mode, locked, entries = [], expiresAt } = rule as SaidRule;
  return [
    mode,
    ...(locked === true ? ["locked"] : []),
    ...(entries.length === 0 ? [] : [`only ${entries.map((entry) => makeVisible(entryText(entry))).join(" · ")}`]),
    ...(expiresAt === undefined ? [] : [`until ${absoluteTime(expiresAt)}`]),
  ].join(", ");
}

/** What a change does to approvals that wait. */
export function told(waiting: number): string {
  if (waiting === 0) return "";
  return ` ${openApprovals(waiting)} judged again.`;
}

/** How many open approvals are, as the beginning of a sentence. */
export function openApprovals(waiting: number): string {
  if (waiting > 1_000) return "More than 1,000 open approvals are";
  return `${countOf(waiting, "open approval")} ${waiting === 1 ? "is" : "are"}`;
}
