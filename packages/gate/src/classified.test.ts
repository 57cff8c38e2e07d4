import { describe, expect, test } from "vitest";
import { hashArguments } from "./canonical.ts";
import { decide } from "./decide.ts";
import type { Dial, LayerPolicy } from "./rule.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { Classified, Policy, ToolFacts } from "./types.ts";

const argsHash = hashArguments('{"a":"x"}');

function judge(
  level: Classified["level"] | undefined,
  layer: LayerPolicy = {},
  tool: Partial<ToolFacts> = {},
  more: Partial<Policy> = {},
) {
  const call = makeCall(tool);
  const classified = level && { level, argsHash };
  return decide(classified ? { ...call, classified } : call, makePolicy({ layers: { run: layer }, ...more }), now);
}

const dial = (level: Dial["level"]): LayerPolicy => ({ dial: { level } });

describe("row 22", () => {
  test.each([
    ["read-only", {}, "22", "classified:read-only"],
    ["low", {}, "24", "above_dial:low"],
    ["low", dial("low"), "22", "classified:low"],
    ["read-only", dial("low"), "22", "classified:read-only"],
    ["low", dial("read-only"), "24", "above_dial:low"],
    ["high", dial("low"), "24", "above_dial:high"],
    ["low", dial("high"), "22", "classified:low"],
    ["high", dial("high"), "23", "yolo@run"],
  ] as const)("what is %s under %o: row %s, %s", (level, layer, row, reason) => {
    expect(judge(level, layer)).toMatchObject({ row, reason });
    expect(judge(level, layer)).not.toHaveProperty("classify");
  });

  test.each([
    ["of known risk", { risk: "high" }, {}],
    ["under a dial of tiers", {}, dial("read")],
    ["under a dial of tiers", {}, dial("write")],
    ["that needs approval", { needsApproval: true }, {}],
    ["that always asks", { alwaysGate: true }, {}],
    ["of a tool turned to ask", {}, { rules: [{ id: "r", target: { kind: "everything" }, mode: "ask" }] }],
  ] as const)("a call %s is not for the classifier", (_what, tool, layer) => {
    expect(judge(undefined, layer, tool)).not.toHaveProperty("classify");
    expect(judge("read-only", layer, tool).row).not.toBe("22");
  });

  test("without a stored answer it asks for one, also where nobody could approve", () => {
    expect(judge(undefined)).toMatchObject({ verdict: "ask", row: "24", reason: "above_dial:unknown", classify: true });
    expect(judge(undefined, {}, {}, { canAnybodyAnswer: false, unattended: "deny" })).toMatchObject({
      verdict: "deny",
      reason: "no_approver",
      classify: true,
    });
  });

  test("under yolo nobody asks the classifier", () => {
    expect(judge(undefined, dial("high"))).toMatchObject({ verdict: "allow", row: "23" });
  });

  test("an answer to other arguments counts for nothing", () => {
    const call = { ...makeCall({}, '{"a":"y"}'), classified: { level: "read-only", argsHash } as const };
    expect(decide(call, makePolicy(), now)).toMatchObject({ verdict: "ask", classify: true });
  });

  test("AZ67: a classifier that fails leaves the call asking, neither blocked nor allowed", () => {
    for (const layer of [{}, dial("read-only"), dial("low")]) {
      const verdict = judge("unavailable", layer);
      expect(verdict).toMatchObject({ verdict: "ask", row: "24", reason: "classifier_unavailable" });
      expect(verdict).not.toHaveProperty("classify");
    }
    expect(judge("unavailable", dial("high")).verdict).toBe("allow");
  });

  test("under a locked dial further out the answer must be within both", () => {
    const more: Partial<Policy> = {
      layers: { run: dial("high"), app: { dial: { level: "read-only", locked: true } } },
    };
    expect(judge(undefined, {}, {}, more)).toMatchObject({ verdict: "ask", classify: true });
    expect(judge("low", {}, {}, more)).toMatchObject({ verdict: "ask", reason: "above_dial:low" });
    expect(judge("read-only", {}, {}, more)).toMatchObject({ verdict: "allow", row: "22" });
  });
});
