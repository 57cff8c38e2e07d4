import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aGatedCall,
  aQuestionCall,
  aSteer,
  aTurn,
  claimRun,
  givenExecutingCall,
  givenGatedRun,
  givenQuestionRun,
  givenRun,
  givenUnknownCall,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { adopt, callRow, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { cancelRun, type CancelRun } from "./cancel-run.ts";
import { completeCall } from "./complete-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { recordTurn } from "./record-turn.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

function aCancel(world: World, runId: string, over: Partial<CancelRun> = {}): CancelRun {
  return { runId, workspaceId: world.workspaceId, userId: world.operator, reason: "not needed", ...over };
}

test("AZ38: a canceled run is fenced, held by nobody, and everything open under it is closed", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const calls = [
    aGatedCall(),
    aQuestionCall({}, { position: 1 }),
    aCall({ position: 2 }),
    aCall({
      position: 3,
      next: { kind: "settled", status: "denied", result: '"no"', code: "policy_denied" },
    }),
  ];
  await commitWithin(sql, recordTurn, aTurn(hold, { calls }));
  await commitWithin(sql, steerRun, aSteer(world, runId));
  expect(await commitWithin(sql, cancelRun, aCancel(world, runId))).toEqual({ kind: "canceled", runs: 1 });
  expect(await runRow(sql, runId)).toMatchObject({
    status: "canceled",
    waits_on: null,
    end_reason: "not needed",
    is_leased: false,
    is_ready: false,
    epoch: hold.epoch + 1,
    unread: 0,
  });
  const rows = await sql`select status, result, result_code from tool_calls where run_id = ${runId} order by position`;
  const canceled = { status: "canceled", result: '"not needed"', result_code: "canceled" };
  expect(rows).toEqual([
    canceled,
    canceled,
    canceled,
    { status: "denied", result: '"no"', result_code: "policy_denied" },
  ]);
  const open = await sql`
    select (select status from approvals where run_id = ${runId}) as approval,
           (select status from questions where run_id = ${runId}) as question,
           (select array_agg(distinct status || ' ' || resolved_by) from tasks where run_id = ${runId}) as cards,
           (select closed_at is not null from steers where run_id = ${runId}) as is_steer_closed`;
  expect(open).toEqual([
    { approval: "canceled", question: "canceled", cards: ["canceled system"], is_steer_closed: true },
  ]);
  const [last] = await sql`select kind, content from run_log where run_id = ${runId} order by seq desc limit 1`;
  expect(last).toEqual({ kind: "run.ended", content: '"canceled: not needed"' });
  const audit = await sql`select actor, action, subject from audit where run_id = ${runId}`;
  expect(audit).toEqual([{ actor: `user:${world.operator}`, action: "run.canceled", subject: "not needed" }]);
});

test("what nobody knows stays so where the run is canceled after a person said to run it again", async () => {
  const world = await makeWorld(sql);
  const given = await givenUnknownCall(sql, world);
  await commitWithin(sql, decideApproval, aDecision(world, given, { answer: "retry" }));
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "requested" });
  await commitWithin(sql, cancelRun, aCancel(world, given.runId));
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "unknown", result_code: "unknown", waits_on: null });
});

test("a call that claimed an effect is unknown after a cancel, without a card; a read is canceled", async () => {
  const world = await makeWorld(sql);
  for (const [effect, status] of [
    ["once", "unknown"],
    ["idempotent", "unknown"],
    ["read-only", "canceled"],
    ["transactional", "canceled"],
  ] as const) {
    const { runId, callId } = await givenExecutingCall(sql, world, { effect });
    await commitWithin(sql, cancelRun, aCancel(world, runId));
    expect(await callRow(sql, callId)).toMatchObject({ status, waits_on: null });
  }
});

test("a call that was unknown already stays so, and its outcome approval closes with its card", async () => {
  const world = await makeWorld(sql);
  const given = await givenUnknownCall(sql, world);
  await commitWithin(sql, cancelRun, aCancel(world, given.runId));
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "unknown", result: '"the connection broke"' });
  const [approval] = await sql`select status from approvals where id = ${given.approvalId}`;
  expect(approval?.status).toBe("canceled");
});

