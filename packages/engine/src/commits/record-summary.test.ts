import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { stringifyExact } from "../exact-text.ts";
import type { Hold } from "../held-run.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aSteer, aTurn, claimRun, givenGatedRun, givenRun, makeWorld } from "../testing/fixtures.ts";
import { endLease } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { type RecordSummary, recordSummary } from "./record-summary.ts";
import { recordTurn } from "./record-turn.ts";
import { recoverRuns } from "./recover-runs.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

function aSummary(hold: Hold, over: Partial<RecordSummary> = {}): RecordSummary {
  return {
    runId: hold.runId,
    epoch: hold.epoch,
    leaseId: hold.leaseId,
    previous: 0,
    content: stringifyExact({ text: "it was\u0000 long \ud800", upToSeq: 1 }),
    usage: { inputTokens: 1_000, outputTokens: 50, costMicros: 2 ** 33 },
    ...over,
  };
}

async function givenTurn(): Promise<Hold> {
  const runId = await givenRun(sql, await makeWorld(sql));
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, recordTurn, aTurn(hold));
  return hold;
}

async function usageOf(runId: string) {
  const [row] = await sql`select input_tokens, output_tokens, cost_micros from runs where id = ${runId}`;
  return { ...row };
}

test("the summary is the next entry of the log, exactly as it was written, and its cost is the run's", async () => {
  const hold = await givenTurn();
  const before = await usageOf(hold.runId);
  const outcome = await commitWithin(sql, recordSummary, aSummary(hold));
  expect(outcome).toEqual({ kind: "recorded", seq: 3, hasNews: false, isParked: false });
  const [entry] = await sql`
    select seq, kind, actor, content, input_tokens, output_tokens, cost_micros from run_log where run_id = ${hold.runId} and kind = 'summary'`;
  expect(entry).toEqual({
    seq: 3,
    kind: "summary",
    actor: `run:${hold.runId}`,
    content: aSummary(hold).content,
    input_tokens: 1_000,
    output_tokens: 50,
    cost_micros: 2 ** 33,
  });
  expect(before).toEqual({ input_tokens: 10, output_tokens: 5, cost_micros: 100 });
  expect(await usageOf(hold.runId)).toEqual({ input_tokens: 1_010, output_tokens: 55, cost_micros: 100 + 2 ** 33 });
});

test("the same summary sent again is not recorded again; a later one is", async () => {
  const hold = await givenTurn();
  await commitWithin(sql, recordSummary, aSummary(hold));
  const before = await allRows(sql);
  expect(await commitWithin(sql, recordSummary, aSummary(hold))).toMatchObject({ kind: "already" });
  expect(await allRows(sql)).toBe(before);
  expect(await commitWithin(sql, recordSummary, aSummary(hold, { previous: 3 }))).toMatchObject({
    kind: "recorded",
    seq: 4,
  });
});

test("a worker that lost the run records nothing", async () => {
  const hold = await givenTurn();
  await endLease(sql, hold.runId);
  await recoverRuns(sql, 10, 5);
  const before = await allRows(sql);
  expect(await commitWithin(sql, recordSummary, aSummary(hold))).toMatchObject({ kind: "lease_lost" });
  expect(await allRows(sql)).toBe(before);
  const again = await claimRun(sql, hold.runId);
  expect(await commitWithin(sql, recordSummary, aSummary(hold))).toMatchObject({ kind: "lease_lost" });
  const forged = aSummary(again, { leaseId: hold.leaseId });
  expect(await commitWithin(sql, recordSummary, forged)).toMatchObject({ kind: "lease_lost" });
});

test("a parked run, which nobody holds, takes none", async () => {
  const { hold } = await givenGatedRun(sql, await makeWorld(sql));
  expect(await commitWithin(sql, recordSummary, aSummary(hold))).toMatchObject({ kind: "lease_lost" });
});

test("a steer that came meanwhile is news to the holder", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  expect(await commitWithin(sql, recordSummary, aSummary(hold))).toMatchObject({ kind: "recorded", hasNews: true });
});

test("of two at once, one is recorded", async () => {
  const hold = await givenTurn();
  const { first, waiting } = await behindLock(sql, hold.runId, {
    first: (tx) => commitWithin(tx, recordSummary, aSummary(hold)),
    waiting: [() => commitWithin(elsewhere, recordSummary, aSummary(hold))],
  });
  expect([first.kind, ...waiting.map(({ kind }) => kind)]).toEqual(["recorded", "already"]);
});

test("DU05: a summary that fails to be written leaves nothing", async () => {
  const hold = await givenTurn();
  const { written } = await failAtEveryWrite(sql, (on) => commitWithin(on, recordSummary, aSummary(hold)));
  expect(written.toSorted()).toEqual(["run_log", "runs"]);
});
