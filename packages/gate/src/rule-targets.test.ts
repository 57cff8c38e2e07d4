import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { effectiveMode } from "./modes.ts";
import type { LayerName, LayerPolicy, Mode, Rule, RuleEntry, RuleTarget } from "./rule.ts";
import { makeCall, makePolicy, makeTool, now } from "./testing/make-call.ts";
import type { ToolFacts } from "./types.ts";

const onTool: RuleTarget = { kind: "tool", name: "demo" };
const onFormer: RuleTarget = { kind: "tool", name: "former" };
const onFamily: RuleTarget = { kind: "family", name: "file" };
const onEverything: RuleTarget = { kind: "everything" };
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);
const one: readonly RuleEntry[] = [{ kind: "unit", unit: "one" }];

let ids = 0;
function rule(target: RuleTarget, mode: Mode, more: Partial<Rule> = {}): Rule {
  ids += 1;
  return { id: `r${ids}`, target, mode, ...more };
}

type Layers = Partial<Record<LayerName, LayerPolicy>>;
const fileTool: Partial<ToolFacts> = { family: "file", aliases: ["former"], units: () => ["one"] };

function rowUnder(layers: Layers, tool: Partial<ToolFacts> = fileTool): string {
  const { row, reason } = decide(makeCall(tool), makePolicy({ layers }), now);
  return `${row} ${reason.split(":")[0]}`;
}

const rules = (...written: Rule[]): Layers => ({ workspace: { rules: written } });

describe("an entry that denies or asks", () => {
  const mcp: Partial<ToolFacts> = { server: "fs", aliases: ["former"] };
  const under = (pattern: string, argsText: string) => {
    const denying = rule(onEverything, "deny", { entries: [{ kind: "pattern", pattern }] });
    return decide(makeCall(mcp, argsText), makePolicy({ layers: rules(denying) }), now).row;
  };

  test.each(['{"q":"/etc/a"}', '{"a":"x","q":"/etc/a"}', '{"q":"/etc/a\\nb"}', '{"o":[{"q":"/etc/a"}]}', '"/etc/a"'])(
    "reaches an MCP call by any text in %s",
    (argsText) => {
      expect(under("mcp_fs_demo /etc/.*", argsText)).toBe("6");
      expect(under("mcp_fs_demo /usr/.*", argsText)).toBe("12");
    },
  );

  test("AZ25: reaches an MCP call under its former name", () => {
    expect(under("mcp_fs_former .*", '{"q":"x"}')).toBe("6");
    expect(under("mcp_fs_former", "{}")).toBe("6");
    expect(under("mcp_fs_other.*", '{"q":"x"}')).toBe("12");
  });
});

describe("a former name", () => {
  test.each([
    ["off", "4 tool_off@workspace"],
    ["deny", "6 denied_by_rule"],
    ["ask", "18 mode_ask@workspace"],
  ] as const)("AZ25: a rule that says %s still reaches the tool", (mode, row) => {
    expect(rowUnder(rules(rule(onFormer, mode)))).toBe(row);
    expect(rowUnder(rules(rule(onFormer, mode)), { ...fileTool, aliases: ["older", "former"] })).toBe(row);
    expect(rowUnder(rules(rule(onFormer, mode)), { ...fileTool, aliases: [] })).toBe("24 above_dial");
  });

  test("AZ25: deny and ask for some units still reach them", () => {
    expect(rowUnder(rules(rule(onFormer, "deny", { entries: one })))).toBe("6 denied_by_rule");
    expect(rowUnder(rules(rule(onFormer, "ask", { entries: one })))).toBe("18 mode_ask@workspace");
  });

  test("AZ25: an allow under it allows nothing, remembered or not", () => {
    expect(rowUnder(rules(rule(onFormer, "allow")))).toBe("24 above_dial");
    expect(rowUnder(rules(rule(onFormer, "allow", { remembered: true })))).toBe("24 above_dial");
    expect(rowUnder(rules(rule(onFormer, "allow", { entries: one })))).toBe("24 above_dial");
  });

  test("AZ25: an allowlist under it lists nothing, and so asks", () => {
    expect(rowUnder(rules(rule(onFormer, "allowlist", { entries: one })))).toBe("18 allowlist_miss");
    const named = rule(onTool, "allowlist", { entries: one });
    expect(rowUnder(rules(rule(onFormer, "allowlist", { entries: one }), named))).toBe("17 allowlist");
  });

  test("AZ25: a deny under it holds against an allow under the new one", () => {
    expect(rowUnder(rules(rule(onFormer, "deny"), rule(onTool, "allow")))).toBe("6 denied_by_rule");
  });
});

