import { expect, test } from "vitest";
import * as z from "zod";
import { hashArguments } from "./canonical.ts";
import { decide } from "./decide.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { KillSwitch, LayerPolicy, Policy, Rule, ToolFacts } from "./types.ts";

interface Situation {
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
  [
    "8",
    {
      policy: {
        denials: [{ approvalId: "a", tool: "demo", argsHash: hashArguments('{"a":"x"}') }],
      },
    },
  ],
  ["10", { tool: { alwaysGate: true } }],
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
  ["18", { rules: [{ id: "r18", target: { kind: "family", name: "f" }, mode: "ask" }] }],
  ["19", { tool: { needsApproval: true } }],
  ["20", { tool: { needsApproval: false } }],
  ["21", { tool: { tier: "read" } }],
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
  return decide(makeCall(tool), policy, now).row;
}

const pairs = conditions.flatMap(([row, condition], index) =>
  conditions.slice(index + 1).map(([later, other]) => [row, later, condition, other] as const),
);

test.each(pairs)("row %s comes before row %s", (row, _later, condition, other) => {
  // The earlier condition is laid over the later one, so that both hold where they can.
  expect(rowUnder([other, condition])).toBe(row);
});

test("the first match wins while all conditions hold, as they go away one by one", () => {
  const parts = conditions.map(([, condition]) => condition).toReversed();
  for (const [row] of conditions) {
    expect(rowUnder(parts)).toBe(row);
    parts.pop();
  }
});
