import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aBegin, aDecision, claimRun, givenGatedRun, givenUnknownCall, makeWorld } from "../testing/fixtures.ts";
import { callRow, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { decideApproval, type DecideApproval } from "./decide-approval.ts";

const { sql, elsewhere } = await engineDatabase();

const two = { approvers: { quorum: 2 } };

async function decide(decision: DecideApproval) {
  return await commitWithin(sql, decideApproval, decision);
}

async function votesOf(approvalId: string) {
  return await sql`select user_id, say_of, answer from votes where approval_id = ${approvalId} order by voted_at`;
}

describe("a quorum of two", () => {
  test("the first approval is a vote: a row, a line and an audit row, while the run waits and the version stays", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    expect(await decide(aDecision(world, given, { note: "fine", feedback: "go on" }))).toMatchObject({
      kind: "voted",
      status: "pending",
      version: 1,
      votes: 1,
      quorum: 2,
    });
    expect(await votesOf(given.approvalId)).toEqual([
      { user_id: world.approver, say_of: world.approver, answer: "approve" },
    ]);
    expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", waits_on: "approval", is_ready: false });
    const audit = await sql`select action, details from audit where subject = ${given.approvalId}`;
    expect(audit).toMatchObject([{ action: "approval.voted", details: { votes: 1, quorum: 2 } }]);
  });

  test("the second, of another person and on the same version, approves, and the call may run", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given));
    expect(await decide(aDecision(world, given, { userId: world.otherApprover }))).toMatchObject({
      kind: "decided",
      status: "approved",
      decidedBy: "Ann Approver",
      votes: 2,
    });
    await claimRun(sql, given.runId);
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing" });
  });

  test("the same person is counted once, and told the same again", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given));
    const before = await allRows(sql);
    for (let again = 1; again <= 2; again += 1)
      expect(await decide(aDecision(world, given))).toMatchObject({ kind: "repeated", status: "pending", votes: 1 });
    expect(await allRows(sql)).toBe(before);
    await decide(aDecision(world, given, { userId: world.admin }));
    expect(await decide(aDecision(world, given))).toMatchObject({ kind: "repeated", status: "approved" });
  });

  test("the first denial settles, also of somebody who had voted for it", async () => {
    const world = await makeWorld(sql, two);
    for (const userId of [world.approver, world.otherApprover]) {
      const given = await givenGatedRun(sql, world);
      await decide(aDecision(world, given));
      expect(await decide(aDecision(world, given, { userId, answer: "deny" }))).toMatchObject({
        kind: "decided",
        status: "denied",
      });
      expect(await callRow(sql, given.callId)).toMatchObject({ status: "denied", result_code: "user_denied" });
      // Who had voted otherwise is told how it stands.
      const late = userId === world.approver ? world.otherApprover : world.approver;
      expect(await decide(aDecision(world, given, { userId: late }))).toMatchObject({
        kind: "settled",
        answer: "deny",
      });
    }
  });

  test("an approver who loses the role between vote and decision is counted no more", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given));
    await sql`update users set role = 'viewer' where id = ${world.approver}`;
    expect(await decide(aDecision(world, given, { userId: world.otherApprover }))).toMatchObject({
      kind: "voted",
      votes: 1,
    });
    expect(await decide(aDecision(world, given, { userId: world.admin }))).toMatchObject({ kind: "decided", votes: 2 });
  });

  test("one who loses it between decision and start takes the approval with them: nothing starts", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given));
    await decide(aDecision(world, given, { userId: world.otherApprover }));
    await sql`update users set disabled_at = clock_timestamp() where id = ${world.approver}`;
    const hold = await claimRun(sql, given.runId);
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", attempt: 0 });
    const begin = aBegin({ callId: given.callId, hold }, { tool: "mail.send", needsApproval: true });
    expect(await commitWithin(sql, beginCall, begin)).toMatchObject({ kind: "not_approved" });
    await sql`update users set disabled_at = null where id = ${world.approver}`;
    expect(await commitWithin(sql, beginCall, begin)).toMatchObject({ kind: "begun" });
  });

  test("votes for different things do not add up: arguments, options and rules are what was voted for", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    await decide(aDecision(world, given, { edited: { args: '{"to":"ann"}', argsHash: "hash of ann" } }));
    const other = { userId: world.otherApprover };
    expect(await decide(aDecision(world, given, other))).toMatchObject({ kind: "voted", votes: 1 });
    expect(
      await decide(aDecision(world, given, { ...other, edited: { args: '{"to":"ann"}', argsHash: "hash of ann" } })),
    ).toMatchObject({ kind: "decided", votes: 2 });
    const [row] = await sql`select edited_args, edited_args_hash from approvals where id = ${given.approvalId}`;
    expect(row).toEqual({ edited_args: '{"to":"ann"}', edited_args_hash: "hash of ann" });
  });

  test("running an unknown effect again needs it too; saying what became of it does not", async () => {
    const world = await makeWorld(sql, two);
    const again = await givenUnknownCall(sql, world);
    expect(await decide(aDecision(world, again, { answer: "retry" }))).toMatchObject({ kind: "voted" });
    expect(await decide(aDecision(world, again, { answer: "retry", userId: world.admin }))).toMatchObject({
      kind: "decided",
    });
    const done = await givenUnknownCall(sql, world);
    expect(await decide(aDecision(world, done, { answer: "done" }))).toMatchObject({ kind: "decided" });
  });

  test("DU19: of two votes behind one lock both count, and one of them decides", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    const { waiting } = await behindLock(sql, given.runId, {
      first: async () => {},
      waiting: [
        () => commitWithin(sql, decideApproval, aDecision(world, given)),
        () => commitWithin(elsewhere, decideApproval, aDecision(world, given, { userId: world.otherApprover })),
      ],
    });
    expect(waiting.map(({ kind }) => kind).toSorted()).toEqual(["decided", "voted"]);
  });

  test("DU05: a vote that fails at any write leaves nothing, nor does the one that decides", async () => {
    const world = await makeWorld(sql, two);
    const given = await givenGatedRun(sql, world);
    const vote = await failAtEveryWrite(sql, (on) => commitWithin(on, decideApproval, aDecision(world, given)));
    expect(vote).toMatchObject({ outcome: { kind: "voted" }, written: ["votes", "run_log", "audit", "runs"] });
    const last = await failAtEveryWrite(sql, (on) =>
      commitWithin(on, decideApproval, aDecision(world, given, { userId: world.otherApprover })),
    );
    expect(last).toMatchObject({
      outcome: { kind: "decided" },
      written: ["votes", "approvals", "tasks", "tool_calls", "run_log", "audit", "runs"],
    });
  });
});

