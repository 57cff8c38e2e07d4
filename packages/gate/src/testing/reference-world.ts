import { hashArguments } from "../canonical.ts";
import type { DialLevel, Rule, RuleEntry } from "../rule.ts";
import type { Policy, ProposedCall, ToolFacts } from "../types.ts";
import type { Unit } from "../unit.ts";
import { attempt, type Flat } from "./flatten.ts";

/** What the conditions are about. */
export interface World extends Flat {
  readonly call: ProposedCall;
  readonly tool: ToolFacts;
  readonly policy: Policy;
  readonly args: unknown;
  /** Undefined: the tool failed to say. */
  readonly units: readonly Unit[] | undefined;
  readonly dials: readonly DialLevel[];
  readonly risk: string;
  readonly tier: string;
  readonly need: unknown;
}

const risksWithin: Record<DialLevel, readonly string[]> = {
  none: [],
  "read-only": ["read-only"],
  low: ["read-only", "low"],
  high: ["read-only", "low", "high"],
  read: [],
  write: [],
};
const tiersWithin: Partial<Record<DialLevel, readonly string[]>> = { read: ["read"], write: ["read", "write"] };

export const fits = (level: DialLevel, tier: string, risk: string): boolean =>
  tiersWithin[level]?.includes(tier) ?? risksWithin[level].includes(risk);

export const bounds = ({ dials }: World): readonly DialLevel[] => (dials.length === 0 ? ["read-only"] : dials);

const nameOfUnit = (unit: Unit): string => unit.key ?? unit.text;

function vouches(entry: RuleEntry, unit: Unit): boolean {
  if (entry.kind === "argument") return false;
  if (entry.kind === "pattern")
    return unit.unkeyable === undefined && new RegExp(`^(?:${entry.pattern})$`).test(unit.text);
  const named = entry.kind === "unit" ? entry.unit : entry.command;
  return named === nameOfUnit(unit) && (unit.unkeyable === undefined || unit.key !== undefined);
}

const isOnList = (unit: Unit, rules: readonly Rule[]): boolean =>
  rules.some(({ entries = [] }) => entries.some((entry) => vouches(entry, unit)));

/** Whether a rule that somebody vouched with covers the unit, within every locked allowlist further out. */
export function isVouched(world: World, unit: Unit, which: (rule: Rule) => boolean): boolean {
  return world.vouchers.some(
    ({ rule, rank }) =>
      which(rule) &&
      (rule.entries?.some((entry) => vouches(entry, unit)) ?? true) &&
      world.ceilings.every(
        (ceiling) => ceiling.rank <= rank || ceiling.mode !== "allowlist" || isOnList(unit, ceiling.rules),
      ),
  );
}

export const isCurrent = (world: World) => (rule: Rule) =>
  rule.definitionHash === undefined || rule.definitionHash === world.call.definitionHash;

export function areVouched(world: World, which: (rule: Rule) => boolean): boolean {
  if (world.units === undefined) return false;
  if (world.units.length > 0) return world.units.every((unit) => isVouched(world, unit, which));
  return world.vouchers.some(
    ({ rule, rank }) =>
      which(rule) &&
      rule.entries === undefined &&
      !world.ceilings.some((ceiling) => ceiling.rank > rank && ceiling.mode === "allowlist"),
  );
}

export const lists = (world: World) => world.binding.filter(({ mode }) => mode === "allowlist");
export const isListed = (world: World, unit: Unit): boolean => lists(world).every(({ rules }) => isOnList(unit, rules));
export const isMode = (world: World, mode: string): boolean => world.effective?.mode === mode;
export const denylisted = (world: World) => (world.units ?? []).flatMap((unit) => unit.denylisted ?? []);
export const isSoftened = (world: World, name: string) => world.policy.denylistSoftened?.has(name) === true;
export const isNever = ({ tool }: World) => tool.neverGated === true;
export const namesOf = ({ tool }: World) => [tool.name, ...(tool.aliases ?? [])];
export const pinOf = ({ policy, tool }: World) => policy.pins?.get(tool.name);

export function offered(world: World): "none" | "broken" | "bound" | "unbound" {
  if (world.tool.options === undefined) return "none";
  const options = attempt(() => world.tool.options?.(world.args), undefined);
  if (!Array.isArray(options)) return "broken";
  if (options.length === 0) return "none";
  const role = typeof world.tool.role === "string" ? world.tool.role : world.tool.name;
  const bound = world.policy.bindings?.get(role);
  return options.some(({ id }) => id === bound) ? "bound" : "unbound";
}

export const isUninspectable = (world: World): boolean =>
  world.units === undefined ||
  offered(world) === "broken" ||
  world.units.some(
    (unit) =>
      /[\u200b\u202e]/.test(unit.text) ||
      (unit.unkeyable !== undefined &&
        !(
          unit.key !== undefined &&
          (isVouched(world, unit, (rule) => rule.entries !== undefined && isCurrent(world)(rule)) ||
            lists(world).some(({ rules }) => isOnList(unit, rules)))
        )),
  );

export const classified = ({ call }: World) =>
  call.classified?.argsHash === hashArguments(call.argsText) ? call.classified.level : undefined;
export const isClassifiable = (world: World) =>
  world.risk === "unknown" && bounds(world).every((level) => level !== "read" && level !== "write");
export const isAllowed = (world: World) => isMode(world, "allow");
