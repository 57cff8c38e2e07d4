import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aGatedCall,
  aTurn,
  claimRun,
  givenApprovedRun,
  givenGatedRun,
  givenRun,
  givenUnknownCall,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { callRow, endLease, moveDeadlines, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { cancelRun } from "./cancel-run.ts";
import { completeCall } from "./complete-call.ts";
import { type Answer, decideApproval, type DecideApproval } from "./decide-approval.ts";
import { expireWaits } from "./expire-waits.ts";
import { failRun } from "./fail-run.ts";
import { appScope, killScope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";
import { recordTurn } from "./record-turn.ts";
import { recoverRuns } from "./recover-runs.ts";

const { sql, elsewhere } = await engineDatabase();

async function decide(decision: DecideApproval) {
  return await commitWithin(sql, decideApproval, decision);
}

async function auditOf(approvalId: string) {
  return await sql`select actor, action, details from audit where subject = ${approvalId} order by id`;
}

test("DU03: an approval, its card, its call and the run's readiness become true together", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  expect(await decide(aDecision(world, given, { feedback: "go on", note: "between us" }))).toMatchObject({
    kind: "decided",
    status: "approved",
    answer: "approve",
    decidedBy: "Abe Approver",
    decidedAt: expect.any(Date),
    version: 2,
  });
  const [row] = await sql`
    select a.status, a.answer, a.feedback, a.note, a.decided_by, a.consumed_at, t.status as card, t.resolved_by, t.resolution
      from approvals a join tasks t on t.id = a.task_id where a.id = ${given.approvalId}`;
  expect(row).toEqual({
    status: "approved",
    answer: "approve",
    feedback: "go on",
    note: "between us",
    decided_by: world.approver,
    consumed_at: null,
    card: "done",
    resolved_by: `user:${world.approver}`,
    resolution: "approve",
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested", waits_on: null, result: null });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true, is_leased: false });
  expect(await auditOf(given.approvalId)).toMatchObject([
    {
      actor: `user:${world.approver}`,
      action: "approval.decided",
      details: {
        answer: "approve",
        outcome: "decided",
        argsHash: "hash-of-args",
        version: 1,
        policyVersions: "1.1.1.0",
      },
    },
  ]);
});

test("a denied call has its result, with the reviewer's words and without the note", async () => {
  const world = await makeWorld(sql);
  for (const [feedback, result] of [
    [undefined, '"denied by user"'],
    ['ask "Bob"\nfirst', '"denied by user: ask \\"Bob\\"\\nfirst"'],
  ] as const) {
    const given = await givenGatedRun(sql, world);
    const decision = aDecision(world, given, {
      answer: "deny",
      note: "no way",
      ...(feedback === undefined ? {} : { feedback }),
    });
    expect(await decide(decision)).toMatchObject({ kind: "decided", status: "denied" });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "denied", result, result_code: "user_denied" });
    expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true });
  }
});

test.each<[Answer, string, string, string | null, string | null]>([
  ["done", "approved", "done", '"done, as a person confirmed"', null],
  ["retry", "approved", "requested", null, null],
  ["give_up", "denied", "failed", '"unknown whether it happened; a person decided not to run it again"', "unknown"],
])("an unknown outcome answered %s is %s and its call %s", async (answer, status, callStatus, result, code) => {
  const world = await makeWorld(sql);
  const given = await givenUnknownCall(sql, world);
  expect(await decide(aDecision(world, given, { answer }))).toMatchObject({ kind: "decided", status });
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: callStatus,
    result,
    result_code: code,
    waits_on: null,
  });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true });
});

test("an unknown outcome that was done has the person's words as its result", async () => {
  const world = await makeWorld(sql);
  const given = await givenUnknownCall(sql, world);
  await decide(aDecision(world, given, { answer: "done", feedback: "I see it in the outbox" }));
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "done", result: '"I see it in the outbox"' });
});

