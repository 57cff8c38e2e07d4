import { expect, test } from "vitest";
import * as z from "zod";
import { decide } from "./decide.ts";
import { layerOrder } from "./layers.ts";
import { presetNames, presetOf } from "./presets.ts";
import type { LayerName, LayerPolicy, Rule } from "./rule.ts";
import { makePolicy, now } from "./testing/make-call.ts";
import { inTermsOfReference, referenceVerdict } from "./testing/reference.ts";
import type { Policy, ToolFacts } from "./types.ts";

/** Every kind of tool that the table tells apart. */
const kinds: readonly (readonly [string, Partial<ToolFacts>])[] = [
  ["a read", { tier: "read" }],
  ["a reversible edit", { tier: "write", needsApproval: false }],
  ["an outbound tool", { tier: "write", needsApproval: true }],
  ["a write of low risk", { tier: "write", risk: "low" }],
  ["a write", { tier: "write", units: () => ["one"] }],
  ["a tool that says nothing", {}],
  ["a tool of an MCP server", { server: "s" }],
  [
    "a command",
    { tier: "exec", family: "shell", units: () => [{ text: "one -x", key: "one", commands: [["one", "-x"]] }] },
  ],
  ["a command that cannot be keyed", { units: () => [{ text: "sh one", unkeyable: "interpreter" }] }],
  ["a picker", { tier: "read", options: () => [{ id: "o", label: "O" }] }],
  ["a tool that always asks", { tier: "read", alwaysGate: true }],
  ["a tool that sees a danger", { tier: "read", safety: () => "outside_root" }],
  ["a question", { neverGated: true }],
];

const target = { kind: "tool", name: "demo" } as const;
const rule = (mode: Rule["mode"], more: Partial<Rule> = {}): Rule => ({ id: mode, target, mode, ...more });
const one = [{ kind: "unit", unit: "one" }] as const;
const unlocked: readonly (readonly Rule[])[] = [
  [],
  [rule("off")],
  [rule("deny")],
  [rule("ask")],
  [rule("allowlist", { entries: one })],
  [rule("allow")],
  [rule("allow", { entries: one, remembered: true })],
  [rule("allow", { remembered: true }), rule("ask", { target: { kind: "everything" } })],
];
const locked = unlocked.filter((rules) => rules.length === 1 && rules[0]?.remembered !== true);
const entriesAt = (layer: LayerName): readonly (readonly Rule[])[] =>
  layer === "run" || layer === "definition"
    ? unlocked
    : [...unlocked, ...locked.map((rules) => rules.map((written) => ({ ...written, locked: true })))];

const pairs = layerOrder.flatMap((inner, index) => layerOrder.slice(index + 1).map((outer) => [inner, outer] as const));
/** Each once: several names stand for the same. */
const presets: readonly LayerPolicy[] = [
  {},
  ...new Map(presetNames.map((name) => [JSON.stringify(presetOf(name)), presetOf(name)])).values(),
];

test.each(kinds)(
  "AZ27: %s under every preset and every two layers' rules gets what the table's words say",
  (_kind, facts) => {
    const tool: ToolFacts = { name: "demo", description: "x", schema: z.looseObject({}), ...facts };
    const call = { tool, name: "demo", argsText: '{"a":"x"}', definitionHash: "h" };
    const base = makePolicy({ pins: new Map([["demo", "h"]]) });
    const met = new Set<string>();
    for (const preset of presets) {
      for (const [inner, outer] of pairs) {
        for (const innerRules of entriesAt(inner)) {
          for (const outerRules of entriesAt(outer)) {
            const layers: Policy["layers"] = {
              [inner]: { ...preset, rules: [...innerRules, ...(preset.rules ?? [])] },
              [outer]: { rules: outerRules },
            };
            const policy = { ...base, layers };
            const found = inTermsOfReference(decide(call, policy, now));
            const expected = referenceVerdict(call, policy, now);
            if (JSON.stringify(found) !== JSON.stringify(expected))
              expect({ layers, found }).toEqual({ layers, found: expected });
            met.add(found.verdict);
          }
        }
      }
    }
    expect(met.has("deny")).toBe(true);
  },
);
