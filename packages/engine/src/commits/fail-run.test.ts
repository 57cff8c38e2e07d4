import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aCall,
  aSteer,
  claimRun,
  givenExecutingCall,
  givenGatedRun,
  givenRun,
  makeWorld,
} from "../testing/fixtures.ts";
import { callRow, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { failRun } from "./fail-run.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

test("a run fails with its reason, and what is open under it closes", async () => {
  const world = await makeWorld(sql);
  const sibling = aCall({ position: 1 });
  const given = await givenGatedRun(sql, world, { siblings: [sibling] });
  expect(await commitWithin(sql, failRun, { ...given.hold, reason: "blocked_by_approval" })).toEqual({
    kind: "failed",
  });
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "failed",
    end_reason: "blocked_by_approval",
    is_leased: false,
    is_ready: false,
  });
  for (const callId of [given.callId, sibling.id])
    expect(await callRow(sql, callId)).toMatchObject({
      status: "canceled",
      result: '"blocked_by_approval"',
      result_code: "sibling_failed",
    });
  const [approval] = await sql`select status, settled_reason from approvals where id = ${given.approvalId}`;
  expect(approval).toEqual({ status: "canceled", settled_reason: "blocked_by_approval" });
});

test("an unread message never refuses a failure: it closes as too late", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  expect(await commitWithin(sql, failRun, { ...hold, reason: "limit:turns" })).toEqual({ kind: "failed" });
  const [steer] = await sql`select closed_at is not null as is_closed, read_seq from steers where run_id = ${runId}`;
  expect(steer).toEqual({ is_closed: true, read_seq: null });
});

test("a call that claimed an effect is unknown after a failure", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world);
  await commitWithin(sql, failRun, { ...given.hold, reason: "error: broken" });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "unknown", waits_on: null });
});

test("DU11, DU17: a failure under a stale epoch, another's lease, or on a run that has ended changes nothing", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const before = await allRows(sql);
  for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
    expect(await commitWithin(sql, failRun, { ...hold, ...over, reason: "no" })).toEqual({ kind: "lease_lost" });
  expect(await allRows(sql)).toBe(before);
  await commitWithin(sql, failRun, { ...hold, reason: "yes" });
  const failed = await allRows(sql);
  expect(await commitWithin(sql, failRun, { ...hold, reason: "again" })).toEqual({ kind: "lease_lost" });
  expect(await allRows(sql)).toBe(failed);
});

test("a batch fails each run for its own reason", async () => {
  const world = await makeWorld(sql);
  const holds = [await claimRun(sql, await givenRun(sql, world)), await claimRun(sql, await givenRun(sql, world))];
  const batch = holds.map((hold, index) => ({ ...hold, reason: `reason ${index}` }));
  expect(await failRun.send(sql, batch, { blocking: false })).toEqual([{ kind: "failed" }, { kind: "failed" }]);
  for (const { runId, reason } of batch) expect(await runRow(sql, runId)).toMatchObject({ end_reason: reason });
});

test("of two failures behind one lock, one is the reason", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, failRun, { ...hold, reason: "one" }),
      () => commitWithin(elsewhere, failRun, { ...hold, reason: "two" }),
    ],
  });
  expect(waiting.map((outcome) => outcome.kind).toSorted()).toEqual(["failed", "lease_lost"]);
});

test("DU05: a failure that fails at any write leaves the run going", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, failRun, { ...given.hold, reason: "error: broken" }),
  );
  expect(outcome).toEqual({ kind: "failed" });
  expect(written).toEqual(["approvals", "tasks", "tool_calls", "run_log", "runs"]);
});
