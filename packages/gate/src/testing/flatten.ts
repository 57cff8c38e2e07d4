import type { ApprovalPolicy, Dial, DialLevel, Mode, Rule, RuleEntry } from "../rule.ts";
import type { Policy, ToolFacts } from "../types.ts";
import type { Unit } from "../unit.ts";

/** What a layer holds a call to. The rank is the layer's: 0 for the run, 3 for the app. */
export interface Held {
  readonly rank: number;
  readonly mode: Mode;
  readonly isLocked: boolean;
  readonly rules: readonly Rule[];
}

/** A policy, laid out flat for one call. */
export interface Flat {
  readonly denies: boolean;
  /** What a call is held to together: the word of the innermost layer, then the locks further out. */
  readonly binding: readonly Held[];
  readonly ceilings: readonly Held[];
  readonly effective: Held | undefined;
  readonly vouchers: readonly { readonly rank: number; readonly rule: Rule }[];
  readonly dials: readonly DialLevel[];
  readonly approvalPolicy: ApprovalPolicy;
}

interface Statement {
  readonly rank: number;
  readonly rule: Rule;
}

const ranks = ["run", "definition", "workspace", "app"] as const;
const tight: Record<Mode, number> = { allow: 0, allowlist: 1, ask: 2, off: 3, deny: 4 };
const narrow = { everything: 0, family: 1, server: 2, tool: 3 };
const strict: Record<ApprovalPolicy, number> = { none: 0, outbound: 1, all: 2 };

export function flatten(
  tool: ToolFacts,
  policy: Policy,
  units: readonly Unit[] | undefined,
  args: unknown,
  now: Date,
): Flat {
  const all = ranks
    .flatMap((layer, rank) => (policy.layers[layer]?.rules ?? []).map((rule) => ({ rank, rule })))
    .filter(({ rule }) => rule.expiresAt === undefined || rule.expiresAt > now)
    .flatMap((statement) => reach(statement, tool));
  const isVoucher = ({ rule }: Statement) =>
    rule.mode === "allow" && (rule.remembered === true || rule.entries !== undefined);
  const isSpoken = ({ rule }: Statement) =>
    (rule.mode !== "deny" && rule.mode !== "ask") || (rule.entries?.some((one) => hits(one, units, args)) ?? true);
  const spoken = all.filter((one) => !isVoucher(one) && isSpoken(one));
  const modes = spoken.filter((one) => !spoken.some((other) => makesStale(other, one)));
  const held = ranks.flatMap((_, rank) => strongest(modes.filter((one) => one.rank === rank)));
  const ceilings = held.flatMap((one) => ceilingOf(one, modes));
  const binding = [...held.slice(0, 1), ...ceilings.filter(({ rank }) => rank > (held[0]?.rank ?? 9))];
  return {
    denies: spoken.some(({ rule }) => rule.mode === "deny"),
    binding,
    ceilings,
    effective: binding.toSorted((a, b) => tight[b.mode] - tight[a.mode] || b.rank - a.rank)[0],
    vouchers: all.filter((one) => isVoucher(one) && !held.some((word) => silences(word, one))),
    dials: dialsOf(policy, now),
    approvalPolicy: approvalPolicyOf(policy, now),
  };
}

/** What a tool says that a call touches; undefined where it fails to. */
export function unitsOfTool(tool: ToolFacts, args: unknown): readonly Unit[] | undefined {
  if (tool.units === undefined) {
    const first = Object.values(args as object).find((value) => typeof value === "string");
    return [{ text: tool.server === undefined ? tool.name : `mcp_${tool.server}_${tool.name} ${String(first)}` }];
  }
  const units = attempt(() => tool.units?.(args), undefined);
  if (units === undefined || "kind" in units) return undefined;
  return units.map((unit) => (typeof unit === "string" ? { text: unit } : unit));
}

/** What a body answers; `failed` where it throws. */
export function attempt<T, F>(body: () => T, failed: F): T | F {
  try {
    return body();
  } catch {
    return failed;
  }
}

