import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { layerOrder } from "./layers.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { LayerName, LayerPolicy, Mode, Rule, RuleTarget, ToolFacts } from "./types.ts";

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
  return decide(makeCall(tool), makePolicy({ layers }), now).reason;
}

const kinds: readonly (readonly [string, Partial<ToolFacts>, string])[] = [
  ["a read", { tier: "read" }, "dial:read-only"],
  ["a reversible edit", { tier: "write", needsApproval: false }, "needs_no_approval"],
  ["an outbound tool", { tier: "write", needsApproval: true }, "needs_approval"],
  ["a tool that says nothing", {}, "above_dial:unknown"],
  ["a file tool", { tier: "read", family: "file" }, "dial:read-only"],
  ["an MCP tool", { tier: "read", server: "s" }, "dial:read-only"],
  ["a tool that always asks", { tier: "read", alwaysGate: true }, "always_gate"],
];

describe.each(layerOrder)("AZ27: a rule at the %s layer", (layer) => {
  test.each(kinds)("reaches %s", (_what, tool, unruled) => {
    const under = (mode: Mode) => reasonUnder({ [layer]: { rules: [rule(onTool, mode)] } }, tool);
    const floor = tool.alwaysGate ? "always_gate" : undefined;
    expect(under("off")).toBe(`tool_off@${layer}`);
    expect(under("deny")).toBe(`denied_by_rule:tool-deny@${layer}`);
    expect(under("ask")).toBe(floor ?? `mode_ask@${layer}`);
    expect(under("allowlist")).toBe(floor ?? "allowlist_miss:demo");
    // An allow never makes a call ask more than no rule would.
    expect(under("allow")).toBe(unruled);
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
    expect(under("allow", "allowlist")).toBe("allowlist_miss:demo");
  });
});