describe("a decision is refused and changes nothing but what it says", () => {
  test("AZ56: by somebody who may not decide, who is disabled, or who is of another workspace", async () => {
    const world = await makeWorld(sql);
    const neighbor = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const gone = world.otherApprover;
    await sql`update users set disabled_at = clock_timestamp() where id = ${gone}`;
    const forbidden = [world.viewer, world.operator, gone, neighbor.approver, neighbor.admin, uuidv7()];
    for (const userId of forbidden)
      expect(await decide(aDecision(world, given, { userId }))).toMatchObject({ kind: "forbidden" });
    expect((await auditOf(given.approvalId)).map((row) => [row.actor, row.action])).toEqual(
      forbidden.map((userId) => [`user:${userId}`, "approval.decision_refused"]),
    );
    expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", is_ready: false });
    expect(await decide(aDecision(world, given, { userId: world.admin }))).toMatchObject({ kind: "decided" });
  });

  test("AZ56: of another workspace's approval, or of another run's, which stay unnamed", async () => {
    const world = await makeWorld(sql);
    const neighbor = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const other = await givenGatedRun(sql, world);
    const before = await allRows(sql);
    const strange = [
      aDecision(neighbor, given),
      aDecision(world, { runId: other.runId, approvalId: given.approvalId }),
      aDecision(world, { runId: given.runId, approvalId: uuidv7() }),
    ];
    for (const decision of strange)
      expect(await decide(decision)).toMatchObject({ kind: "not_found", status: null, decidedBy: null });
    expect(await allRows(sql)).toBe(before);
  });

  test("on another version, or other arguments, than the card shows", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const before = await allRows(sql);
    for (const over of [{ version: 0 }, { version: 2 }, { argsHash: "hash-of-argt" }])
      expect(await decide(aDecision(world, given, over))).toMatchObject({
        kind: "stale",
        status: "pending",
        version: 1,
      });
    expect(await allRows(sql)).toBe(before);
  });

  test("with an answer to another kind of question", async () => {
    const world = await makeWorld(sql);
    const permission = await givenGatedRun(sql, world);
    const outcome = await givenUnknownCall(sql, world);
    const before = await allRows(sql);
    for (const answer of ["done", "retry", "give_up"] as const)
      expect(await decide(aDecision(world, permission, { answer }))).toMatchObject({ kind: "wrong_answer" });
    for (const answer of ["approve", "deny"] as const)
      expect(await decide(aDecision(world, outcome, { answer }))).toMatchObject({ kind: "wrong_answer" });
    expect(await allRows(sql)).toBe(before);
  });

  test("AZ39: a second after its deadline, before anybody swept; the audit keeps the late attempt", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    await moveDeadlines(sql, given.runId, -1000);
    expect(await decide(aDecision(world, given))).toMatchObject({ kind: "expired", decidedBy: null });
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "waiting" });
    expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", is_ready: false });
    expect(await auditOf(given.approvalId)).toMatchObject([
      { action: "approval.decision_refused", details: { outcome: "expired", answer: "approve" } },
    ]);
    await expireWaits(sql, 10);
    expect(await decide(aDecision(world, given))).toMatchObject({
      kind: "expired",
      status: "expired",
      decidedBy: "system:timeout",
    });
    expect(await auditOf(given.approvalId)).toHaveLength(2);
  });

  test("AZ69: under a kill switch, and is taken once it is lifted, also past its deadline", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    await killScope(sql, appScope, world.admin, "stop");
    await moveDeadlines(sql, given.runId, -1000);
    const before = await allRows(sql);
    expect(await decide(aDecision(world, given))).toMatchObject({ kind: "killed" });
    expect(await allRows(sql)).toBe(before);
    await liftScope(sql, appScope, world.admin);
    expect(await decide(aDecision(world, given))).toMatchObject({ kind: "decided" });
    await sql`update policies set version = 1, lifted_at = null where scope = 'app'`;
  });
});

test("DU27: the same decision by the same person returns the first result, whatever happened since", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const first = await decide(aDecision(world, given));
  const before = await allRows(sql);
  expect(await decide(aDecision(world, given))).toEqual({ ...first, kind: "repeated" });
  expect(await allRows(sql)).toBe(before);
  await claimRun(sql, given.runId);
  expect(await decide(aDecision(world, given))).toEqual({ ...first, kind: "repeated" });
  expect(await callRow(sql, given.callId)).toMatchObject({ attempt: 1 });
});

test("another answer, or the same by another person, is told who decided what and when", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const first = await decide(aDecision(world, given));
  for (const over of [{ answer: "deny" as const }, { userId: world.otherApprover }])
    expect(await decide(aDecision(world, given, over))).toEqual({ ...first, kind: "settled" });
  expect(await auditOf(given.approvalId)).toHaveLength(1);
});

test.each<[string, (world: World) => Promise<{ runId: string; approvalId: string }>, object]>([
  ["paused", (world) => givenGatedRun(sql, world), { kind: "decided" }],
  [
    "paused and held",
    (world) => givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] }),
    { kind: "decided" },
  ],
  [
    "running, decided already",
    (world) => givenApprovedRun(sql, world),
    { kind: "repeated", decidedBy: "Abe Approver" },
  ],
  [
    "in quarantine",
    async (world) => {
      const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
      await endLease(sql, given.runId);
      await recoverRuns(sql, 10, 0);
      return given;
    },
    { kind: "decided" },
  ],
  [
    "completed",
    async (world) => {
      const given = await givenApprovedRun(sql, world);
      const hold = await claimRun(sql, given.runId);
      await commitWithin(sql, completeCall, { ...hold, callId: given.callId, status: "done", result: '"sent"' });
      await commitWithin(sql, recordTurn, aTurn(hold, { output: '"done"' }));
      return given;
    },
    { kind: "repeated", decidedBy: "Abe Approver" },
  ],
  [
    "failed",
    async (world) => {
      const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
      await commitWithin(sql, failRun, { ...given.hold, reason: "error: broken" });
      return given;
    },
    { kind: "settled", status: "canceled", decidedBy: null },
  ],
  [
    "canceled",
    async (world) => {
      const given = await givenGatedRun(sql, world);
      await commitWithin(sql, cancelRun, {
        runId: given.runId,
        workspaceId: world.workspaceId,
        userId: world.operator,
        reason: "no",
      });
      return given;
    },
    { kind: "settled", status: "canceled", decidedBy: null },
  ],
])("DU08: a decision on a run that is %s has a defined answer", async (_state, given, answer) => {
  const world = await makeWorld(sql);
  const asked = await given(world);
  const before = await runRow(sql, asked.runId);
  expect(await decide(aDecision(world, asked))).toMatchObject(answer);
  if (!("kind" in answer) || answer.kind !== "decided") expect(await runRow(sql, asked.runId)).toEqual(before);
});

