import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aBegin, aDecision, claimRun, givenGatedRun, makeWorld, type World } from "../testing/fixtures.ts";
import { callRow } from "../testing/rows.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { decideApproval, type DecideApproval } from "./decide-approval.ts";
import { delegateSay, type DelegateSay } from "./delegate-say.ts";
import { revokeDelegation } from "./revoke-delegation.ts";

const { sql, elsewhere } = await engineDatabase();

const delegable = { approvers: { delegation: "allow" } };

async function decide(decision: DecideApproval) {
  return await commitWithin(sql, decideApproval, decision);
}

function aDelegation(world: World, over: Partial<DelegateSay> = {}): DelegateSay {
  return {
    delegationId: uuidv7(),
    workspaceId: world.workspaceId,
    fromUser: world.approver,
    toUser: world.viewer,
    until: new Date(Date.now() + 3_600_000),
    way: "token:x over http",
    ...over,
  };
}

test("a delegate decides on the say of who gave it, and approval and audit name both", async () => {
  const world = await makeWorld(sql, delegable);
  const given = await givenGatedRun(sql, world);
  const asDelegate = aDecision(world, given, { userId: world.viewer });
  expect(await decide(asDelegate)).toMatchObject({ kind: "forbidden" });
  const delegation = aDelegation(world);
  expect(await delegateSay(sql, delegation)).toBe("delegated");
  expect(await decide(asDelegate)).toMatchObject({ kind: "decided", decidedBy: "Vic Viewer" });
  const [row] = await sql`select decided_by, decided_for from approvals where id = ${given.approvalId}`;
  expect(row).toEqual({ decided_by: world.viewer, decided_for: world.approver });
  const audit =
    await sql`select action, actor, details from audit where workspace_id = ${world.workspaceId} order by id`;
  expect(audit).toMatchObject([
    { action: "approval.decision_refused" },
    { action: "say.delegated", actor: `user:${world.approver}`, details: { to: world.viewer } },
    { action: "approval.decided", actor: `user:${world.viewer}`, details: { sayOf: world.approver } },
  ]);
  await claimRun(sql, given.runId);
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing" });
});

test("a say for one approval is good for that one alone", async () => {
  const world = await makeWorld(sql, delegable);
  const one = await givenGatedRun(sql, world);
  const other = await givenGatedRun(sql, world);
  await delegateSay(sql, aDelegation(world, { approvalId: one.approvalId }));
  expect(await decide(aDecision(world, other, { userId: world.viewer }))).toMatchObject({ kind: "forbidden" });
  expect(await decide(aDecision(world, one, { userId: world.viewer }))).toMatchObject({ kind: "decided" });
});

describe("a delegate decides nothing", () => {
  const cases: readonly (readonly [string, object, (world: World, delegation: DelegateSay) => Promise<unknown>])[] = [
    ["where the definition does not let say be handed over", {}, async () => undefined],
    [
      "once the delegation is over",
      delegable.approvers,
      (_world, { delegationId }) =>
        sql`update delegations set expires_at = clock_timestamp() - interval '1 second' where id = ${delegationId}`,
    ],
    [
      "once it was taken back",
      delegable.approvers,
      (world, { delegationId }) =>
        revokeDelegation(sql, { delegationId, workspaceId: world.workspaceId, userId: world.approver, way: "x" }),
    ],
    [
      "once who gave it has lost the role",
      delegable.approvers,
      (world) => sql`update users set role = 'operator' where id = ${world.approver}`,
    ],
    [
      "once who gave it is disabled",
      delegable.approvers,
      (world) => sql`update users set disabled_at = clock_timestamp() where id = ${world.approver}`,
    ],
    [
      "once they are disabled themselves",
      delegable.approvers,
      (world) => sql`update users set disabled_at = clock_timestamp() where id = ${world.viewer}`,
    ],
  ];
  test.each(cases)("%s", async (_when, approvers, then) => {
    const world = await makeWorld(sql, { approvers });
    const given = await givenGatedRun(sql, world);
    const delegation = aDelegation(world);
    await delegateSay(sql, delegation);
    await then(world, delegation);
    expect(await decide(aDecision(world, given, { userId: world.viewer }))).toMatchObject({ kind: "forbidden" });
  });

  test("on the say of one who started the run, where that is forbidden, nor for a run of their own", async () => {
    const world = await makeWorld(sql, { approvers: { delegation: "allow", selfApproval: "forbid" } });
    await delegateSay(sql, aDelegation(world));
    for (const starter of [world.approver, world.viewer]) {
      const given = await givenGatedRun(sql, { ...world, operator: starter });
      expect(await decide(aDecision(world, given, { userId: world.viewer }))).toMatchObject({ kind: "forbidden" });
    }
  });

  test("on a say that was handed to who gave it: it goes one step", async () => {
    const world = await makeWorld(sql, delegable);
    const given = await givenGatedRun(sql, world);
    await delegateSay(sql, aDelegation(world));
    await sql`insert into delegations (id, workspace_id, from_user, to_user, expires_at)
              values (${uuidv7()}, ${world.workspaceId}, ${world.viewer}, ${world.operator}, now() + interval '1 hour')`;
    expect(await decide(aDecision(world, given, { userId: world.operator }))).toMatchObject({ kind: "forbidden" });
  });
});

