import { describe, expect, test } from "vitest";
import * as z from "zod";
import { hashArguments } from "./canonical.ts";
import { decide } from "./decide.ts";
import type { LayerPolicy } from "./rule.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { KillSwitch, Policy, ProposedCall, ToolFacts } from "./types.ts";

const hourAgo = new Date(now.getTime() - 3_600_000);
const inAnHour = new Date(now.getTime() + 3_600_000);

function throwing(): never {
  throw new Error("broken tool");
}

function denialOf(argsText: string): Partial<Policy> {
  return { denials: [{ approvalId: "apr-1", tool: "demo", argsHash: hashArguments(argsText) }] };
}

const sudo = { text: "sudo ls", denylisted: [{ name: "sudo", reason: "becomes another user" }] };
const yolo: Partial<Policy> = { layers: { run: { dial: { level: "high" }, approvalPolicy: { level: "none" } } } };
const twoOptions = () => [
  { id: "a", label: "One" },
  { id: "b", label: "Two" },
];

type Case = readonly [tool: Partial<ToolFacts>, policy: Partial<Policy>, verdict: string, row: string, reason: string];

const cases: readonly Case[] = [
  [{}, { kills: [{ scope: "app" }] }, "held", "1a", "killed:app"],
  [{}, { kills: [{ scope: "workspace" }] }, "held", "1a", "killed:workspace"],
  [{}, { kills: [{ scope: "definition" }] }, "held", "1a", "killed:definition"],
  [{}, { kills: [{ scope: "run" }] }, "held", "1a", "killed:run"],
  [{}, { kills: [{ scope: "tool", name: "demo" }] }, "deny", "1b", "killed:tool"],
  [{ server: "s" }, { kills: [{ scope: "server", name: "s" }] }, "deny", "1b", "killed:server"],
  [{ schema: z.object({ n: z.int() }) }, {}, "invalid", "2", "invalid_args:$.n"],
  [{ units: () => ["a\0b"] }, {}, "invalid", "2", "invalid_args:$"],
  [{}, { toolset: new Set() }, "deny", "3", "tool_not_available"],
  [{ requires: ["mail.send"] }, {}, "deny", "5", "capability_denied:mail.send"],
  [
    { requires: ["kb.read", "mail.send"] },
    { grants: new Set(["kb.read"]) },
    "deny",
    "5",
    "capability_denied:mail.send",
  ],
  [{}, denialOf('{ "a": "x" }'), "deny", "8", "already_denied:apr-1"],
  [{ units: () => [sudo] }, {}, "deny", "7", "denylist:sudo"],
  [{ units: () => [sudo] }, { layers: { run: { dial: { level: "high" } } } }, "deny", "7", "denylist:sudo"],
  [{ units: () => [sudo] }, { denylistSoftened: new Set(["sudo"]) }, "ask", "7", "denylist:sudo"],
  [
    { units: () => [sudo], needsApproval: false },
    { denylistSoftened: new Set(["other"]) },
    "deny",
    "7",
    "denylist:sudo",
  ],
  [{ options: twoOptions }, {}, "pick", "9", "needs_selection"],
  [{ options: twoOptions }, yolo, "pick", "9", "needs_selection"],
  [{ options: twoOptions, tier: "read" }, { bindings: new Map([["other", "a"]]) }, "pick", "9", "needs_selection"],
  [{ options: twoOptions, tier: "read" }, { bindings: new Map([["demo", "gone"]]) }, "pick", "9", "needs_selection"],
  [
    { options: twoOptions, role: "analyze:image" },
    { canAnybodyAnswer: false, unattended: "deny" },
    "deny",
    "9",
    "selection_unbound:analyze:image",
  ],
  [{ options: twoOptions }, { canAnybodyAnswer: false, unattended: "park" }, "pick", "9", "needs_selection"],
  [{ safety: () => "outside_root", tier: "read" }, {}, "ask", "11", "safety:outside_root"],
  [{ safety: () => "outside_root" }, yolo, "ask", "11", "safety:outside_root"],
  [{ safety: throwing, tier: "read" }, {}, "ask", "11", "safety:error"],
  [{ safety: () => undefined, tier: "read" }, {}, "allow", "21", "dial:read-only"],
  [{ tier: "read", server: "s" }, {}, "ask", "12", "definition_changed"],
  [{ tier: "read" }, { pins: new Map([["demo", "h"]]) }, "ask", "12", "definition_changed"],
  [{ tier: "read" }, { unreadable: true }, "ask", "13", "policy_unreadable"],
  [{ alwaysGate: true }, {}, "ask", "10", "always_gate"],
  [{}, { layers: { run: { approvalPolicy: { level: "all" } } } }, "ask", "13", "policy_all"],
  [{}, { layers: { workspace: { dial: { level: "none" } } } }, "ask", "13", "dial_none"],
  [{ units: throwing, needsApproval: false }, {}, "ask", "14", "uninspectable:units_error"],
  [{ units: throwing }, yolo, "ask", "14", "uninspectable:units_error"],
  [{ options: throwing, tier: "read" }, {}, "ask", "14", "uninspectable:options_error"],
  [{ options: twoOptions, role: throwing, tier: "read" }, {}, "ask", "14", "uninspectable:options_error"],
  [{ units: () => ["a\u200bb"], tier: "read" }, {}, "ask", "14", "uninspectable:hidden_character"],
  [{ units: () => ["\u0440aypal.com"], tier: "read" }, yolo, "ask", "14", "uninspectable:confusable"],
  [{ units: () => [{ text: "sh x", unkeyable: "interpreter" }] }, yolo, "ask", "14", "uninspectable:interpreter"],
  [
    { options: twoOptions, needsApproval: true },
    { bindings: new Map([["demo", "a"]]) },
    "allow",
    "15",
    "companion:demo",
  ],
  [{ options: () => [], tier: "read" }, {}, "allow", "21", "dial:read-only"],
  [{ needsApproval: true }, {}, "ask", "19", "needs_approval"],
  [{ needsApproval: () => true }, {}, "ask", "19", "needs_approval"],
  [{ needsApproval: throwing, tier: "read" }, {}, "ask", "19", "needs_approval_error"],
  [{ needsApproval: false }, {}, "allow", "20", "needs_no_approval"],
  [{ needsApproval: () => false }, {}, "allow", "20", "needs_no_approval"],
  [
    { needsApproval: true },
    { layers: { definition: { approvalPolicy: { level: "none" } } } },
    "allow",
    "20",
    "policy_none",
  ],
  [{ tier: "read" }, {}, "allow", "21", "dial:read-only"],
  [{ risk: "low" }, { layers: { run: { dial: { level: "low" } } } }, "allow", "21", "dial:low"],
  [{ tier: "write" }, { layers: { run: { dial: { level: "high" } } } }, "allow", "21", "dial:high"],
  [{ tier: "write" }, { layers: { app: { dial: { level: "write" } } } }, "allow", "21", "dial:write"],
  [{}, {}, "ask", "24", "above_dial:unknown"],
  [{ tier: "write" }, {}, "ask", "24", "above_dial:high"],
  [{ risk: "low" }, {}, "ask", "24", "above_dial:low"],
  [{ tier: throwing }, {}, "ask", "24", "above_dial:unknown"],
  [{ tier: "read", risk: throwing }, {}, "ask", "24", "above_dial:unknown"],
  [{}, { layers: { run: { dial: { level: "high" } } } }, "allow", "23", "yolo@run"],
  [{ needsApproval: false }, { layers: { run: { dial: { level: "read-only" } } } }, "ask", "24", "above_dial:unknown"],
  [{}, { canAnybodyAnswer: false, unattended: "deny" }, "deny", "afterwards", "no_approver"],
  [{}, { canAnybodyAnswer: false, unattended: "park" }, "ask", "24", "above_dial:unknown"],
  [{}, { canAnybodyAnswer: true, unattended: "deny" }, "ask", "24", "above_dial:unknown"],
];

