import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { meetsSecondLook } from "./second-look.ts";
import { makeCall, makePolicy, now } from "./testing/make-call.ts";
import type { Policy, Verdict } from "./types.ts";

const approved = { approved: true, shownReasons: [] };
const notApproved = { approved: false, shownReasons: [] };
const policyAll: Partial<Policy> = { layers: { run: { approvalPolicy: { level: "all" } } } };

describe("meetsSecondLook", () => {
  test("allow passes, approved or not", () => {
    const verdict = decide(makeCall({ tier: "read" }), makePolicy(), now);
    expect(meetsSecondLook(verdict, notApproved)).toBe(true);
  });

  test.each(["ask", "pick"] as const)("%s is met by the approval of the call alone", (asked) => {
    const verdict: Verdict = { verdict: asked, row: "9", reason: "x", floorReasons: [] };
    expect(meetsSecondLook(verdict, approved)).toBe(true);
    expect(meetsSecondLook(verdict, notApproved)).toBe(false);
  });

  test("a newer policy that asks for another reason below the floors is met", () => {
    const verdict = decide(makeCall({ needsApproval: true }), makePolicy(), now);
    expect(meetsSecondLook(verdict, { approved: true, shownReasons: ["policy_all"] })).toBe(true);
  });

  test("a reason of rows 10 to 14 that the card did not show is not met", () => {
    const verdict = decide(makeCall(), makePolicy(policyAll), now);
    expect(meetsSecondLook(verdict, approved)).toBe(false);
    expect(meetsSecondLook(verdict, { approved: true, shownReasons: ["policy_all"] })).toBe(true);
  });

  test("a new reason counts even where an earlier row hides it", () => {
    const verdict = decide(makeCall({ alwaysGate: true }), makePolicy(policyAll), now);
    expect(verdict.reason).toBe("always_gate");
    expect(meetsSecondLook(verdict, { approved: true, shownReasons: ["always_gate"] })).toBe(false);
    const shownReasons = ["always_gate", "policy_all"];
    expect(meetsSecondLook(verdict, { approved: true, shownReasons })).toBe(true);
  });

  test.each([
    ["a denial", { toolset: new Set<string>() }, '{"a":"x"}'],
    ["a killed tool", { kills: [{ scope: "tool", name: "demo" }] as const }, '{"a":"x"}'],
    ["a held run", { kills: [{ scope: "run" }] as const }, '{"a":"x"}'],
    ["invalid arguments", {}, "{}"],
  ])("%s is never met", (_what, policy, argsText) => {
    const verdict = decide(makeCall({}, argsText), makePolicy(policy), now);
    expect(meetsSecondLook(verdict, approved)).toBe(false);
  });

  test("an option picked before everybody left still counts", () => {
    const picker = makeCall({ options: () => [{ id: "a", label: "A" }] });
    const verdict = decide(picker, makePolicy({ unattended: "deny", canAnybodyAnswer: false }), now);
    expect(verdict).toMatchObject({ verdict: "deny", row: "9" });
    expect(meetsSecondLook(verdict, approved)).toBe(true);
    expect(meetsSecondLook(verdict, notApproved)).toBe(false);
  });

  test("a pick shows and needs every reason that holds under any policy, too", () => {
    const picker = makeCall({
      options: () => [{ id: "a", label: "A" }],
      alwaysGate: true,
      safety: () => "outside_root",
    });
    const verdict = decide(picker, makePolicy(), now);
    expect(verdict).toMatchObject({ verdict: "pick", floorReasons: ["always_gate", "safety:outside_root"] });
    expect(meetsSecondLook(verdict, { approved: true, shownReasons: ["always_gate"] })).toBe(false);
  });

  test("a softened denial must have been shown", () => {
    const units = () => [{ text: "sudo ls", denylisted: [{ name: "sudo", reason: "becomes root" }] }];
    const verdict = decide(makeCall({ units }), makePolicy({ denylistSoftened: new Set(["sudo"]) }), now);
    expect(meetsSecondLook(verdict, approved)).toBe(false);
    expect(meetsSecondLook(verdict, { approved: true, shownReasons: ["denylist:sudo"] })).toBe(true);
  });

  test("a changed definition is a new reason", () => {
    const call = { ...makeCall({ tier: "read" }), definitionHash: "h2" };
    const verdict = decide(call, makePolicy({ pins: new Map([["demo", "h1"]]) }), now);
    expect(meetsSecondLook(verdict, approved)).toBe(false);
  });

  test("an approval given before everybody left still counts", () => {
    const nobody: Partial<Policy> = { unattended: "deny", canAnybodyAnswer: false };
    const verdict = decide(makeCall(), makePolicy(nobody), now);
    expect(verdict.reason).toBe("no_approver");
    expect(meetsSecondLook(verdict, approved)).toBe(true);
    expect(meetsSecondLook(verdict, notApproved)).toBe(false);
    const stricter = decide(makeCall(), makePolicy({ ...nobody, ...policyAll }), now);
    expect(meetsSecondLook(stricter, approved)).toBe(false);
  });
});
