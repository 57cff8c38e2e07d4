import { coversUnit } from "./entries.ts";
import { layerOrder } from "./layers.ts";
import type { LayerMode, ModeEntry } from "./modes.ts";
import type { LayerName, Rule, RuleEntry } from "./rule.ts";
import { isVouching } from "./rule-targets.ts";
import type { Unit } from "./unit.ts";

/** A rule that vouches for units (all, where it has no entries), and the locked allowlists that it may not go beyond. */
export interface Voucher {
  readonly rule: Rule;
  readonly layer: LayerName;
  readonly bounds: readonly ModeEntry[];
  /** Given for another definition of the tool: it says nothing, and that is worth asking. */
  readonly isSuspended: boolean;
}

/**
 * The rules that vouch for units of a call, most specific layer first: those that no layer has silenced. What an inner
 * layer says less than allow silences them; so does what their own or an outer layer came to say after they were given.
 */
export function vouchersOf(modes: readonly LayerMode[], definitionHash: string | undefined): readonly Voucher[] {
  return modes.flatMap(({ layer, rules }) =>
    rules
      .filter((rule) => isVouching(rule) && !isSilenced(rule, layer, modes))
      .map((rule) => ({
        rule,
        layer,
        bounds: modes.flatMap(({ layer: other, ceiling }) =>
          isFurtherOut(other, layer) && ceiling?.value === "allowlist" ? [ceiling] : [],
        ),
        isSuspended: rule.definitionHash !== undefined && rule.definitionHash !== definitionHash,
      })),
  );
}

/** The first of some rules that vouches for a unit. */
export function voucherFor(unit: Unit, vouchers: readonly Voucher[]): Voucher | undefined {
  return vouchers.find(
    ({ rule, bounds }) =>
      (rule.entries === undefined || rule.entries.some((entry) => coversUnit(entry, unit))) &&
      bounds.every((bound) => entryFor(unit, bound) !== undefined),
  );
}

/** Whether some rules vouch for all of a call. One of no units is vouched for only by a rule that has no entries. */
export function isVouchedFor(units: readonly Unit[], vouchers: readonly Voucher[]): boolean {
  if (units.length > 0) return units.every((unit) => voucherFor(unit, vouchers) !== undefined);
  return vouchers.some(({ rule, bounds }) => rule.entries === undefined && bounds.length === 0);
}

/** The entry of an allowlist that covers a unit. */
export function entryFor(unit: Unit, { rules }: ModeEntry): RuleEntry | undefined {
  for (const { entries = [] } of rules) {
    const entry = entries.find((one) => coversUnit(one, unit));
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function isSilenced(rule: Rule, layer: LayerName, modes: readonly LayerMode[]): boolean {
  return modes.some(({ layer: other, said }) => {
    if (said === undefined || said.value === "allow") return false;
    return isFurtherOut(layer, other) || said.rules.some((later) => isLater(later, rule));
  });
}

function isLater(a: Rule, b: Rule): boolean {
  return a.createdAt !== undefined && (b.createdAt === undefined || a.createdAt > b.createdAt);
}

function isFurtherOut(layer: LayerName, than: LayerName): boolean {
  return layerOrder.indexOf(layer) > layerOrder.indexOf(than);
}