describe("each row", () => {
  test.each(cases)("tool %o under %o: %s by row %s, %s", (tool, policy, verdict, row, reason) => {
    expect(decide(makeCall(tool), makePolicy(policy), now)).toMatchObject({ verdict, row, reason });
  });
});

describe("row 1", () => {
  test("a switch for another tool or server touches nothing", () => {
    const kills: KillSwitch[] = [
      { scope: "tool", name: "other" },
      { scope: "server", name: "other" },
    ];
    for (const server of [{}, { server: "s" }]) {
      const call = makeCall({ tier: "read", ...server });
      expect(decide(call, makePolicy({ kills }), now).row).not.toBe("1b");
    }
  });

  test("AZ25: a switch under a tool's former name still reaches it", () => {
    const kills: KillSwitch[] = [{ scope: "tool", name: "former" }];
    const call = makeCall({ tier: "read", aliases: ["former"] });
    expect(decide(call, makePolicy({ kills }), now).row).toBe("1b");
  });

  test("the widest of several switches is named", () => {
    const kills: KillSwitch[] = [{ scope: "run" }, { scope: "app" }];
    expect(decide(makeCall(), makePolicy({ kills }), now).reason).toBe("killed:app");
  });
});

describe("row 3", () => {
  const names = ["constructor", "toString", "__proto__", "hasOwnProperty", "valueOf", ""];

  test.each(names)("AZ26: the tool name %j is not available", (name) => {
    for (const kills of [[], [{ scope: "tool", name: "demo" }] as const]) {
      const policy = makePolicy({ kills, ...denialOf("{}") });
      const call: ProposedCall = { tool: undefined, name, argsText: "{}" };
      expect(decide(call, policy, now)).toEqual({
        verdict: "deny",
        row: "3",
        reason: "tool_not_available",
      });
    }
  });

  test.each(names)("AZ26: a registered tool may bear the name %j", (name) => {
    const call = makeCall({ name, tier: "read" });
    expect(decide(call, makePolicy(), now).row).toBe("3");
    expect(decide(call, makePolicy({ toolset: new Set([name]) }), now).verdict).toBe("allow");
  });

  test.each(names)("AZ26: the capability %j is not granted by chance", (capability) => {
    const call = makeCall({ requires: [capability] });
    expect(decide(call, makePolicy(), now).reason).toBe(`capability_denied:${capability}`);
  });

  test("a tool that the definition offers but nobody registered is not available", () => {
    const call: ProposedCall = { tool: undefined, name: "demo", argsText: "{}" };
    expect(decide(call, makePolicy(), now).row).toBe("3");
  });
});

