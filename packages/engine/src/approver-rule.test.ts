import { expect, test } from "vitest";
import { approverRule, problemsOfApprovers } from "./approver-rule.ts";
import { readSnapshot } from "./run-snapshot.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";

const { sql } = await engineDatabase();

const minute = 60_000;
const user = "0190a0a0-0000-7000-8000-000000000001";

function problems(rule: object, expiresMs?: number): string[] {
  return problemsOfApprovers(approverRule.parse(rule), expiresMs);
}

test("a rule without anything is one approver, their own run or not, whose say is theirs alone", () => {
  expect(approverRule.parse({})).toEqual({ quorum: 1, selfApproval: "allow", delegation: "forbid" });
});

test("a rule that can work has no problems", () => {
  expect(problems({})).toEqual([]);
  expect(problems({ roles: ["admin"], quorum: 2 })).toEqual([]);
  const timed = { remindBeforeMs: minute, escalation: { afterMs: 9 * minute, to: { roles: ["admin"] } } };
  expect(problems(timed, 10 * minute)).toEqual([]);
  expect(problems({ escalation: { afterMs: minute, to: { users: [user] } } })).toEqual([]);
});

test.each<[string, object, number | undefined, string]>([
  ["nobody is named", { roles: [] }, undefined, "name nobody"],
  ["more must approve than are named", { users: [user], quorum: 2 }, undefined, "2 of 1 users"],
  ["a reminder has no expiry to come before", { remindBeforeMs: minute }, undefined, "do not expire"],
  ["a reminder comes before the request", { remindBeforeMs: 2 * minute }, minute, "longer than approvals wait"],
  [
    "an escalation comes after the expiry",
    { escalation: { afterMs: minute, to: { roles: ["admin"] } } },
    minute,
    "after approvals have expired",
  ],
  [
    "an escalation comes before the reminder",
    { remindBeforeMs: minute, escalation: { afterMs: minute, to: { roles: ["admin"] } } },
    9 * minute,
    "before the reminder",
  ],
  ["an escalation goes to nobody", { escalation: { afterMs: minute, to: {} } }, undefined, "names nobody"],
])("it is told that %s", (_what, rule, expiresMs, problem) => {
  expect(problems(rule, expiresMs).join("; ")).toContain(problem);
});

test.each([
  { roles: ["owner"] },
  { users: ["Abe"] },
  { quorum: 0 },
  { selfApproval: true },
  { everybody: true },
  { escalation: { to: { roles: ["admin"] } } },
])("%j is no rule", (rule) => {
  expect(approverRule.safeParse(rule).success).toBe(false);
});

test("whether anybody can decide follows the rule: enough people, those of the escalation too, not whoever started it", async () => {
  const world = await makeWorld(sql);
  const canAnybody = async (approvers: object, startedBy = world.operator) => {
    await sql`update definition_versions set spec = ${JSON.stringify({ approvers })}::text::json where definition_id = ${world.definitionId}`;
    return (await readSnapshot(sql, await givenRun(sql, world, { startedBy }))).canAnybodyAnswer;
  };
  expect(await canAnybody({})).toBe(true);
  expect(await canAnybody({ quorum: 3 })).toBe(true);
  expect(await canAnybody({ quorum: 4 })).toBe(false);
  expect(await canAnybody({ roles: ["admin"] })).toBe(true);
  expect(await canAnybody({ roles: ["admin"], selfApproval: "forbid" }, world.admin)).toBe(false);
  expect(await canAnybody({ users: [user] })).toBe(false);
  expect(await canAnybody({ users: [user], escalation: { afterMs: 1, to: { users: [world.viewer] } } })).toBe(true);
  await sql`update users set disabled_at = clock_timestamp() where id = ${world.viewer}`;
  expect(await canAnybody({ users: [world.viewer] })).toBe(false);
});