test("one say is one vote, whoever uses it: who gave it takes it back by voting", async () => {
  const world = await makeWorld(sql, { approvers: { quorum: 2, delegation: "allow" } });
  const given = await givenGatedRun(sql, world);
  await delegateSay(sql, aDelegation(world));
  expect(await decide(aDecision(world, given, { userId: world.viewer }))).toMatchObject({ kind: "voted", votes: 1 });
  expect(await decide(aDecision(world, given))).toMatchObject({ kind: "voted", votes: 1 });
  const votes = await sql`select user_id, say_of from votes where approval_id = ${given.approvalId}`;
  expect(votes).toEqual([{ user_id: world.approver, say_of: world.approver }]);
  expect(await decide(aDecision(world, given, { userId: world.otherApprover }))).toMatchObject({ kind: "decided" });
});

test("who voted on a say that was taken back votes anew on another, and is not told that it counts already", async () => {
  const world = await makeWorld(sql, { approvers: { quorum: 2, delegation: "allow" } });
  const given = await givenGatedRun(sql, world);
  const first = aDelegation(world);
  await delegateSay(sql, first);
  const delegate = { userId: world.viewer };
  expect(await decide(aDecision(world, given, delegate))).toMatchObject({ kind: "voted", votes: 1 });
  const { delegationId, workspaceId } = first;
  await revokeDelegation(sql, { delegationId, workspaceId, userId: world.approver, way: "token:x over http" });
  await delegateSay(sql, aDelegation(world, { fromUser: world.otherApprover }));
  expect(await decide(aDecision(world, given, delegate))).toMatchObject({ kind: "voted", votes: 1 });
  expect(await decide(aDecision(world, given))).toMatchObject({ kind: "decided", votes: 2 });
});

test("one person is one vote, also with a say of their own and another's", async () => {
  const world = await makeWorld(sql, { approvers: { quorum: 2, delegation: "allow" } });
  const given = await givenGatedRun(sql, world);
  await delegateSay(sql, aDelegation(world, { toUser: world.otherApprover }));
  const other = { userId: world.otherApprover };
  expect(await decide(aDecision(world, given, other))).toMatchObject({ kind: "voted", votes: 1 });
  expect(await decide(aDecision(world, given, other))).toMatchObject({ kind: "repeated", votes: 1 });
});

test("a say that is taken back before the call begins takes the approval with it; one that ran out does not", async () => {
  const world = await makeWorld(sql, delegable);
  for (const [end, kind] of [
    ["expires_at = clock_timestamp()", "begun"],
    ["revoked_at = clock_timestamp()", "not_approved"],
  ] as const) {
    const given = await givenGatedRun(sql, world);
    const delegation = aDelegation(world);
    await delegateSay(sql, delegation);
    await decide(aDecision(world, given, { userId: world.viewer }));
    await sql.unsafe(`update delegations set ${end} where id = '${delegation.delegationId}'`);
    await sql`update policies set version = version + 1 where scope_id = ${world.workspaceId}`;
    const hold = await claimRun(sql, given.runId);
    const begin = aBegin(
      { callId: given.callId, hold },
      { tool: "mail.send", needsApproval: true, policyVersions: hold.snapshot.policyVersions },
    );
    expect(await commitWithin(sql, beginCall, begin)).toMatchObject({ kind });
  }
});

