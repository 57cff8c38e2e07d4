import { type Entry, layerOrder, tightestOf } from "./layers.ts";
import type { LayerName, Mode, Rule } from "./rule.ts";
import { isVouching, rulesFor, specificityOf, withoutStaleAsks } from "./rule-targets.ts";
import type { Policy, ToolFacts } from "./types.ts";

const modesByTightness: readonly Mode[] = ["allow", "allowlist", "ask", "off", "deny"];

/** What a layer says about a tool. `rules`: the one that says it, or all allowlists of the same target. */
export interface ModeEntry extends Entry<Mode> {
  readonly rules: readonly Rule[];
}

/** What one layer says: about the calls of the tool, and as the bound that inner layers may only tighten. */
export interface LayerMode {
  readonly layer: LayerName;
  readonly said: ModeEntry | undefined;
  readonly ceiling: ModeEntry | undefined;
  /** The layer's rules that reach the tool, those too that set no mode. */
  readonly rules: readonly Rule[];
}

/** What the layers say, most specific first. */
export function layerModes(
  tool: ToolFacts,
  policy: Policy,
  now: Date,
  speaks: (rule: Rule) => boolean,
): readonly LayerMode[] {
  return layerOrder.flatMap((layer) => {
    const written = policy.layers[layer]?.rules;
    if (written === undefined || written.length === 0) return [];
    const rules = rulesFor(tool, written, now);
    if (rules.length === 0) return [];
    const modal = withoutStaleAsks(rules.filter((rule) => !isVouching(rule) && speaks(rule)));
    const said = strongestOf(modal, layer);
    return [{ layer, rules, said, ceiling: said && ceilingOf(said, modal) }];
  });
}

/**
 * The entries that bind a call together: of the innermost layer that says something, then every ceiling further out.
 * Empty where no layer says anything.
 */
export function chainOf(modes: readonly LayerMode[]): readonly ModeEntry[] {
  const first = modes.findIndex(({ said }) => said !== undefined);
  const innermost = modes[first]?.said;
  if (innermost === undefined) return [];
  return [innermost, ...modes.slice(first + 1).flatMap(({ ceiling }) => ceiling ?? [])];
}

/** The entry of a chain that holds; of equals the locked one, which nothing inside can loosen. */
export function effectiveOf(chain: readonly ModeEntry[]): ModeEntry | undefined {
  return tightestOf(chain, modesByTightness);
}

/**
 * The mode that the rules set for a tool, and where it stands, whatever the call: rules that deny or ask for some calls
 * alone are left out. Undefined: the dial decides.
 */
export function effectiveMode(tool: ToolFacts, policy: Policy, now: Date): ModeEntry | undefined {
  return effectiveOf(
    chainOf(layerModes(tool, policy, now, ({ mode, entries }) => mode === "allowlist" || entries === undefined)),
  );
}

/** Of the rules with the narrowest target the tightest. */
function strongestOf(rules: readonly Rule[], layer: LayerName): ModeEntry | undefined {
  const [first, ...others] = rules.toSorted(
    (a, b) => specificityOf(b) - specificityOf(a) || tightness(b.mode) - tightness(a.mode),
  );
  if (first === undefined) return undefined;
  const equals = others.filter((rule) => rule.mode === first.mode && specificityOf(rule) === specificityOf(first));
  const all = [first, ...equals];
  const isLocked = all.some(({ locked }) => locked === true);
  return { layer, value: first.mode, isLocked, rules: all };
}

/** What a layer's locks leave to inner layers. A looser word of the same layer on a narrower target is an exception. */
function ceilingOf(said: ModeEntry, rules: readonly Rule[]): ModeEntry | undefined {
  if (said.isLocked) return said;
  const locked = strongestOf(
    rules.filter((rule) => rule.locked === true),
    said.layer,
  );
  if (locked === undefined) return undefined;
  return tightness(said.value) < tightness(locked.value) ? { ...said, isLocked: true } : locked;
}

function tightness(mode: Mode): number {
  return modesByTightness.indexOf(mode);
}
