import { expect, test } from "vitest";
import * as z from "zod";
import { hashArguments } from "./canonical.ts";
import { decide } from "./decide.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { LayerPolicy, Rule } from "./rule.ts";
import type { KillSwitch, Policy, ProposedCall, ToolFacts } from "./types.ts";

interface Situation {
  call: Partial<ProposedCall>;
  tool: Partial<ToolFacts>;
  policy: Partial<Policy>;
  kills: readonly KillSwitch[];
  rules: readonly Rule[];
  app: LayerPolicy;
}

/** What makes each row match, in the order of the table. All of them can hold at once. */
const conditions: readonly (readonly [row: string, condition: Partial<Situation>])[] = [
  ["1a", { kills: [{ scope: "run" }] }],
  ["1b", { kills: [{ scope: "tool", name: "demo" }] }],
  ["2", { tool: { schema: z.object({ n: z.int() }) } }],
  ["3", { policy: { toolset: new Set() } }],
  ["4", { rules: [{ id: "r4", target: { kind: "tool", name: "demo" }, mode: "off" }] }],
  ["5", { tool: { requires: ["cap"] } }],
  ["6", { rules: [{ id: "r6", target: { kind: "everything" }, mode: "deny" }] }],
  ["7", { tool: { units: () => [{ text: "sudo x", denylisted: [{ name: "sudo", reason: "becomes root" }] }] } }],
  [
    "8",
    {
      policy: {
        denials: [{ approvalId: "a", tool: "demo", argsHash: hashArguments('{"a":"x"}') }],
      },
    },
  ],
  ["9", { tool: { options: () => [{ id: "o", label: "O" }] } }],
  ["10", { tool: { alwaysGate: true } }],
  ["11", { tool: { safety: () => "outside_root" } }],
  ["12", { policy: { pins: new Map([["demo", "another"]]) } }],
  ["13", { app: { approvalPolicy: { level: "all", locked: true } } }],
  [
    "14",
    {
      tool: {
        units: () => {
          throw new Error("broken tool");
        },
      },
    },
  ],
  ["15", { rules: [{ id: "r15", target: { kind: "tool", name: "demo" }, mode: "allow", remembered: true }] }],
  ["16", { rules: [{ id: "r16", target: { kind: "tool", name: "demo" }, mode: "allow" }] }],
  [
    "17",
    {
      rules: [
        {
          id: "r17",
          target: { kind: "family", name: "f" },
          mode: "allowlist",
          entries: [{ kind: "unit", unit: "demo" }],
        },
      ],
    },
  ],
  ["18", { rules: [{ id: "r18", target: { kind: "everything" }, mode: "ask" }] }],
  ["19", { tool: { needsApproval: true } }],
  ["20", { tool: { needsApproval: false } }],
  ["21", { tool: { tier: "read" } }],
  ["22", { call: { classified: { level: "read-only", argsHash: hashArguments('{"a":"x"}') } } }],
  ["23", { app: { dial: { level: "high" } } }],
  ["24", {}],
];

function rowUnder(parts: readonly Partial<Situation>[]): string {
  const tool = Object.assign({ family: "f" }, ...parts.map((part) => part.tool));
  const policy = makePolicy({
    ...Object.assign({}, ...parts.map((part) => part.policy)),
    kills: parts.flatMap((part) => part.kills ?? []),
    layers: {
      run: { rules: parts.flatMap((part) => part.rules ?? []) },
      app: Object.assign({}, ...parts.map((part) => part.app)),
    },
  });
  const call = Object.assign(makeCall(tool), ...parts.map((part) => part.call));
  return decide(call, policy, now).row;
}

const pairs = conditions.flatMap(([row, condition], index) =>
  // Row 20 is for calls under no dial, row 23 for some under one.
  conditions
    .slice(index + 1)
    .filter(([later]) => row !== "20" || later !== "23")
    .map(([later, other]) => [row, later, condition, other] as const),
);

test.each(pairs)("row %s comes before row %s", (row, _later, condition, other) => {
  // The earlier condition is laid over the later one, so that both hold where they can.
  expect(rowUnder([other, condition])).toBe(row);
});

test("the first match wins while all conditions hold, as they go away one by one", () => {
  const all = conditions.filter(([row]) => row !== "23");
  const parts = all.map(([, condition]) => condition).toReversed();
  for (const [row] of all) {
    expect(rowUnder(parts)).toBe(row);
    parts.pop();
  }
});
