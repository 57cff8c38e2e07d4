import { checkArguments } from "./arguments.ts";
import { decide } from "./decide.ts";
import type { LayerName, Rule, RuleEntry } from "./rule.ts";
import type { RecordedVerdict } from "./simulate.ts";
import type { Policy, Verdict } from "./types.ts";

/** A call that a person was asked about, and what they said. */
export interface DecidedCall extends RecordedVerdict {
  readonly decision: "approve" | "deny";
}

/** A rule that would have saved prompts. */
export interface Suggestion {
  readonly tool: string;
  readonly rule: Pick<Rule, "target" | "mode" | "entries">;
  /** How many of the approved calls it would have let run unasked. */
  readonly saved: number;
  /** Some of the calls it lets run, and some of the same tool that it leaves as they are: what to test the rule with. */
  readonly examples: readonly { readonly id: string; readonly verdict: Verdict["verdict"] }[];
}

/** How often something must have been approved before it is suggested. */
const usualLeast = 3;
const mostExamples = 3;

/**
 * For each tool the narrowest rule of `layer` that would have let calls run which people approved at least `least` times
 * (3 unless stated), and none that anybody denied. What asks under every policy is never suggested. The rule that saves
 * most comes first.
 */
export function suggestRules(
  history: readonly DecidedCall[],
  layer: LayerName,
  least: number = usualLeast,
): readonly Suggestion[] {
  const tools = new Set(history.flatMap(({ call }) => call.tool?.name ?? []));
  return [...tools]
    .flatMap((tool) =>
      suggestFor(
        tool,
        history.filter(({ call }) => call.tool?.name === tool),
        layer,
        least,
      ),
    )
    .toSorted((a, b) => b.saved - a.saved || (a.tool < b.tool ? -1 : 1));
}

function suggestFor(tool: string, calls: readonly DecidedCall[], layer: LayerName, least: number): Suggestion[] {
  let keys = frequentKeys(calls, least);
  while (keys.length > 0) {
    const rule = ruleFor(tool, keys);
    const judged = calls.map((call) => ({ call, verdict: judgeUnder(rule, call, layer) }));
    const allowed = judged.filter(({ verdict }) => verdict === "allow");
    const wrong = allowed.filter(({ call }) => call.decision === "deny").flatMap(({ call }) => keysOf(call));
    if (wrong.length === 0) {
      const others = judged.filter(({ verdict }) => verdict !== "allow");
      const shown = [...allowed.slice(0, mostExamples), ...others.slice(0, mostExamples)];
      const examples = shown.map(({ call, verdict }) => ({ id: call.id, verdict }));
      return allowed.length < least ? [] : [{ tool, rule, saved: allowed.length, examples }];
    }
    keys = keys.filter((key) => !wrong.includes(key));
  }
  return [];
}

/** What was approved at least so often, by itself or with others. */
function frequentKeys(calls: readonly DecidedCall[], least: number): readonly string[] {
  const counts = new Map<string, number>();
  for (const call of calls.filter(({ decision }) => decision === "approve")) {
    for (const key of keysOf(call)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count >= least).map(([key]) => key);
}

/** What an entry could be for each unit of a call, without those that nothing can vouch for. */
function keysOf({ call }: DecidedCall): readonly string[] {
  const checked = checkArguments(call.tool, call.argsText);
  const units = checked.kind === "valid" ? (checked.units ?? []) : [];
  const keys = units.flatMap(({ key, text, unkeyable }) => (unkeyable === undefined ? (key ?? text) : []));
  return [...new Set(keys)];
}

/** A tool that names no units has one, its name: then the rule is for the tool. */
function ruleFor(tool: string, keys: readonly string[]): Suggestion["rule"] {
  const target = { kind: "tool", name: tool } as const;
  const entries = keys.toSorted().map((unit): RuleEntry => ({ kind: "unit", unit }));
  return keys.length === 1 && keys[0] === tool ? { target, mode: "allow" } : { target, mode: "allow", entries };
}

function judgeUnder(rule: Suggestion["rule"], recorded: RecordedVerdict, layer: LayerName): Verdict["verdict"] {
  const { call, policy, judgedAt } = recorded;
  const added: Rule = { ...rule, id: "suggested", createdAt: judgedAt };
  return decide(call, withRule(policy, layer, added), judgedAt).verdict;
}

function withRule(policy: Policy, layer: LayerName, rule: Rule): Policy {
  const before = policy.layers[layer];
  return { ...policy, layers: { ...policy.layers, [layer]: { ...before, rules: [...(before?.rules ?? []), rule] } } };
}
