import type { ApprovalPolicy, Dial, DialLevel, LayerName, LayerPolicy } from "./rule.ts";
import type { Policy, Risk, Tier } from "./types.ts";

/** Most specific first: across layers the first that says something wins. */
export const layerOrder: readonly LayerName[] = ["run", "definition", "workspace", "app"];

const policiesByTightness: readonly ApprovalPolicy[] = ["none", "outbound", "all"];

/** What a layer says, and whether inner layers may only tighten it. */
export interface Entry<T> {
  readonly layer: LayerName;
  readonly value: T;
  readonly isLocked: boolean;
}

/**
 * The entry that holds: the first, tightened by every locked one that follows. Of equals the locked one holds, since
 * nothing inside can loosen it. Undefined where there are none.
 */
export function tightestOf<T, E extends Entry<T>>(entries: readonly E[], byTightness: readonly T[]): E | undefined {
  return entries.reduce<E | undefined>((held, entry) => {
    if (held === undefined) return entry;
    const isAsTight = byTightness.indexOf(entry.value) >= byTightness.indexOf(held.value);
    return entry.isLocked && isAsTight ? entry : held;
  }, undefined);
}

/**
 * The approval policy that holds; `outbound` where no layer sets one. A `none` beside a dial that has expired was for as
 * long as the dial, and ends with it: otherwise more would run unasked afterwards than before.
 */
export function effectiveApprovalPolicy(policy: Policy, now: Date): ApprovalPolicy {
  const entries = entriesOf(policy, ({ approvalPolicy: set, dial }) => {
    const isOver = set?.level === "none" && isExpired(dial, now);
    return set === undefined || isOver ? undefined : { value: set.level, isLocked: set.locked === true };
  });
  return tightestOf(entries, policiesByTightness)?.value ?? "outbound";
}

/**
 * The dials that a call must be within, all of them: the innermost unexpired one, then every
 * locked one further out (a dial of risks and a dial of tiers have no common order, so none of
 * them stands for the others). Empty where no layer sets an unexpired dial.
 */
export function effectiveDials(policy: Policy, now: Date): readonly Entry<DialLevel>[] {
  const entries = entriesOf(policy, ({ dial }) => {
    return dial === undefined || isExpired(dial, now)
      ? undefined
      : { value: dial.level, isLocked: dial.locked === true };
  });
  return entries.filter((entry, index) => index === 0 || entry.isLocked);
}

function isExpired(dial: Dial | undefined, now: Date): boolean {
  return dial?.expiresAt !== undefined && dial.expiresAt <= now;
}

/** Whether a dial lets a call run unasked. */
export function isWithinDial(level: DialLevel, tier: Tier, risk: Risk): boolean {
  switch (level) {
    case "none":
      return false;
    case "read-only":
      return risk === "read-only";
    case "low":
      return risk === "read-only" || risk === "low";
    case "high":
      return risk !== "unknown";
    case "read":
      return tier === "read";
    case "write":
      return tier === "read" || tier === "write";
  }
}

function entriesOf<T>(
  policy: Policy,
  read: (layer: LayerPolicy) => Omit<Entry<T>, "layer"> | undefined,
): readonly Entry<T>[] {
  return layerOrder.flatMap((layer) => {
    const said = policy.layers[layer] && read(policy.layers[layer]);
    return said ? [{ layer, ...said }] : [];
  });
}
