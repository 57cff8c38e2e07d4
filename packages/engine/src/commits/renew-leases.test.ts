import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { claimRun, givenRun, makeWorld } from "../testing/fixtures.ts";
import { poisonRun } from "../testing/poison.ts";
import { endLease } from "../testing/rows.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { cancelRun } from "./cancel-run.ts";
import { recoverRuns } from "./recover-runs.ts";
import { renewLeases } from "./renew-leases.ts";

const { sql, elsewhere } = await engineDatabase();

async function leaseOf(runId: string): Promise<number> {
  const [row] = await sql<{ ms: number }[]>`
    select (extract(epoch from lease_until - clock_timestamp()) * 1000)::float8 as ms from runs where id = ${runId}`;
  return row?.ms ?? Number.NaN;
}

test("DU38: a renewal makes the leases of this process last from the database's now", async () => {
  const world = await makeWorld(sql);
  const holds = [await claimRun(sql, await givenRun(sql, world)), await claimRun(sql, await givenRun(sql, world))];
  const renewed = await renewLeases(sql, holds, 300_000);
  expect(renewed.toSorted((a, b) => a.runId.localeCompare(b.runId))).toEqual(
    holds.map(({ runId }) => ({ runId, isRenewed: true })),
  );
  for (const { runId } of holds) {
    expect(await leaseOf(runId)).toBeGreaterThan(290_000);
    expect(await leaseOf(runId)).toBeLessThanOrEqual(300_000);
  }
});

test("a lease that is over but was taken by nobody may be renewed", async () => {
  const world = await makeWorld(sql);
  const hold = await claimRun(sql, await givenRun(sql, world));
  await endLease(sql, hold.runId);
  expect(await renewLeases(sql, [hold], 30_000)).toEqual([{ runId: hold.runId, isRenewed: true }]);
  expect(await recoverRuns(sql, 10, 5)).toEqual([]);
});

test("DU11: a lease that another has, that was recovered, or whose run has ended is lost, and its row untouched", async () => {
  const world = await makeWorld(sql);
  const taken = await claimRun(sql, await givenRun(sql, world));
  await endLease(sql, taken.runId);
  await recoverRuns(sql, 10, 5);
  const next = await claimRun(sql, taken.runId);
  const recovered = await claimRun(sql, await givenRun(sql, world));
  await endLease(sql, recovered.runId);
  await recoverRuns(sql, 10, 5);
  const ended = await claimRun(sql, await givenRun(sql, world));
  await commitWithin(sql, cancelRun, {
    runId: ended.runId,
    workspaceId: world.workspaceId,
    userId: world.operator,
    reason: "no",
  });
  const before = await allRows(sql);
  const stranger = { ...next, leaseId: uuidv7() };
  expect(await renewLeases(sql, [taken, recovered, ended, stranger], 60_000)).toEqual([]);
  expect(await allRows(sql)).toBe(before);
});

test("DU23: a run whose row cannot be written costs no other its lease", async () => {
  const world = await makeWorld(sql);
  const culprit = await claimRun(sql, await givenRun(sql, world));
  const sound = await claimRun(sql, await givenRun(sql, world));
  const cure = await poisonRun(sql, culprit.runId);
  const failed: string[] = [];
  const renewed = await renewLeases(sql, [culprit, sound], 300_000, ({ runId }) => failed.push(runId));
  expect(renewed).toEqual([{ runId: sound.runId, isRenewed: true }]);
  expect(failed).toEqual([culprit.runId]);
  expect(await leaseOf(sound.runId)).toBeGreaterThan(290_000);
  await cure();
});

test("a renewal waits for no lock: a locked run is passed over, and still known to be held", async () => {
  const world = await makeWorld(sql);
  const [locked, free] = [
    await claimRun(sql, await givenRun(sql, world)),
    await claimRun(sql, await givenRun(sql, world)),
  ];
  const renewed = await transaction(sql, async (tx) => {
    await tx`select from runs where id = ${locked.runId} for no key update`;
    return await renewLeases(elsewhere, [locked, free], 300_000);
  });
  expect(new Map(renewed.map((one) => [one.runId, one.isRenewed]))).toEqual(
    new Map([
      [locked.runId, false],
      [free.runId, true],
    ]),
  );
  expect(await leaseOf(locked.runId)).toBeLessThan(31_000);
  expect(await leaseOf(free.runId)).toBeGreaterThan(290_000);
});

test("of a renewal and a recovery at the same time, one has the run", async () => {
  const world = await makeWorld(sql);
  for (let round = 0; round < 10; round += 1) {
    const hold = await claimRun(sql, await givenRun(sql, world));
    await endLease(sql, hold.runId);
    const [renewed, recovered] = await Promise.all([renewLeases(sql, [hold], 30_000), recoverRuns(elsewhere, 10, 5)]);
    const isRenewed = renewed.some((one) => one.isRenewed);
    expect(isRenewed).toBe(recovered.length === 0 && renewed.length > 0);
    await recoverRuns(sql, 10, 5);
  }
});

test("DU05: a renewal that fails leaves the leases as they were", async () => {
  const world = await makeWorld(sql);
  const hold = await claimRun(sql, await givenRun(sql, world));
  const { written } = await failAtEveryWrite(sql, (on) => renewLeases(on, [hold], 30_000));
  expect(written).toEqual(["runs"]);
});