test("no rule is left behind on another's say", async () => {
  const world = await makeWorld(sql, delegable);
  const given = await givenGatedRun(sql, world);
  await delegateSay(sql, aDelegation(world));
  const remember = { ruleId: uuidv7(), scope: "run" } as const;
  expect(await decide(aDecision(world, given, { userId: world.viewer, remember }))).toMatchObject({
    kind: "may_not_remember",
  });
  expect(await decide(aDecision(world, given, { userId: world.viewer }))).toMatchObject({ kind: "decided" });
});

describe("handing over is refused, and writes nothing", () => {
  test("to nobody, to a stranger, to a program, to oneself, for a time that is over, by who decides nothing", async () => {
    const world = await makeWorld(sql, delegable);
    const neighbor = await makeWorld(sql, delegable);
    const program = uuidv7();
    await sql`insert into users (id, workspace_id, name, role, is_service) values (${program}, ${world.workspaceId}, 'Sync', 'viewer', true)`;
    const settled = await givenGatedRun(sql, world);
    await decide(aDecision(world, settled));
    const strict = await makeWorld(sql);
    const kept = await givenGatedRun(sql, strict);
    const before = await allRows(sql);
    const refused: readonly (readonly [DelegateSay, string])[] = [
      [aDelegation(world, { toUser: uuidv7() }), "unknown_person"],
      [aDelegation(world, { toUser: neighbor.viewer }), "unknown_person"],
      [aDelegation(world, { toUser: program }), "unknown_person"],
      [aDelegation(world, { toUser: world.approver }), "to_oneself"],
      [aDelegation(world, { until: new Date(Date.now() - 1_000) }), "over_already"],
      [aDelegation(world, { fromUser: world.operator }), "forbidden"],
      [aDelegation(world, { fromUser: neighbor.approver }), "forbidden"],
      [aDelegation(world, { approvalId: uuidv7() }), "not_found"],
      [aDelegation(neighbor, { approvalId: settled.approvalId }), "not_found"],
      [aDelegation(world, { approvalId: settled.approvalId }), "settled"],
      [aDelegation(strict, { approvalId: kept.approvalId }), "not_delegable"],
    ];
    for (const [asked, outcome] of refused) expect({ outcome: await delegateSay(sql, asked) }).toEqual({ outcome });
    expect(await allRows(sql)).toBe(before);
  });

  test("and so is taking back what is another's, nobody's, or over", async () => {
    const world = await makeWorld(sql, delegable);
    const neighbor = await makeWorld(sql);
    const delegation = aDelegation(world);
    await delegateSay(sql, delegation);
    const { delegationId } = delegation;
    const revoke = (userId: string, workspaceId = world.workspaceId) =>
      revokeDelegation(sql, { delegationId, workspaceId, userId, way: "x" });
    const before = await allRows(sql);
    expect(await revoke(world.otherApprover)).toBe("forbidden");
    expect(await revoke(neighbor.admin, neighbor.workspaceId)).toBe("not_found");
    expect(await revoke(neighbor.admin)).toBe("forbidden");
    expect(await allRows(sql)).toBe(before);
    expect(await revoke(world.admin)).toBe("revoked");
    const [audited] =
      await sql`select details from audit where action = 'say.taken_back' and subject = ${delegationId}`;
    expect(audited?.["details"]).toEqual({ from: world.approver, to: world.viewer, way: "x" });
    expect(await revoke(world.approver)).toBe("over_already");
  });
});

test("of two who take it back at once, one does", async () => {
  const world = await makeWorld(sql, delegable);
  const delegation = aDelegation(world);
  await delegateSay(sql, delegation);
  const { delegationId } = delegation;
  const asked = { delegationId, workspaceId: world.workspaceId, way: "x" };
  const outcomes = await Promise.all([
    revokeDelegation(sql, { ...asked, userId: world.approver }),
    revokeDelegation(elsewhere, { ...asked, userId: world.admin }),
  ]);
  expect(outcomes.toSorted()).toEqual(["over_already", "revoked"]);
});

test("DU05: handing over and taking back that fail at any write leave nothing", async () => {
  const world = await makeWorld(sql, delegable);
  const delegation = aDelegation(world);
  const given = await failAtEveryWrite(sql, (on) => delegateSay(on, delegation));
  expect(given).toEqual({ outcome: "delegated", written: ["delegations", "audit"] });
  const { delegationId } = delegation;
  const taken = await failAtEveryWrite(sql, (on) =>
    revokeDelegation(on, { delegationId, workspaceId: world.workspaceId, userId: world.approver, way: "x" }),
  );
  expect(taken).toEqual({ outcome: "revoked", written: ["delegations", "audit"] });
});
