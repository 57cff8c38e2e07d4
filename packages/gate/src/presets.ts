import type { LayerPolicy, Rule } from "./rule.ts";

/** The named settings of dial and approval policy, each for a whole layer. Off, ask and allow of one tool are rules. */
export const presetNames = [
  "always-ask",
  "write",
  "yolo",
  "unset",
  "read-only",
  "low-risk",
  "high-risk",
  "manual",
  "safe",
  "auto",
] as const;

export type PresetName = (typeof presetNames)[number];

/** Of bash, what starts or changes something; it may be asked for its state freely. */
const actingBash = ["exec", "start", "write", "stop"];

/** What `safe` asks before: everything that writes a file or runs a program. */
const asksOfSafe: readonly Rule[] = [
  ...["apply_patch", "write_file", "edit"].map((name) => askBefore(name)),
  {
    ...askBefore("bash"),
    entries: actingBash.map((value) => ({ kind: "argument", name: "action", value })),
  },
];

const presets: Readonly<Record<PresetName, LayerPolicy>> = {
  "always-ask": unasked("read"),
  write: unasked("write"),
  yolo: unasked("high"),
  unset: unasked("low"),
  "read-only": unasked("read-only"),
  "low-risk": unasked("low"),
  "high-risk": unasked("high"),
  manual: unasked("none"),
  safe: { ...unasked("high"), rules: asksOfSafe },
  auto: unasked("high"),
};

/** What a layer is to say under a preset: its dial, its approval policy and, for `safe`, its rules. */
export function presetOf(name: PresetName): LayerPolicy {
  return presets[name];
}

/**
 * The presets that a layer says, several where they are the same by different names: those whose dial, approval policy and
 * rules it has. Where one with rules is said, those without are not; what else the layer says is its own.
 */
export function presetsSaidBy({ rules = [], dial, approvalPolicy }: LayerPolicy): readonly PresetName[] {
  const said = presetNames.filter((name) => {
    const { dial: level, approvalPolicy: policy, rules: asks = [] } = presets[name];
    return (
      dial?.level === level?.level &&
      approvalPolicy?.level === policy?.level &&
      asks.every((ask) => rules.some((rule) => isAsTight(rule, ask)))
    );
  });
  const most = Math.max(0, ...said.map((name) => presets[name].rules?.length ?? 0));
  return said.filter((name) => (presets[name].rules?.length ?? 0) === most);
}

/**
 * The rules of a layer that said these and is set to a preset: what other presets had left there is gone, what somebody wrote
 * stays, and of a rule of the preset stands whichever is tighter.
 */
export function rulesUnder<R extends Said>(name: PresetName, written: readonly R[]): readonly (R | Rule)[] {
  const wanted = presets[name].rules ?? [];
  const kept = written.filter(
    (rule) =>
      wanted.some((ask) => isAsTight(rule, ask)) ||
      !asksOfSafe.some((ask) => isSameTarget(rule, ask) && (isLeftBy(rule, ask) || wanted.includes(ask))),
  );
  return [...kept, ...wanted.filter((ask) => !kept.some((rule) => isSameTarget(rule, ask)))];
}

type Said = Omit<Rule, "id">;

/** It asks for good before the same calls, or denies the whole tool. */
function isAsTight(rule: Said, ask: Rule): boolean {
  if (!isSameTarget(rule, ask) || rule.expiresAt !== undefined) return false;
  const isWhole = rule.entries === undefined;
  return rule.mode === "ask"
    ? isWhole || isSameEntries(rule, ask)
    : (rule.mode === "deny" && isWhole) || rule.mode === "off";
}

/** It says what the preset wrote, and nobody added anything. */
function isLeftBy(rule: Said, ask: Rule): boolean {
  return rule.mode === "ask" && rule.locked !== true && rule.expiresAt === undefined && isSameEntries(rule, ask);
}

function isSameTarget({ target }: Said, ask: Rule): boolean {
  return target.kind === "tool" && ask.target.kind === "tool" && target.name === ask.target.name;
}

function isSameEntries({ entries }: Said, ask: Rule): boolean {
  return JSON.stringify(entries) === JSON.stringify(ask.entries);
}

function unasked(level: NonNullable<LayerPolicy["dial"]>["level"]): LayerPolicy {
  return { dial: { level }, approvalPolicy: { level: "none" } };
}

function askBefore(name: string): Rule {
  return { id: `preset:safe:${name}`, target: { kind: "tool", name }, mode: "ask" };
}