describe("a stale ask", () => {
  const ask = (days: number | undefined, more: Partial<Rule> = {}) =>
    rule(onTool, "ask", { ...(days === undefined ? {} : { createdAt: daysAgo(days) }), ...more });
  const family = (days: number) => rule(onFamily, "allow", { createdAt: daysAgo(days) });

  test("for a tool, older than the allow of its family, does not mask it", () => {
    expect(rowUnder(rules(ask(2), family(1)))).toBe("16 mode_allow@workspace");
    expect(rowUnder(rules(family(1), ask(2)))).toBe("16 mode_allow@workspace");
  });

  test("is none where it is younger, as old, undated or locked", () => {
    for (const kept of [ask(1), ask(undefined), ask(3, { locked: true })]) {
      const days = kept.locked === true ? 2 : 1;
      expect(rowUnder(rules(kept, family(days)))).toMatch(/ask/);
    }
  });

  test("still masks the allow of its family at another layer", () => {
    const layers: Layers = { run: { rules: [ask(2)] }, workspace: { rules: [family(1)] } };
    expect(rowUnder(layers)).toBe("18 mode_ask@run");
  });

  test.each(["off", "deny"] as const)("%s always counts, however old", (mode) => {
    const old = rule(onTool, mode, { createdAt: daysAgo(9) });
    expect(rowUnder(rules(old, family(1)))).not.toMatch(/allow/);
  });

  test("does not give way to an allow of everything, nor to one for some units", () => {
    const everything = rule(onEverything, "allow", { createdAt: daysAgo(1) });
    expect(rowUnder(rules(ask(2), everything))).toBe("18 mode_ask@workspace");
    const some = rule(onFamily, "allow", { entries: [{ kind: "unit", unit: "two" }], createdAt: daysAgo(1) });
    expect(rowUnder(rules(ask(2), some))).toBe("18 mode_ask@workspace");
  });
});

describe("an expired rule", () => {
  test.each(["off", "deny", "ask", "allow"] as const)("that said %s says nothing, to the millisecond", (mode) => {
    const until = (expiresAt: Date) => rowUnder(rules(rule(onTool, mode, { expiresAt })));
    expect(until(now)).toBe("24 above_dial");
    expect(until(new Date(now.getTime() + 1))).not.toBe("24 above_dial");
  });
});

describe("locks", () => {
  const inner = (mode: Mode): Layers => ({ run: { rules: [rule(onTool, mode)] } });

  test("a locked rule on a wide target still bounds inner layers where its layer asks for the tool itself", () => {
    const layers = { ...inner("allow"), ...rules(rule(onEverything, "ask", { locked: true }), rule(onTool, "ask")) };
    expect(rowUnder(layers)).toBe("13 ask_locked@workspace");
  });

  test("an exception of the same layer for a narrower target opens the lock for it", () => {
    const layers = { ...inner("allow"), ...rules(rule(onEverything, "ask", { locked: true }), rule(onTool, "allow")) };
    expect(rowUnder(layers)).toBe("16 mode_allow@run");
    expect(rowUnder({ ...layers, run: {} })).toBe("16 mode_allow@workspace");
  });

  test("an inner layer may loosen what is not locked down to what is", () => {
    const layers = { ...inner("allow"), ...rules(rule(onTool, "off"), rule(onFamily, "ask", { locked: true })) };
    expect(rowUnder(layers)).toBe("13 ask_locked@workspace");
  });

  test("a unit must be on the inner list and on every locked one further out", () => {
    const list = (...units: string[]) => units.map((unit): RuleEntry => ({ kind: "unit", unit }));
    const layers = (mine: string[], theirs: string[]): Layers => ({
      run: { rules: [rule(onTool, "allowlist", { entries: list(...mine) })] },
      app: { rules: [rule(onEverything, "allowlist", { entries: list(...theirs), locked: true })] },
    });
    expect(rowUnder(layers(["one", "two"], ["one"]))).toBe("17 allowlist");
    expect(rowUnder(layers(["two"], ["one"]))).toBe("18 allowlist_miss");
    expect(rowUnder(layers(["one"], ["two"]))).toBe("18 allowlist_miss");
  });
});

describe("row 16", () => {
  const outbound: Partial<ToolFacts> = { ...fileTool, needsApproval: true };
  const broken: Partial<ToolFacts> = { ...fileTool, needsApproval: () => JSON.parse("broken") as boolean };

  test.each([outbound, broken])("an outbound call needs a rule that names the tool itself", (tool) => {
    expect(rowUnder(rules(rule(onTool, "allow")), tool)).toBe("16 mode_allow@workspace");
    expect(rowUnder(rules(rule(onFamily, "allow")), tool)).toMatch(/^19 /);
    expect(rowUnder(rules(rule(onEverything, "allow")), tool)).toMatch(/^19 /);
  });

  test("it may be named at one layer under the lock of another", () => {
    const layers = { ...rules(rule(onEverything, "allow", { locked: true })), run: { rules: [rule(onTool, "allow")] } };
    expect(rowUnder(layers, outbound)).toBe("16 mode_allow@run");
  });
});

describe("effectiveMode", () => {
  const modeUnder = (layers: Layers) => {
    const held = effectiveMode(makeTool(fileTool), makePolicy({ layers }), now);
    return held && `${held.value}@${held.layer}`;
  };

  test("is what stands for the tool, whatever the call", () => {
    expect(modeUnder({})).toBeUndefined();
    expect(modeUnder(rules(rule(onFamily, "off")))).toBe("off@workspace");
    expect(modeUnder({ ...rules(rule(onFamily, "off")), run: { rules: [rule(onTool, "allow")] } })).toBe("allow@run");
    expect(modeUnder(rules(rule(onTool, "off", { expiresAt: now })))).toBeUndefined();
  });

  test("is not set by what speaks of some calls alone, nor by what a person had remembered", () => {
    expect(modeUnder(rules(rule(onTool, "ask", { entries: one })))).toBeUndefined();
    expect(modeUnder(rules(rule(onTool, "deny", { entries: one })))).toBeUndefined();
    expect(modeUnder(rules(rule(onTool, "allow", { entries: one })))).toBeUndefined();
    expect(modeUnder(rules(rule(onTool, "allow", { remembered: true })))).toBeUndefined();
  });
});
