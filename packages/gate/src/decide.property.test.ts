import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { decide } from "./decide.ts";
import { makePolicy, makeTool, now } from "./testing/make-call.ts";
import type { DialLevel } from "./rule.ts";
import type { Policy, ProposedCall, Risk, Tier, ToolFacts } from "./types.ts";

const schemas: readonly z.ZodType[] = [
  z.object({ a: z.string() }),
  z.looseObject({}),
  z.record(z.string(), z.unknown()),
  z.json(),
  z.unknown(),
];

const flags = fc.constantFrom(true, false, undefined);

function throwing(): never {
  throw new Error("broken tool");
}

const tool: fc.Arbitrary<ToolFacts | undefined> = fc.option(
  fc
    .record({
      schema: fc.constantFrom(...schemas),
      tier: fc.constantFrom<(Tier | (() => Tier) | undefined)[]>("read", "write", "exec", throwing, undefined),
      risk: fc.constantFrom<(Risk | (() => Risk) | undefined)[]>("low", "high", throwing, undefined),
      needsApproval: fc.constantFrom(true, false, () => true, throwing, undefined),
      alwaysGate: flags,
      units: fc.constantFrom(throwing, (args: unknown) => [JSON.stringify(args)], undefined),
      server: fc.constantFrom("s", undefined),
    })
    .map((facts) => {
      const said = Object.entries(facts).filter(([, value]) => value !== undefined);
      return makeTool(Object.fromEntries(said));
    }),
  { nil: undefined },
);

const name = fc.oneof(
  fc.constantFrom("demo", "constructor", "__proto__", "toString", "other"),
  fc.string({ unit: "binary" }),
);

const argsText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.json({ stringUnit: "binary" }),
  fc.jsonValue().map((value) => JSON.stringify({ a: "x", value })),
  fc.constantFrom('{"a":"x"}', '{"a":"\\u0000"}', '{"a":"\\ud800","__proto__":{"x":1}}', "1e400"),
  fc.nat(5_000).map((levels) => "[".repeat(levels) + "]".repeat(levels)),
);

const policy: fc.Arbitrary<Policy> = fc
  .record({
    dial: fc.constantFrom<(DialLevel | undefined)[]>("none", "read-only", "high", "write", undefined),
    approvalPolicy: fc.constantFrom("none", "outbound", "all"),
    mode: fc.constantFrom("off", "deny", "ask", "allowlist", "allow"),
    target: fc.oneof(
      fc.constant({ kind: "everything" } as const),
      fc.record({ kind: fc.constantFrom("tool", "family", "server"), name }),
    ),
    locked: fc.boolean(),
    toolset: fc.array(name),
    denied: name,
    unattended: fc.constantFrom("park", "deny"),
    canAnybodyAnswer: fc.boolean(),
  })
  .map(({ dial, approvalPolicy, mode, target, locked, toolset, denied, ...rest }) =>
    makePolicy({
      ...rest,
      layers: {
        run: dial === undefined ? {} : { dial: { level: dial } },
        definition: { approvalPolicy: { level: approvalPolicy } },
        workspace: { rules: [{ id: "r", target, mode, locked }] },
      },
      toolset: new Set(["demo", ...toolset]),
      denials: [{ approvalId: "a", tool: denied, argsHash: "" }],
    }),
  );

const call: fc.Arbitrary<ProposedCall> = fc.record({ tool, name, argsText });

test("decide gives a verdict on any text, name, tool and policy, and the same one again", () => {
  fc.assert(
    fc.property(call, policy, (proposed, held) => {
      const verdict = decide(proposed, held, now);
      expect(verdict.reason).not.toBe("");
      expect(decide(proposed, held, now)).toEqual(verdict);
    }),
    { numRuns: 2_000 },
  );
});

test("nothing but a registered, offered tool with arguments that parse is ever allowed or asked", () => {
  fc.assert(
    fc.property(call, policy, (proposed, held) => {
      const { verdict } = decide(proposed, held, now);
      if (verdict !== "allow" && verdict !== "ask" && verdict !== "pick") return;
      expect(proposed.tool && held.toolset.has(proposed.tool.name)).toBe(true);
      expect(() => JSON.parse(proposed.argsText)).not.toThrow();
    }),
    { numRuns: 2_000 },
  );
});

test("a rule that tightens never lets a call run that would not run without it", () => {
  const tightening = fc.constantFrom("off", "deny", "ask", "allowlist");
  fc.assert(
    fc.property(call, policy, tightening, fc.boolean(), (proposed, held, mode, locked) => {
      const rule = { id: "new", target: { kind: "everything" }, mode, locked } as const;
      const layers = { ...held.layers, app: { rules: [rule] } };
      const before = decide(proposed, held, now).verdict;
      const after = decide(proposed, { ...held, layers }, now).verdict;
      if (before !== "allow") expect(after).not.toBe("allow");
    }),
    { numRuns: 2_000 },
  );
});
