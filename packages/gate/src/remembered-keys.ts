import type { Unit } from "./unit.ts";

/**
 * What a rule has to name so that it lets a call with these units run: the key of each, once. None where nobody can say what
 * the call touches, or where no rule can vouch for one of the units.
 */
export function rememberedKeys(units: readonly Unit[]): readonly string[] {
  if (units.some(({ key, unkeyable }) => key === undefined && unkeyable !== undefined)) return [];
  return [...new Set(units.map(({ text, key }) => key ?? text))];
}
