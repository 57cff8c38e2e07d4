import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aDecision,
  claimRun,
  givenApprovedRun,
  givenGatedRun,
  givenUnknownCall,
  makeWorld,
} from "../testing/fixtures.ts";
import { callRow, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { decideApproval } from "./decide-approval.ts";
import { supersedeApproval, type SupersedeApproval } from "./supersede-approval.ts";

const { sql, elsewhere } = await engineDatabase();

function aChange(
  asked: { runId: string; approvalId: string },
  next: SupersedeApproval["next"],
  over: Partial<SupersedeApproval> = {},
): SupersedeApproval {
  return {
    runId: asked.runId,
    approvalId: asked.approvalId,
    seenVersions: "1.1.1.0",
    policyVersions: "1.2.1.0",
    gateRow: "16",
    gateReason: "rule:changed",
    next,
    ...over,
  };
}

const allow = { kind: "allow" } as const;
const keep = { kind: "keep" } as const;
const deny = { kind: "deny", result: '"policy denies it"', code: "policy_denied" } as const;

function ask() {
  const card = { taskId: uuidv7(), title: "Really?", body: '{"more":true}' };
  return { kind: "ask", approvalId: uuidv7(), card, expiresMs: 60_000 } as const;
}

async function approvalOf(approvalId: string) {
  const [row] = await sql`
    select a.status, a.settled_reason, a.policy_versions, a.version, t.status as card, t.resolved_by
      from approvals a join tasks t on t.id = a.task_id where a.id = ${approvalId}`;
  return row;
}

test("a call that newer policy allows goes on, and its card closes", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  expect(await commitWithin(sql, supersedeApproval, aChange(given, allow))).toEqual({ kind: "superseded" });
  expect(await approvalOf(given.approvalId)).toMatchObject({
    status: "superseded",
    settled_reason: "rule:changed",
    version: 2,
    card: "canceled",
    resolved_by: "system:policy",
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", waits_on: null, approval_id: null });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true });
  const hold = await claimRun(sql, given.runId);
  expect(hold.snapshot.calls).toMatchObject([{ status: "requested", attempt: 0, approval: null }]);
});

test("a call that newer policy denies is denied, with the reason as its result", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  await commitWithin(sql, supersedeApproval, aChange(given, deny));
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: "denied",
    result: '"policy denies it"',
    result_code: "policy_denied",
  });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true });
});

test("a call that newer policy asks about otherwise has a new approval and card, and the run stays paused", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const next = ask();
  await commitWithin(sql, supersedeApproval, aChange(given, next));
  expect(await approvalOf(given.approvalId)).toMatchObject({ status: "superseded", card: "canceled" });
  expect(await approvalOf(next.approvalId)).toMatchObject({
    status: "pending",
    policy_versions: "1.2.1.0",
    card: "open",
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "waiting", approval_id: next.approvalId });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", waits_on: "approval" });
  expect(await commitWithin(sql, decideApproval, aDecision(world, given))).toMatchObject({
    kind: "settled",
    status: "superseded",
  });
  expect(
    await commitWithin(sql, decideApproval, aDecision(world, { runId: given.runId, approvalId: next.approvalId })),
  ).toMatchObject({ kind: "decided" });
});

test("an approval that would be asked just the same only notes the newer versions", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  expect(await commitWithin(sql, supersedeApproval, aChange(given, keep))).toEqual({ kind: "kept" });
  expect(await approvalOf(given.approvalId)).toMatchObject({
    status: "pending",
    policy_versions: "1.2.1.0",
    version: 1,
    card: "open",
  });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", is_ready: false });
});

describe("a change is refused and changes nothing", () => {
  test("where somebody else judged the approval meanwhile", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const before = await allRows(sql);
    for (const next of [allow, deny, keep, ask()])
      expect(await commitWithin(sql, supersedeApproval, aChange(given, next, { seenVersions: "1.0.1.0" }))).toEqual({
        kind: "settled",
      });
    expect(await allRows(sql)).toBe(before);
  });

  test("where the approval is decided", async () => {
    const world = await makeWorld(sql);
    const given = await givenApprovedRun(sql, world);
    const before = await allRows(sql);
    for (const next of [allow, deny, keep, ask()])
      expect(await commitWithin(sql, supersedeApproval, aChange(given, next))).toEqual({ kind: "settled" });
    expect(await allRows(sql)).toBe(before);
  });

  test("AZ36: where the approval asks what became of an effect: policy answers no such question", async () => {
    const world = await makeWorld(sql);
    const given = await givenUnknownCall(sql, world);
    const before = await allRows(sql);
    for (const next of [allow, deny, keep, ask()])
      expect(await commitWithin(sql, supersedeApproval, aChange(given, next))).toEqual({ kind: "settled" });
    expect(await allRows(sql)).toBe(before);
  });

  test("DU27: where it was made before", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const change = aChange(given, ask());
    await commitWithin(sql, supersedeApproval, change);
    const before = await allRows(sql);
    expect(await commitWithin(sql, supersedeApproval, change)).toEqual({ kind: "settled" });
    expect(await allRows(sql)).toBe(before);
  });
});

test("of a decision and a change of policy behind one lock, one settles the approval", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, supersedeApproval, aChange(given, deny)),
      () => commitWithin(elsewhere, decideApproval, aDecision(world, given)),
    ],
  });
  expect([
    ["superseded", "settled"],
    ["settled", "decided"],
  ]).toContainEqual(waiting.map((outcome) => outcome.kind));
});

test.each(["allow", "deny", "ask", "keep"] as const)(
  "DU05: a change to %s that fails at any write leaves the approval pending",
  async (kind) => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const next = { allow, deny, keep, ask: ask() }[kind];
    const { outcome, written } = await failAtEveryWrite(sql, (on) =>
      commitWithin(on, supersedeApproval, aChange(given, next)),
    );
    expect(outcome.kind).toBe(kind === "keep" ? "kept" : "superseded");
    // The policy it was judged under is none that ever was, so a new question is judged once more.
    const told = kind === "ask" ? ["policy_changes"] : [];
    expect(written).toEqual(
      kind === "keep" ? ["approvals"] : ["approvals", "tasks", "tool_calls", ...told, "run_log", "runs"],
    );
  },
);
