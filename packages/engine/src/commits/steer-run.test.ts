import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aDecision, aSteer, aTurn, claimRun, givenGatedRun, givenRun, makeWorld } from "../testing/fixtures.ts";
import { countRows, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { cancelRun } from "./cancel-run.ts";
import { decideApproval } from "./decide-approval.ts";
import { recordTurn } from "./record-turn.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

test("a message is numbered, unread, and the run is ready to read it", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  for (const n of [1, 2])
    expect(await commitWithin(sql, steerRun, aSteer(world, runId))).toEqual({ kind: "queued", n });
  expect(await runRow(sql, runId)).toMatchObject({ status: "running", is_ready: true, is_leased: true, unread: 2 });
  expect(await commitWithin(sql, recordTurn, aTurn(hold, { steersRead: 2 }))).toMatchObject({ kind: "recorded" });
  const read = await sql`select n, read_seq from steers where run_id = ${runId} order by n`;
  expect(read).toEqual([
    { n: 1, read_seq: 2 },
    { n: 2, read_seq: 3 },
  ]);
});

test("AZ32: a message never ends a wait for a person; it is read before the next model turn", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world);
  await commitWithin(sql, steerRun, aSteer(world, given.runId));
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "paused",
    waits_on: "approval",
    is_ready: false,
    unread: 1,
  });
  const [approval] = await sql`select status from approvals where id = ${given.approvalId}`;
  expect(approval?.status).toBe("pending");
  await commitWithin(sql, decideApproval, aDecision(world, given));
  expect((await claimRun(sql, given.runId)).snapshot.steers).toMatchObject([{ n: 1 }]);
});

test("a run that is parked for a message is ready with it", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await claimRun(sql, runId);
  await sql`update runs set status = 'paused', waits_on = 'message', parked_on = 'message', lease_id = null, lease_until = null where id = ${runId}`;
  await commitWithin(sql, steerRun, aSteer(world, runId));
  expect(await runRow(sql, runId)).toMatchObject({ status: "running", waits_on: null, is_ready: true });
});

test("a run that has not begun yet takes a message and stays queued", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  expect(await runRow(sql, runId)).toMatchObject({ status: "queued", is_ready: true, unread: 1 });
});

test("DU09: a run that has ended takes no message, and its sender is told", async () => {
  const world = await makeWorld(sql);
  const finished = await givenRun(sql, world);
  const hold = await claimRun(sql, finished);
  await commitWithin(sql, recordTurn, aTurn(hold, { output: '"done"' }));
  const canceled = await givenRun(sql, world);
  await commitWithin(sql, cancelRun, {
    runId: canceled,
    workspaceId: world.workspaceId,
    userId: world.operator,
    reason: "no",
  });
  const before = await allRows(sql);
  for (const runId of [finished, canceled])
    expect(await commitWithin(sql, steerRun, aSteer(world, runId))).toEqual({ kind: "ended" });
  expect(await allRows(sql)).toBe(before);
});

test("another workspace's run is not found", async () => {
  const world = await makeWorld(sql);
  const neighbor = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const before = await allRows(sql);
  expect(await commitWithin(sql, steerRun, aSteer(neighbor, runId))).toEqual({ kind: "not_found" });
  expect(await allRows(sql)).toBe(before);
});

test("DU27: a message that is sent again is queued once, also after the run has ended", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const steer = aSteer(world, runId);
  const hold = await claimRun(sql, runId);
  for (let i = 0; i < 2; i += 1) expect(await commitWithin(sql, steerRun, steer)).toEqual({ kind: "queued", n: 1 });
  expect(await countRows(sql, "steers", runId)).toBe(1);
  await commitWithin(sql, recordTurn, aTurn(hold, { steersRead: 1, output: '"done"' }));
  expect(await commitWithin(sql, steerRun, steer)).toEqual({ kind: "queued", n: 1 });
});

test("an id that another run's message has is a mismatch, not this run's message", async () => {
  const world = await makeWorld(sql);
  const neighbor = await makeWorld(sql);
  const first = aSteer(world, await givenRun(sql, world));
  await commitWithin(sql, steerRun, first);
  const runId = await givenRun(sql, neighbor);
  expect(await commitWithin(sql, steerRun, aSteer(neighbor, runId, { steerId: first.steerId }))).toEqual({
    kind: "mismatch",
  });
  expect(await runRow(sql, runId)).toMatchObject({ unread: 0 });
});

test("messages that come at the same time are numbered one after the other", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [sql, elsewhere, sql, elsewhere].map((on) => () => commitWithin(on, steerRun, aSteer(world, runId))),
  });
  const numbers = waiting.map((outcome) => (outcome.kind === "queued" ? outcome.n : 0));
  expect(new Set(numbers)).toEqual(new Set([1, 2, 3, 4]));
});

test("DU05: a message that fails at any write is not there at all", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, steerRun, aSteer(world, runId, { steerId: uuidv7() })),
  );
  expect(outcome).toEqual({ kind: "queued", n: 1 });
  expect(written).toEqual(["steers", "runs"]);
});