test("DU08: a run that is queued has nothing to decide", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  expect(await decide(aDecision(world, { runId, approvalId: uuidv7() }))).toMatchObject({ kind: "not_found" });
});

test("a run in quarantine takes decisions and stays where it is until it is let go", async () => {
  const world = await makeWorld(sql);
  const sibling = aCall({ position: 1 });
  const given = await givenGatedRun(sql, world, { siblings: [sibling] });
  await endLease(sql, given.runId);
  await recoverRuns(sql, 10, 0);
  await decide(aDecision(world, given));
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "paused",
    waits_on: "quarantine",
    is_ready: false,
    is_leased: false,
  });
  await expect(claimRun(sql, given.runId)).rejects.toThrow("was not ready");
});

test("a decision on a held run makes it ready and leaves its lease and epoch alone", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  await decide(aDecision(world, given));
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "running",
    is_ready: true,
    is_leased: true,
    epoch: 1,
  });
});

test("of two gated calls the first runs as soon as it is decided, while the run stays paused on the other", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const first = aGatedCall();
  const second = aGatedCall({ position: 1 });
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [first, second] }));
  if (first.next.kind !== "approval") throw new Error("not gated");
  await decide(aDecision(world, { runId, approvalId: first.next.approvalId }));
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "approval", is_ready: true });
  await claimRun(sql, runId);
  expect(await callRow(sql, first.id)).toMatchObject({ status: "executing" });
  expect(await callRow(sql, second.id)).toMatchObject({ status: "waiting" });
});

test("DU19: of two decisions behind one lock, one wins and the other is told", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, decideApproval, aDecision(world, given)),
      () =>
        commitWithin(
          elsewhere,
          decideApproval,
          aDecision(world, given, { userId: world.otherApprover, answer: "deny" }),
        ),
    ],
  });
  const [winner, ...others] = waiting.filter((outcome) => outcome.kind === "decided");
  expect(others).toEqual([]);
  expect(waiting.find((outcome) => outcome.kind !== "decided")).toEqual({ ...winner, kind: "settled" });
});

test("AZ30, AZ31: an approval is decided from another process, after the one that asked is gone", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  const [open] =
    await elsewhere`select id, run_id, version, args_hash from approvals where workspace_id = ${world.workspaceId} and status = 'pending'`;
  const outcome = await commitWithin(
    elsewhere,
    decideApproval,
    aDecision(
      world,
      { runId: open?.run_id, approvalId: open?.id },
      { version: open?.version, argsHash: open?.args_hash },
    ),
  );
  expect(outcome).toMatchObject({ kind: "decided" });
  expect((await claimRun(elsewhere, given.runId)).snapshot.calls).toMatchObject([{ status: "executing" }]);
});

test.each<Answer>(["approve", "deny"])(
  "DU05: a decision to %s that fails at any write leaves nothing",
  async (answer) => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const { outcome, written } = await failAtEveryWrite(sql, (on) =>
      commitWithin(on, decideApproval, aDecision(world, given, { answer })),
    );
    expect(outcome.kind).toBe("decided");
    expect(written).toEqual(["approvals", "tasks", "tool_calls", "run_log", "audit", "runs"]);
  },
);

test("AZ57: who started a run may approve its calls where the role allows it, so a team of one is not locked out", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world, { startedBy: world.approver });
  const hold = await claimRun(sql, runId);
  const call = aGatedCall();
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
  const approvalId = call.next.kind === "approval" ? call.next.approvalId : "";
  expect(await decide(aDecision(world, { runId, approvalId }))).toMatchObject({
    kind: "decided",
    decidedBy: "Abe Approver",
  });
});

test("the same decision with other feedback is no repetition: the person is told that it was not taken", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  await decide(aDecision(world, given, { answer: "deny", feedback: "not to him" }));
  expect(await decide(aDecision(world, given, { answer: "deny" }))).toMatchObject({ kind: "repeated" });
  const other = await decide(aDecision(world, given, { answer: "deny", feedback: "call them instead" }));
  expect(other).toMatchObject({ kind: "settled", answer: "deny", decidedBy: "Abe Approver" });
});
