import { expect, test } from "vitest";
import { transaction } from "@countersign/db/transaction.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { claimRun, givenGatedRun, givenRun, makeWorld } from "../testing/fixtures.ts";
import { runRow } from "../testing/rows.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { passOverRun } from "./pass-over-run.ts";

const { sql, elsewhere } = await engineDatabase();

/** The wait is over. */
async function endWait(runId: string): Promise<void> {
  await sql`update runs set ready_at = clock_timestamp() where id = ${runId}`;
}

async function waitOf(runId: string): Promise<number> {
  const [row] = await sql`
    select round(extract(epoch from ready_at - clock_timestamp()) / 60)::int as minutes from runs where id = ${runId}`;
  return Number(row?.["minutes"]);
}

test("DU39: a run that cannot be claimed waits longer each time, and then is quarantined, audited, and seen to be so", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  for (const claims of [1, 2]) {
    expect(await passOverRun(sql, runId, 3)).toBe("waits");
    expect(await runRow(sql, runId)).toMatchObject({ status: "queued", is_ready: true, claims });
    expect(await waitOf(runId)).toBe(claims);
    expect(await passOverRun(sql, runId, 3)).toBeUndefined();
    await endWait(runId);
  }
  const [before] = await sql`select changed from runs where id = ${runId}`;
  expect(await passOverRun(sql, runId, 3)).toBe("quarantined");
  expect(await runRow(sql, runId)).toMatchObject({
    status: "paused",
    waits_on: "quarantine",
    is_ready: false,
    claims: 3,
  });
  const [after] = await sql`select changed from runs where id = ${runId}`;
  expect(after).not.toEqual(before);
  const audit = await sql`select actor, action, details from audit where run_id = ${runId} order by id desc limit 1`;
  expect(audit).toEqual([
    { actor: "system:recovery", action: "run.quarantined", details: { claimsWithoutProgress: 3 } },
  ]);
});

test("a run that somebody holds, or that is not ready, is not passed over", async () => {
  const world = await makeWorld(sql);
  const held = await givenRun(sql, world);
  await claimRun(sql, held);
  const { runId: parked } = await givenGatedRun(sql, world);
  const before = await allRows(sql);
  for (const runId of [held, parked]) expect(await passOverRun(sql, runId, 1)).toBeUndefined();
  expect(await allRows(sql)).toBe(before);
});

test("of workers that pass over a run at once, one counts", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const outcomes = await transaction(sql, async (tx) => [
    await passOverRun(tx, runId, 5),
    await passOverRun(elsewhere, runId, 5),
  ]);
  expect(outcomes).toEqual(["waits", undefined]);
  expect(await runRow(sql, runId)).toMatchObject({ claims: 1 });
});

test.each([1, 5])(
  "DU05: one that fails at any write leaves the run ready, with %i claims allowed",
  async (maxClaims) => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const { outcome, written } = await failAtEveryWrite(sql, (on) => passOverRun(on, runId, maxClaims));
    expect(outcome).toBe(maxClaims === 1 ? "quarantined" : "waits");
    expect(written).toEqual(maxClaims === 1 ? ["runs", "audit"] : ["runs"]);
  },
);
