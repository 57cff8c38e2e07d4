import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { explain } from "./explain.ts";
import { drawCase } from "./testing/draw.ts";
import { seededDraw } from "./testing/seeded-draw.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { ProposedCall } from "./types.ts";

const names = "1a 1b 2 3 4 4 5 6 7 8 9 7 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24";

describe("explain", () => {
  test("shows every row in order, with what each would say by itself", () => {
    const policy = makePolicy({ layers: { run: { approvalPolicy: { level: "all" } } } });
    const { rows, verdict } = explain(makeCall({ needsApproval: true, alwaysGate: true }), policy, now);
    expect(rows.map(({ row }) => row).join(" ")).toBe(names);
    expect(verdict).toMatchObject({ row: "10", reason: "always_gate" });
    expect(rows.filter(({ said }) => said !== undefined)).toEqual([
      { row: "10", said: { verdict: "ask", reason: "always_gate" }, isFirst: true },
      { row: "13", said: { verdict: "ask", reason: "policy_all" }, isFirst: false },
      { row: "24", said: { verdict: "ask", reason: "above_dial:unknown" }, isFirst: false },
    ]);
  });

  test("says in words what is wrong with arguments, and of the denylist that row alone that holds", () => {
    const { rows } = explain(makeCall({}, "nope"), makePolicy(), now);
    expect(rows.find(({ row }) => row === "2")?.said?.detail).toMatch(/JSON/);
    const units = () => [{ text: "sudo ls", denylisted: [{ name: "sudo", reason: "becomes another user" }] }];
    const saidBy7 = (denylistSoftened: ReadonlySet<string>) =>
      explain(makeCall({ units }), makePolicy({ denylistSoftened }), now)
        .rows.filter(({ row }) => row === "7")
        .map(({ said }) => said?.verdict);
    expect(saidBy7(new Set())).toEqual(["deny", undefined]);
    expect(saidBy7(new Set(["sudo"]))).toEqual([undefined, "ask"]);
  });

  test("gives the verdict that decide gives, from the first row that matches", () => {
    const draw = seededDraw(7);
    for (let round = 0; round < 3_000; round += 1) {
      const { call, policy } = drawCase(draw);
      const { verdict, rows } = explain(call, policy, now);
      expect(verdict).toEqual(decide(call, policy, now));
      const first = rows.find(({ isFirst }) => isFirst);
      expect(first).toBe(rows.find(({ said }) => said !== undefined));
      const asked = verdict.unasked ?? verdict;
      expect([first?.row, first?.said?.reason]).toEqual([asked.row, asked.reason]);
    }
  });

  test.each([
    ["a tool that nobody knows", { tool: undefined, name: "__proto__", argsText: "{}" }],
    ["arguments that are not JSON", makeCall({}, "nope")],
    ["arguments that do not fit", makeCall({}, "{}")],
  ] satisfies [string, ProposedCall][])("explains %s", (_what, call) => {
    expect(explain(call, makePolicy(), now).verdict).toEqual(decide(call, makePolicy(), now));
  });
});
