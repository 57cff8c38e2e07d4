import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type ApprovalNeed, approvalNeedOf, riskOf, tierOf } from "./risk.ts";
import { makeTool } from "./testing/make-call.ts";
import type { Risk, Tier, ToolFacts } from "./types.ts";

function throwing(): never {
  throw new Error("broken tool");
}

/** What a tool written without types might answer. */
function odd(value: unknown): () => never {
  return () => value as never;
}

const risksOf: readonly (readonly [Partial<ToolFacts>, Tier, Risk])[] = [
  [{}, "exec", "unknown"],
  [{ tier: "read" }, "read", "read-only"],
  [{ tier: "write" }, "write", "high"],
  [{ tier: "exec" }, "exec", "unknown"],
  [{ tier: "read", risk: "high" }, "read", "high"],
  [{ risk: "low" }, "exec", "low"],
  [{ tier: () => "read" }, "read", "read-only"],
  [{ tier: "read", risk: () => "low" }, "read", "low"],
  [{ tier: throwing }, "exec", "unknown"],
  [{ tier: "read", risk: throwing }, "read", "unknown"],
  [{ tier: odd("admin") }, "exec", "unknown"],
  [{ tier: "read", risk: odd(undefined) }, "read", "unknown"],
  [{ tier: odd("constructor"), risk: odd("toString") }, "exec", "unknown"],
];

describe("tier and risk", () => {
  test.each(risksOf)("of a tool with %o are %s and %s", (facts, tier, risk) => {
    const tool = makeTool(facts);
    expect(tierOf(tool, {})).toBe(tier);
    expect(riskOf(tool, tier, {})).toBe(risk);
  });

  test("may follow from the arguments", () => {
    const tool = makeTool({ tier: (args) => (args === 1 ? "read" : "write") });
    expect([tierOf(tool, 1), tierOf(tool, 2)]).toEqual(["read", "write"]);
  });
});

const needs: readonly (readonly [Partial<ToolFacts>, ApprovalNeed])[] = [
  [{}, "absent"],
  [{ needsApproval: true }, "yes"],
  [{ needsApproval: false }, "no"],
  [{ needsApproval: () => true }, "yes"],
  [{ needsApproval: () => false }, "no"],
  [{ needsApproval: throwing }, "error"],
  [{ needsApproval: odd(undefined) }, "error"],
  [{ needsApproval: odd(Promise.resolve(false)) }, "error"],
  [{ needsApproval: odd(0) }, "error"],
];

describe("approvalNeedOf", () => {
  test.each(needs)("of a tool with %o is %s", (facts, need) => {
    expect(approvalNeedOf(makeTool(facts), {})).toBe(need);
  });
});

test("a tool whose functions take its own argument type gives its facts as it stands", () => {
  const schema = z.object({ url: z.string() });
  interface TypedTool {
    name: string;
    description: string;
    schema: typeof schema;
    tier: Tier | ((args: z.infer<typeof schema>) => Tier);
    units(args: z.infer<typeof schema>): string[];
  }
  const typed: TypedTool = {
    ...makeTool(),
    schema,
    tier: (args) => (args.url.startsWith("file:") ? "read" : "exec"),
    units: (args) => [args.url],
  };
  const facts: ToolFacts = typed;
  expect(tierOf(facts, { url: "file:///a" })).toBe("read");
});
