import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import type { LayerName, LayerPolicy, Mode, Rule, RuleEntry } from "./rule.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { Policy, ToolFacts } from "./types.ts";
import type { Unit } from "./unit.ts";

const target = { kind: "tool", name: "demo" } as const;
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);
const entriesOf = (...units: string[]) => units.map((unit): RuleEntry => ({ kind: "unit", unit }));

/** What a person had remembered, two days ago. */
function remembered(more: Partial<Rule> = {}): Rule {
  return { id: "kept", target, mode: "allow", remembered: true, createdAt: daysAgo(2), ...more };
}

function said(mode: Mode, days?: number, more: Partial<Rule> = {}): Rule {
  return { id: mode, target, mode, ...(days === undefined ? {} : { createdAt: daysAgo(days) }), ...more };
}

interface Setting {
  readonly layers: Partial<Record<LayerName, LayerPolicy>>;
  readonly units?: readonly (string | Unit)[];
  readonly tool?: Partial<ToolFacts>;
  readonly definitionHash?: string;
  readonly policy?: Partial<Policy>;
}

function judge({ layers, units = ["one"], tool = {}, definitionHash, policy = {} }: Setting): string {
  const call = makeCall({ needsApproval: true, units: () => units, ...tool });
  const verdict = decide(
    definitionHash === undefined ? call : { ...call, definitionHash },
    makePolicy({ layers, ...policy }),
    now,
  );
  return `${verdict.row} ${verdict.reason}`;
}

describe("row 15", () => {
  test("what was remembered of the whole tool lets it run, also outbound and with no units", () => {
    expect(judge({ layers: { definition: { rules: [remembered()] } } })).toBe("15 rule:kept@definition");
    expect(judge({ layers: { run: { rules: [remembered()] } }, units: [] })).toBe("15 rule:kept@run");
  });

  test("what was remembered of units covers those, and nothing beside them", () => {
    const layers = { run: { rules: [remembered({ entries: entriesOf("one", "two") })] } };
    expect(judge({ layers })).toBe("15 rule:kept@run");
    expect(judge({ layers, units: ["two", "one"] })).toBe("15 rule:kept@run");
    expect(judge({ layers, units: ["one", "three"] })).toBe("19 needs_approval");
    expect(judge({ layers, units: ["one more"] })).toBe("19 needs_approval");
    expect(judge({ layers, units: [] })).toBe("19 needs_approval");
  });

  test("several may cover a call together, of several layers", () => {
    const layers = {
      run: { rules: [remembered({ entries: entriesOf("one") })] },
      workspace: { rules: [remembered({ id: "other", entries: entriesOf("two") })] },
    };
    expect(judge({ layers, units: ["two", "one"] })).toBe("15 rule:other@workspace");
  });

  test("a rule that allows some units is written like one", () => {
    const layers = { app: { rules: [said("allow", undefined, { entries: entriesOf("one") })] } };
    expect(judge({ layers })).toBe("15 rule:allow@app");
    expect(judge({ layers, units: ["two"] })).toBe("19 needs_approval");
  });

  test.each([
    ["always_gate", { tool: { alwaysGate: true } }],
    ["safety:outside_root", { tool: { safety: () => "outside_root" } }],
    ["dial_none", { layers: { run: { dial: { level: "none" } } } }],
    ["policy_all", { layers: { run: { approvalPolicy: { level: "all" } } } }],
    ["uninspectable:interpreter", { units: [{ text: "sh x", unkeyable: "interpreter" }] }],
    ["uninspectable:hidden_character", { units: ["on\u200be"] }],
  ] as const)("does not get past %s", (reason, { layers = {}, ...setting }: Partial<Setting>) => {
    const kept = remembered();
    const under = { ...layers, definition: { rules: [kept] } };
    expect(judge({ layers: under, ...setting })).toContain(reason);
  });

  test("an unkeyable unit with a key is covered by an entry that names it, and by nothing wider", () => {
    const units: Unit[] = [{ text: "/bin/ls -l", key: "/bin/ls", unkeyable: "program_path" }];
    const under = (entries?: readonly RuleEntry[]) =>
      judge({ layers: { run: { rules: [remembered(entries && { entries })] } }, units });
    expect(under(entriesOf("/bin/ls"))).toBe("15 rule:kept@run");
    expect(under([{ kind: "command", command: "/bin/ls" }])).toBe("15 rule:kept@run");
    expect(under([{ kind: "pattern", pattern: "/bin/.*" }])).toBe("14 uninspectable:program_path");
    expect(under(entriesOf("ls"))).toBe("14 uninspectable:program_path");
    expect(under()).toBe("14 uninspectable:program_path");
  });
});