describe("row 8", () => {
  test.each([
    ["another tool", { name: "other" }, '{"a":"x"}'],
    ["other arguments", {}, '{"a":"y"}'],
  ])("a denial does not reach %s", (_what, tool, argsText) => {
    const policy = makePolicy({ toolset: new Set(["demo", "other"]), ...denialOf('{"a":"x"}') });
    expect(decide(makeCall({ tier: "read", ...tool }, argsText), policy, now).verdict).toBe("allow");
  });

  test("AZ49: a repeat in another spelling is the same call", () => {
    const schema = z.object({ a: z.string(), n: z.number() });
    const policy = makePolicy(denialOf('{"a":"é","n":100}'));
    const call = makeCall({ schema, tier: "read" }, String.raw`{"n":1e2, "a":"\u00e9"}`);
    expect(decide(call, policy, now).reason).toBe("already_denied:apr-1");
  });

  test("AZ49: so is one with arguments beside it that the schema strips", () => {
    const call = makeCall({ tier: "read" }, '{"why":"once more","a":"x"}');
    expect(decide(call, makePolicy(denialOf('{"a":"x"}')), now).reason).toBe("already_denied:apr-1");
  });
});

describe("AZ21", () => {
  const outside: Partial<ToolFacts> = { units: () => ["ls /tmp"], safety: () => "outside_root" };
  const entries = [{ kind: "unit", unit: "ls /tmp" }] as const;
  const target = { kind: "tool", name: "demo" } as const;

  test.each([
    ["an allow", { rules: [{ id: "r", target, mode: "allow" }] }],
    ["an allowlist", { rules: [{ id: "r", target, mode: "allowlist", entries }] }],
    ["what was remembered", { rules: [{ id: "r", target, mode: "allow", remembered: true, entries }] }],
    ["yolo", yolo.layers?.run ?? {}],
    ["no approval policy", { approvalPolicy: { level: "none" } }],
  ] satisfies [string, LayerPolicy][])("%s opens one gate, not the one at the edge of the root", (_what, layer) => {
    for (const scope of ["run", "definition", "workspace", "app"]) {
      const policy = makePolicy({ layers: { [scope]: layer } });
      expect(decide(makeCall({ ...outside, safety: () => undefined }), policy, now).verdict).toBe("allow");
      const verdict = decide(makeCall(outside), policy, now);
      expect(verdict).toMatchObject({ verdict: "ask", row: "11", reason: "safety:outside_root" });
    }
  });
});

describe("a question to a person", () => {
  const ask = { name: "human.ask", neverGated: true } as const;
  const policy = makePolicy({ toolset: new Set(["human.ask"]) });
  const strict: Partial<Policy> = {
    layers: { app: { approvalPolicy: { level: "all", locked: true }, dial: { level: "none" } } },
    denials: [{ approvalId: "a", tool: "human.ask", argsHash: hashArguments('{"a":"x"}') }],
    unattended: "deny",
    canAnybodyAnswer: false,
  };

  test("is never gated", () => {
    const call = makeCall({ ...ask, alwaysGate: true, needsApproval: true, requires: ["x"] });
    expect(decide(call, { ...policy, ...strict }, now)).toMatchObject({
      verdict: "allow",
      row: "4",
      reason: "never_gated",
    });
  });

  test("still passes rows 1 to 4", () => {
    const killed: KillSwitch[] = [{ scope: "run" }];
    const off = {
      run: { rules: [{ id: "r", target: { kind: "everything" }, mode: "off" }] },
    } as const;
    expect(decide(makeCall(ask), { ...policy, kills: killed }, now).row).toBe("1a");
    expect(decide(makeCall(ask, "{}"), policy, now).row).toBe("2");
    expect(decide(makeCall(ask), { ...policy, toolset: new Set() }, now).row).toBe("3");
    expect(decide(makeCall(ask), { ...policy, layers: off }, now).verdict).toBe("deny");
  });
});