test("a cancel takes the run and every descendant with it, and nobody above or beside", async () => {
  const world = await makeWorld(sql);
  const parent = await givenRun(sql, world);
  const run = await givenRun(sql, world);
  const sibling = await givenRun(sql, world);
  const child = await givenGatedRun(sql, world);
  const grandchild = await givenQuestionRun(sql, world);
  const ended = await givenRun(sql, world);
  await commitWithin(sql, recordTurn, aTurn(await claimRun(sql, ended), { output: '"done"' }));
  await adopt(sql, parent, run);
  await adopt(sql, parent, sibling);
  await adopt(sql, run, child.runId);
  await adopt(sql, run, ended);
  await adopt(sql, child.runId, grandchild.runId);
  expect(await commitWithin(sql, cancelRun, aCancel(world, run))).toEqual({ kind: "canceled", runs: 3 });
  const statuses = await Promise.all(
    [parent, sibling, run, child.runId, grandchild.runId, ended].map(async (id) => (await runRow(sql, id)).status),
  );
  expect(statuses.map((status) => (status === "canceled" || status === "completed" ? status : "live"))).toEqual([
    "live",
    "live",
    "canceled",
    "canceled",
    "canceled",
    "completed",
  ]);
});

describe("a cancel is refused and changes nothing", () => {
  test("where the run has ended: the caller is told how", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    await commitWithin(sql, recordTurn, aTurn(await claimRun(sql, runId), { output: '"done"' }));
    const before = await allRows(sql);
    expect(await commitWithin(sql, cancelRun, aCancel(world, runId))).toEqual({ kind: "completed", runs: 0 });
    expect(await allRows(sql)).toBe(before);
  });

  test("DU27: where it was canceled before", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    await commitWithin(sql, cancelRun, aCancel(world, runId));
    const before = await allRows(sql);
    expect(await commitWithin(sql, cancelRun, aCancel(world, runId))).toEqual({ kind: "canceled", runs: 0 });
    expect(await allRows(sql)).toBe(before);
  });

  test("where the run is another workspace's, or none", async () => {
    const world = await makeWorld(sql);
    const neighbor = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const before = await allRows(sql);
    for (const cancel of [aCancel(neighbor, runId), aCancel(world, uuidv7())])
      expect(await commitWithin(sql, cancelRun, cancel)).toEqual({ kind: "not_found", runs: 0 });
    expect(await allRows(sql)).toBe(before);
  });
});

test("the holder of a canceled run is fenced: its results are refused", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  await commitWithin(sql, cancelRun, aCancel(world, given.runId));
  const before = await allRows(sql);
  expect(
    await commitWithin(sql, completeCall, { ...given.hold, callId: given.callId, status: "done", result: '"x"' }),
  ).toMatchObject({ kind: "lease_lost" });
  expect(await commitWithin(sql, recordTurn, aTurn(given.hold, { turn: 1, output: '"x"' }))).toMatchObject({
    kind: "lease_lost",
  });
  expect(await allRows(sql)).toBe(before);
});

test("of a cancel and a decision behind one lock, whichever is first is whole", async () => {
  const world = await makeWorld(sql);
  for (let round = 0; round < 4; round += 1) {
    const given = await givenGatedRun(sql, world);
    const { waiting } = await behindLock(sql, given.runId, {
      first: async () => {},
      waiting: [
        () => commitWithin(sql, cancelRun, aCancel(world, given.runId)),
        () => commitWithin(elsewhere, decideApproval, aDecision(world, given)),
      ],
    });
    expect(waiting[0]).toEqual({ kind: "canceled", runs: 1 });
    expect(["decided", "settled"]).toContain(waiting[1].kind);
    expect(await callRow(sql, given.callId)).toMatchObject({ status: "canceled" });
  }
});

test("of two cancels behind one lock, one cancels", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, cancelRun, aCancel(world, runId)),
      () => commitWithin(elsewhere, cancelRun, aCancel(world, runId)),
    ],
  });
  expect(new Set(waiting.map((outcome) => ("runs" in outcome ? outcome.runs : -1)))).toEqual(new Set([0, 1]));
});

test("a child that a run is given while its cancel waits for the lock is canceled too", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const child = await givenRun(sql, world);
  await behindLock(sql, runId, {
    first: (tx) => adopt(tx, runId, child),
    waiting: [() => commitWithin(elsewhere, cancelRun, aCancel(world, runId))],
  });
  expect(await runRow(sql, child)).toMatchObject({ status: "canceled" });
});

test("DU05: a cancel of a tree that fails at any write leaves the whole tree as it was", async () => {
  const world = await makeWorld(sql);
  const root = await givenGatedRun(sql, world);
  const child = await givenQuestionRun(sql, world);
  await adopt(sql, root.runId, child.runId);
  await commitWithin(sql, steerRun, aSteer(world, child.runId));
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, cancelRun, aCancel(world, root.runId)),
  );
  expect(outcome).toEqual({ kind: "canceled", runs: 2 });
  expect(written).toEqual(["approvals", "questions", "tasks", "tool_calls", "steers", "run_log", "runs", "audit"]);
});