describe("what tightens", () => {
  const kept = { definition: { rules: [remembered()] } };

  test.each(["ask", "allowlist"] as const)("AZ42: %s, said by an inner layer at any time, silences it", (mode) => {
    for (const days of [9, 1, undefined]) {
      const layers = { ...kept, run: { rules: [said(mode, days, mode === "ask" ? {} : { entries: entriesOf("x") })] } };
      expect(judge({ layers })).toMatch(/^18 /);
    }
  });

  test.each(["definition", "workspace", "app"] as const)(
    "AZ42: ask, said afterwards by the %s, silences it",
    (layer) => {
      const under = (days: number | undefined) => {
        const rules = [said("ask", days), ...(layer === "definition" ? kept.definition.rules : [])];
        return judge({ layers: { ...kept, [layer]: { rules } } });
      };
      expect(under(1)).toBe(`18 mode_ask@${layer}`);
      expect(under(3)).toBe("15 rule:kept@definition");
      expect(under(undefined)).toBe("15 rule:kept@definition");
    },
  );

  test("a wider ask silences it too, an ask for another tool does not", () => {
    const ask = (kind: Rule["target"]): Rule => ({ ...said("ask", 1), target: kind });
    expect(judge({ layers: { ...kept, app: { rules: [ask({ kind: "everything" })] } } })).toBe("18 mode_ask@app");
    expect(judge({ layers: { ...kept, app: { rules: [ask({ kind: "tool", name: "other" })] } } })).toMatch(/^15 /);
  });

  test("it ends at its hour, and when it is taken away", () => {
    expect(judge({ layers: { run: { rules: [remembered({ expiresAt: now })] } } })).toBe("19 needs_approval");
    expect(judge({ layers: {} })).toBe("19 needs_approval");
  });

  test("it never goes beyond a locked allowlist further out", () => {
    const locked = said("allowlist", 9, { locked: true, entries: entriesOf("one") });
    const layers = { ...kept, workspace: { rules: [locked] } };
    expect(judge({ layers })).toBe("15 rule:kept@definition");
    expect(judge({ layers, units: ["two"] })).toBe("18 allowlist_miss:two");
    expect(judge({ layers, units: [] })).toMatch(/^18 allowlist_miss/);
    const unlocked = said("allowlist", 9, { entries: entriesOf("one") });
    expect(judge({ layers: { ...kept, workspace: { rules: [unlocked] } }, units: ["two"] })).toMatch(/^15 /);
  });
});

describe("another definition", () => {
  const layers = { definition: { rules: [remembered({ definitionHash: "h1" })] } };

  test("AZ44: what was remembered of the tool is suspended while its definition differs, and the call asks", () => {
    expect(judge({ layers, definitionHash: "h1" })).toBe("15 rule:kept@definition");
    expect(judge({ layers, definitionHash: "h2" })).toBe("12 definition_changed");
    expect(judge({ layers })).toBe("12 definition_changed");
  });

  test("AZ44: a tool that a rule of now covers anyway is not asked for", () => {
    const both = {
      definition: { rules: [...layers.definition.rules, remembered({ id: "new", definitionHash: "h2" })] },
    };
    expect(judge({ layers: both, definitionHash: "h2" })).toBe("15 rule:new@definition");
  });

  test("a call that the suspended rule does not speak of goes its own way", () => {
    const some = { definition: { rules: [remembered({ definitionHash: "h1", entries: entriesOf("two") })] } };
    expect(judge({ layers: some, definitionHash: "h2" })).toBe("19 needs_approval");
  });

  test.each([
    ["h1", "h1", "15 rule:kept@definition"],
    ["h1", "h2", "12 definition_changed"],
    ["h1", undefined, "12 definition_changed"],
    [undefined, "h1", "12 definition_changed"],
  ])("AZ44: an MCP tool pinned as %s and defined as %s: %s", (pin, hash, row) => {
    const pins = new Map(pin === undefined ? [] : [["demo", pin]]);
    const setting = { layers: { definition: { rules: [remembered()] } }, tool: { server: "s" }, policy: { pins } };
    expect(judge(hash === undefined ? setting : { ...setting, definitionHash: hash })).toBe(row);
  });
});