function reach(statement: Statement, tool: ToolFacts): Statement[] {
  const { rule, rank } = statement;
  const { target } = rule;
  const isOwn =
    target.kind === "everything" ||
    (target.kind === "tool" && target.name === tool.name) ||
    (target.kind === "server" && target.name === tool.server) ||
    (target.kind === "family" && (target.name === tool.family || (target.name === "mcp" && tool.server !== undefined)));
  if (isOwn) return [statement];
  if (target.kind !== "tool" || !tool.aliases?.includes(target.name) || rule.mode === "allow") return [];
  return [{ rank, rule: rule.mode === "allowlist" ? { ...rule, entries: [] } : rule }];
}

function hits(entry: RuleEntry, units: readonly Unit[] | undefined, args: unknown): boolean {
  if (entry.kind === "argument")
    return Object.entries(args as object).some(([k, v]) => k === entry.name && v === entry.value);
  return (units ?? []).some(({ text, key, commands = [], unkeyable }) => {
    const spellings = [text, ...(key === undefined ? [] : [key]), ...commands.map((words) => words.join(" "))];
    if (entry.kind === "pattern") return spellings.some((one) => new RegExp(`^(?:${entry.pattern})$`, "s").test(one));
    if (entry.kind === "unit") return entry.unit === text || entry.unit === key;
    const isWhole = key === undefined ? unkeyable === undefined && text === entry.command : key === entry.command;
    return isWhole || commands.some((words) => `${words.join(" ")} `.startsWith(`${entry.command} `));
  });
}

function makesStale({ rank, rule }: Statement, ask: Statement): boolean {
  return (
    rank === ask.rank &&
    rule.mode === "allow" &&
    (rule.target.kind === "family" || rule.target.kind === "server") &&
    ask.rule.mode === "ask" &&
    ask.rule.target.kind === "tool" &&
    ask.rule.locked !== true &&
    rule.createdAt !== undefined &&
    ask.rule.createdAt !== undefined &&
    ask.rule.createdAt < rule.createdAt
  );
}

function isStronger(one: Statement, other: Statement): boolean {
  const a = narrow[one.rule.target.kind];
  const b = narrow[other.rule.target.kind];
  return a > b || (a === b && tight[one.rule.mode] > tight[other.rule.mode]);
}

function strongest(statements: readonly Statement[]): Held[] {
  const top = statements.filter((one) => !statements.some((other) => isStronger(other, one)));
  const [first] = top;
  if (first === undefined) return [];
  const isLocked = top.some(({ rule }) => rule.locked === true);
  return [{ rank: first.rank, mode: first.rule.mode, isLocked, rules: top.map(({ rule }) => rule) }];
}

function ceilingOf(word: Held, modes: readonly Statement[]): Held[] {
  if (word.isLocked) return [word];
  const locks = strongest(modes.filter(({ rank, rule }) => rank === word.rank && rule.locked === true));
  return locks.map((lock) => (tight[word.mode] < tight[lock.mode] ? { ...word, isLocked: true } : lock));
}

function silences(word: Held, { rank, rule }: Statement): boolean {
  if (word.mode === "allow") return false;
  const isLater = word.rules.some(
    ({ createdAt }) => createdAt !== undefined && createdAt.getTime() > (rule.createdAt?.getTime() ?? -Infinity),
  );
  return word.rank < rank || isLater;
}

function dialsOf({ layers }: Policy, now: Date): readonly DialLevel[] {
  const set = ranks
    .flatMap((layer) => layers[layer]?.dial ?? [])
    .filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
  return set.filter((dial, index) => index === 0 || dial.locked === true).map(({ level }) => level);
}

function approvalPolicyOf({ layers }: Policy, now: Date): ApprovalPolicy {
  const hasLapsed = (dial: Dial | undefined): boolean => (dial?.expiresAt?.getTime() ?? Infinity) <= now.getTime();
  const [first, ...others] = ranks
    .filter((layer) => layers[layer]?.approvalPolicy?.level !== "none" || !hasLapsed(layers[layer]?.dial))
    .flatMap((layer) => layers[layer]?.approvalPolicy ?? []);
  if (first === undefined) return "outbound";
  const levels = [first.level, ...others.filter(({ locked }) => locked === true).map(({ level }) => level)];
  return levels.toSorted((a, b) => strict[b] - strict[a])[0] ?? first.level;
}