test("AZ57: who started the run decides it under `allow`, and is not among its approvers under `forbid`", async () => {
  const allowed = await makeWorld(sql, { approvers: { selfApproval: "allow" } });
  const own = await givenGatedRun(sql, { ...allowed, operator: allowed.approver });
  expect(await decide(aDecision(allowed, own))).toMatchObject({ kind: "decided" });

  const world = await makeWorld(sql, { approvers: { selfApproval: "forbid" } });
  for (const answer of ["approve", "deny"] as const) {
    const given = await givenGatedRun(sql, { ...world, operator: world.approver });
    expect(await decide(aDecision(world, given, { answer }))).toMatchObject({ kind: "forbidden" });
    expect(await decide(aDecision(world, given, { answer, userId: world.otherApprover }))).toMatchObject({
      kind: "decided",
    });
    expect(await decide(aDecision(world, given, { answer }))).toMatchObject({ kind: "forbidden" });
  }
});

test("a rule that names people or roles means those alone", async () => {
  const world = await makeWorld(sql);
  const rules: readonly (readonly [object, readonly string[]])[] = [
    [{ roles: ["admin"] }, [world.admin]],
    [{ users: [world.viewer] }, [world.viewer]],
    [{ roles: ["operator"], users: [world.approver] }, [world.operator, world.approver]],
    [{}, [world.approver, world.otherApprover, world.admin]],
  ];
  const everybody = [world.admin, world.approver, world.otherApprover, world.operator, world.viewer];
  for (const [approvers, those] of rules) {
    await sql`update definition_versions set spec = ${JSON.stringify({ approvers })}::text::json where definition_id = ${world.definitionId}`;
    for (const userId of everybody) {
      const given = await givenGatedRun(sql, world);
      const { kind } = await decide(aDecision(world, given, { userId, answer: "deny" }));
      expect({ approvers, userId, kind }).toEqual({
        approvers,
        userId,
        kind: those.includes(userId) ? "decided" : "forbidden",
      });
    }
  }
});

test("an approval keeps the rule it was asked under, whatever later versions of the definition say", async () => {
  const world = await makeWorld(sql, { approvers: { roles: ["admin"] } });
  const given = await givenGatedRun(sql, world);
  await sql`update definition_versions set spec = '{}' where definition_id = ${world.definitionId}`;
  expect(await decide(aDecision(world, given))).toMatchObject({ kind: "forbidden" });
  expect(await decide(aDecision(world, given, { userId: world.admin }))).toMatchObject({ kind: "decided" });
});