describe("row 17", () => {
  const list = said("allowlist", undefined, {
    entries: [...entriesOf("one"), { kind: "pattern", pattern: "npm (test|run .*)" }],
  });
  const layers = { workspace: { rules: [list] } };

  test.each([
    [["one"], "17 allowlist:one@workspace"],
    [["npm test"], "17 allowlist:npm (test|run .*)@workspace"],
    [["one", "npm run build"], "17 allowlist:one@workspace"],
    [["one", "two"], "18 allowlist_miss:two"],
    [["npm test; rm x"], "18 allowlist_miss:npm test; rm x"],
    [["x npm test"], "18 allowlist_miss:x npm test"],
    [["npm test\n"], "18 allowlist_miss:npm test\n"],
    [[], "18 allowlist_miss:demo"],
  ])("%j: %s", (units, row) => {
    expect(judge({ layers, units })).toBe(row);
  });

  test("what a rule vouches for need not be on the list", () => {
    const more = { ...layers, run: { rules: [remembered({ entries: entriesOf("two") })] } };
    expect(judge({ layers: more, units: ["two", "one"] })).toBe("17 allowlist:one@workspace");
  });

  test("the rules of one target and layer are one list", () => {
    const other = said("allowlist", undefined, { id: "other", entries: entriesOf("two") });
    expect(judge({ layers: { workspace: { rules: [list, other] } }, units: ["two"] })).toBe(
      "17 allowlist:two@workspace",
    );
  });
});

describe("rules for some calls", () => {
  const bash: Partial<ToolFacts> = { needsApproval: false };
  const acting: RuleEntry = { kind: "argument", name: "a", value: "x" };

  test.each([
    ["deny", "6 denied_by_rule:deny@run"],
    ["ask", "18 mode_ask@run"],
  ] as const)("%s where an argument is so, and not elsewhere", (mode, row) => {
    const under = (value: string) =>
      judge({ layers: { run: { rules: [said(mode, undefined, { entries: [{ ...acting, value }] })] } }, tool: bash });
    expect(under("x")).toBe(row);
    expect(under("y")).toBe("20 needs_no_approval");
  });

  test.each([
    [{ kind: "command", command: "rm" }, true],
    [{ kind: "command", command: "rm -f" }, true],
    [{ kind: "command", command: "sudo" }, true],
    [{ kind: "command", command: "r" }, false],
    [{ kind: "command", command: "f" }, false],
    [{ kind: "pattern", pattern: "rm .*" }, true],
    [{ kind: "pattern", pattern: "rm" }, false],
    [{ kind: "unit", unit: "sudo rm -f x" }, true],
  ] as const)("a deny of %o reaches a wrapped command: %s", (entry: RuleEntry, reaches) => {
    const commands = [
      ["sudo", "rm", "-f", "x"],
      ["rm", "-f", "x"],
    ];
    const units: Unit[] = [{ text: "one" }, { text: "sudo rm -f x", unkeyable: "wrapper", commands }];
    const layers = { app: { rules: [said("deny", undefined, { entries: [entry] })] } };
    expect(judge({ layers, units })).toBe(reaches ? "6 denied_by_rule:deny@app" : "14 uninspectable:wrapper");
  });

  test("a tool that cannot say what it touches is not denied by units, and asks", () => {
    const tool = { units: () => JSON.parse("broken") as string[] };
    const layers = { app: { rules: [said("deny", undefined, { entries: entriesOf("one") })] } };
    expect(judge({ layers, tool })).toBe("14 uninspectable:units_error");
  });
});
