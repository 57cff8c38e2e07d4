import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { layerOrder } from "./layers.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { LayerName, LayerPolicy, Mode, Rule, RuleTarget } from "./rule.ts";
import type { ToolFacts } from "./types.ts";

const onTool: RuleTarget = { kind: "tool", name: "demo" };
const onFamily: RuleTarget = { kind: "family", name: "file" };
const onServer: RuleTarget = { kind: "server", name: "s" };
const onEverything: RuleTarget = { kind: "everything" };

function rule(target: RuleTarget, mode: Mode, locked = false): Rule {
  return { id: `${target.kind}-${mode}`, target, mode, locked };
}

function reasonUnder(
  layers: Partial<Record<LayerName, LayerPolicy>>,
  tool: Partial<ToolFacts> = { tier: "read", family: "file", server: "s" },
): string {
  const call = { ...makeCall(tool), definitionHash: "pinned" };
  return decide(call, makePolicy({ layers, pins: new Map([["demo", "pinned"]]) }), now).reason;
}

const kinds: readonly (readonly [string, Partial<ToolFacts>, string])[] = [
  ["a read", { tier: "read" }, "demo"],
  ["a reversible edit", { tier: "write", needsApproval: false }, "demo"],
  ["an outbound tool", { tier: "write", needsApproval: true }, "demo"],
  ["a tool that says nothing", {}, "demo"],
  ["a file tool", { tier: "read", family: "file", units: () => ["a.txt"] }, "a.txt"],
  ["an MCP tool", { tier: "read", server: "s" }, "mcp_s_demo x"],
  ["a tool that always asks", { tier: "read", alwaysGate: true }, "demo"],
];

describe.each(layerOrder)("AZ27: a rule at the %s layer", (layer) => {
  test.each(kinds)("reaches %s", (_what, tool, unit) => {
    const under = (one: Rule) => reasonUnder({ [layer]: { rules: [one] } }, tool);
    const floor = tool.alwaysGate ? "always_gate" : undefined;
    const listed = (text: string): Rule => ({ ...rule(onTool, "allowlist"), entries: [{ kind: "unit", unit: text }] });
    expect(under(rule(onTool, "off"))).toBe(`tool_off@${layer}`);
    expect(under(rule(onTool, "deny"))).toBe(`denied_by_rule:tool-deny@${layer}`);
    expect(under(rule(onTool, "ask"))).toBe(floor ?? `mode_ask@${layer}`);
    expect(under(rule(onTool, "allowlist"))).toBe(floor ?? `allowlist_miss:${unit}`);
    expect(under(listed("another"))).toBe(floor ?? `allowlist_miss:${unit}`);
    expect(under(listed(unit))).toBe(floor ?? `allowlist:${unit}@${layer}`);
    expect(under(rule(onTool, "allow"))).toBe(floor ?? `mode_allow@${layer}`);
  });

  test("says nothing of a tool that it does not name", () => {
    const others: RuleTarget[] = [
      { kind: "tool", name: "other" },
      { kind: "family", name: "demo" },
      { kind: "server", name: "demo" },
    ];
    const rules = others.map((target) => rule(target, "deny"));
    expect(reasonUnder({ [layer]: { rules } }, { tier: "read" })).toBe("dial:read-only");
  });
});

describe("targets", () => {
  test.each([
    ["the tool", onTool],
    ["its family", onFamily],
    ["its server", onServer],
    ["the family of all MCP tools", { kind: "family", name: "mcp" }],
    ["everything", onEverything],
  ] as const)("a rule may name %s", (_what, target) => {
    expect(reasonUnder({ app: { rules: [rule(target, "off")] } })).toBe("tool_off@app");
  });

  test.each([
    [onTool, onFamily],
    [onTool, onServer],
    [onTool, onEverything],
    [onServer, onEverything],
    [onServer, { kind: "family", name: "mcp" }],
    [onFamily, onEverything],
  ] as const)("within a layer %o wins over %o, in either order", (specific, general) => {
    const rules = [rule(specific, "ask"), rule(general, "off")];
    expect(reasonUnder({ app: { rules } })).toBe("mode_ask@app");
    expect(reasonUnder({ app: { rules: rules.toReversed() } })).toBe("mode_ask@app");
  });

  test("of two rules with one target the tighter holds, in either order", () => {
    const rules = [rule(onTool, "ask"), rule(onTool, "off")];
    expect(reasonUnder({ app: { rules } })).toBe("tool_off@app");
    expect(reasonUnder({ app: { rules: rules.toReversed() } })).toBe("tool_off@app");
  });
});

describe("across layers", () => {
  test("the first that says something wins, even with a wider target", () => {
    const layers = {
      run: { rules: [rule(onEverything, "ask")] },
      app: { rules: [rule(onTool, "off")] },
    };
    expect(reasonUnder(layers)).toBe("mode_ask@run");
  });

  test("a deny is final at every layer, against any inner and any more specific rule", () => {
    for (const layer of layerOrder) {
      const layers: Partial<Record<LayerName, LayerPolicy>> = {
        run: { rules: [rule(onTool, "allow")] },
      };
      layers[layer] = { rules: [rule(onTool, "allow"), rule(onEverything, "deny")] };
      expect(reasonUnder(layers)).toBe(`denied_by_rule:everything-deny@${layer}`);
    }
  });

  test("a locked entry is a ceiling that inner layers may only tighten", () => {
    const under = (inner: Mode, outer: Mode) =>
      reasonUnder({
        run: { rules: [rule(onTool, inner)] },
        workspace: { rules: [rule(onEverything, outer, true)] },
      });
    expect(under("allow", "off")).toBe("tool_off@workspace");
    expect(under("ask", "off")).toBe("tool_off@workspace");
    expect(under("allow", "ask")).toBe("ask_locked@workspace");
    expect(under("ask", "ask")).toBe("ask_locked@workspace");
    expect(under("off", "ask")).toBe("tool_off@run");
    expect(under("ask", "allow")).toBe("mode_ask@run");
    expect(under("allow", "allowlist")).toBe("allowlist_miss:mcp_s_demo x");
  });
});

test("what was to run unasked for a while asks again afterwards, also where approvals were turned off with it", () => {
  const expiresAt = (ms: number) => new Date(now.getTime() + ms);
  const rowWith = (ms: number, level: "none" | "all") =>
    decide(
      makeCall({ needsApproval: true }),
      makePolicy({
        layers: { run: { dial: { level: "high", expiresAt: expiresAt(ms) }, approvalPolicy: { level } } },
      }),
      now,
    );
  expect(rowWith(1, "none")).toMatchObject({ verdict: "allow" });
  expect(rowWith(0, "none")).toMatchObject({ verdict: "ask", row: "19" });
  expect(rowWith(0, "all")).toMatchObject({ verdict: "ask", reason: "policy_all" });
});