describe("dial and approval policy", () => {
  const read = makeCall({ tier: "read" });

  test("an expired dial says nothing, to the millisecond", () => {
    const layersUntil = (expiresAt: Date) => ({ run: { dial: { level: "none", expiresAt } } }) as const;
    expect(decide(read, makePolicy({ layers: layersUntil(inAnHour) }), now).row).toBe("13");
    expect(decide(read, makePolicy({ layers: layersUntil(hourAgo) }), now).row).toBe("21");
    expect(decide(read, makePolicy({ layers: layersUntil(now) }), now).row).toBe("21");
  });

  test("an expired dial gives way to the layer further out", () => {
    const layers = {
      run: { dial: { level: "high", expiresAt: hourAgo } },
      app: { dial: { level: "none" } },
    } as const;
    expect(decide(read, makePolicy({ layers }), now).reason).toBe("dial_none");
  });

  test("the innermost layer wins over an unlocked one further out", () => {
    const layers = {
      run: { dial: { level: "high" } },
      workspace: { dial: { level: "none" }, approvalPolicy: { level: "all" } },
      definition: { approvalPolicy: { level: "outbound" } },
    } as const;
    expect(decide(makeCall({ tier: "write" }), makePolicy({ layers }), now).reason).toBe("dial:high");
  });

  test("a locked dial is a ceiling, also between dials of risks and of tiers", () => {
    const layers = {
      run: { dial: { level: "write" } },
      app: { dial: { level: "read-only", locked: true } },
    } as const;
    const verdictOf = (tool: Partial<ToolFacts>) => decide(makeCall(tool), makePolicy({ layers }), now).reason;
    expect(verdictOf({ tier: "read" })).toBe("dial:write");
    expect(verdictOf({ tier: "read", risk: "low" })).toBe("above_dial:low");
    expect(verdictOf({ tier: "exec", risk: "read-only" })).toBe("above_dial:read-only");
  });

  test("a locked dial may be tightened", () => {
    const layers = {
      run: { dial: { level: "none" } },
      app: { dial: { level: "high", locked: true } },
    } as const;
    expect(decide(read, makePolicy({ layers }), now).reason).toBe("dial_none");
  });

  test("a locked approval policy is a ceiling that inner layers may tighten", () => {
    const layersOf = (inner: "none" | "outbound" | "all") =>
      ({
        run: { approvalPolicy: { level: inner } },
        workspace: { approvalPolicy: { level: "outbound", locked: true } },
      }) as const;
    const reasonOf = (inner: "none" | "outbound" | "all") =>
      decide(makeCall({ needsApproval: true }), makePolicy({ layers: layersOf(inner) }), now).reason;
    expect(reasonOf("none")).toBe("needs_approval");
    expect(reasonOf("all")).toBe("policy_all");
  });
});

describe("what comes with the verdict", () => {
  test("the parsed arguments, from row 3 on", () => {
    const schema = z.object({ a: z.string(), limit: z.int().default(10) });
    const args = { a: "x", limit: 10 };
    expect(decide(makeCall({ schema, tier: "read" }), makePolicy(), now).args).toEqual(args);
    expect(decide(makeCall({ schema }), makePolicy({ toolset: new Set() }), now).args).toEqual(args);
    expect(decide(makeCall({ schema }, "{}"), makePolicy(), now)).not.toHaveProperty("args");
    const kills: KillSwitch[] = [{ scope: "app" }];
    expect(decide(makeCall({ schema }), makePolicy({ kills }), now)).not.toHaveProperty("args");
  });

  test("with a question: every reason of rows 10 to 14, not only the first", () => {
    const layers = { run: { approvalPolicy: { level: "all" } } } as const;
    const call = makeCall({ alwaysGate: true, units: throwing });
    expect(decide(call, makePolicy({ layers }), now)).toMatchObject({
      row: "10",
      floorReasons: ["always_gate", "policy_all", "uninspectable:units_error"],
    });
    expect(decide(makeCall(), makePolicy(), now).floorReasons).toEqual([]);
  });

  test("with no_approver: the question that nobody can answer", () => {
    const policy = makePolicy({ canAnybodyAnswer: false, unattended: "deny" });
    expect(decide(makeCall({ needsApproval: true }), policy, now).unasked).toEqual({
      row: "19",
      reason: "needs_approval",
    });
  });
});
