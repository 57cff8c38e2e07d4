import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { makeWorld, type World } from "../testing/fixtures.ts";
import { countRows, runRow } from "../testing/rows.ts";
import { untilWaiting } from "../testing/held-lock.ts";
import { failAtEveryWrite } from "../testing/write-faults.ts";
import { startRun, type StartRun } from "./start-run.ts";

const { sql, elsewhere } = await engineDatabase();

function aStart(world: World, over: Partial<StartRun> = {}): StartRun {
  return {
    runId: uuidv7(),
    workspaceId: world.workspaceId,
    definitionId: world.definitionId,
    definitionVersion: 1,
    startedBy: world.operator,
    title: "a run",
    input: '"please do"',
    grants: ["mail.send", "web.read"],
    ...over,
  };
}

test("a started run is queued and ready, with its first message and its grants", async () => {
  const world = await makeWorld(sql);
  const start = aStart(world);
  expect(await commitWithin(sql, startRun, start)).toEqual({ kind: "started", runId: start.runId });
  expect(await runRow(sql, start.runId)).toMatchObject({
    status: "queued",
    is_ready: true,
    is_leased: false,
    epoch: 0,
  });
  const [row] = await sql`
    select r.grants, l.seq, l.kind, l.content, l.actor from runs r join run_log l on l.run_id = r.id where r.id = ${start.runId}`;
  expect(row).toEqual({
    grants: ["mail.send", "web.read"],
    seq: 1,
    kind: "user",
    content: '"please do"',
    actor: `user:${world.operator}`,
  });
});

test("a run may be started without any grant", async () => {
  const world = await makeWorld(sql);
  const start = aStart(world, { grants: [] });
  await commitWithin(sql, startRun, start);
  const [row] = await sql`select grants from runs where id = ${start.runId}`;
  expect(row?.grants).toEqual([]);
});

test("DU27: the same start again returns the run it started and writes nothing", async () => {
  const world = await makeWorld(sql);
  const key = { key: "order-7", requestHash: "hash" };
  const first = aStart(world, { key });
  await commitWithin(sql, startRun, first);
  expect(await commitWithin(sql, startRun, first)).toEqual({
    kind: "existing",
    runId: first.runId,
  });
  const second = aStart(world, { key });
  expect(await commitWithin(sql, startRun, second)).toEqual({
    kind: "existing",
    runId: first.runId,
  });
  expect(await countRows(sql, "run_log", first.runId)).toBe(1);
  expect(await countRows(sql, "run_log", second.runId)).toBe(0);
});

test("a start key with another request behind it is a mismatch, and is another workspace's own", async () => {
  const world = await makeWorld(sql);
  const neighbor = await makeWorld(sql);
  const first = aStart(world, { key: { key: "k", requestHash: "one" } });
  await commitWithin(sql, startRun, first);
  expect(await commitWithin(sql, startRun, aStart(world, { key: { key: "k", requestHash: "two" } }))).toEqual({
    kind: "mismatch",
    runId: first.runId,
  });
  const theirs = aStart(neighbor, { key: { key: "k", requestHash: "one" } });
  expect(await commitWithin(sql, startRun, theirs)).toEqual({
    kind: "started",
    runId: theirs.runId,
  });
});

test("a definition of another workspace, or a version that does not exist, starts nothing", async () => {
  const world = await makeWorld(sql);
  const neighbor = await makeWorld(sql);
  for (const over of [{ definitionVersion: 2 }, { definitionId: neighbor.definitionId }, { definitionId: uuidv7() }]) {
    const start = aStart(world, over);
    expect(await commitWithin(sql, startRun, start)).toMatchObject({ kind: "unknown_definition" });
    expect(await countRows(sql, "run_log", start.runId)).toBe(0);
  }
});

test("of two starts with one key, one starts and the other is told which run it is", async () => {
  const world = await makeWorld(sql);
  const key = { key: "twice", requestHash: "hash" };
  const start = aStart(world, { key });
  const { first, second } = await transaction(sql, async (tx) => {
    const first = await commitWithin(tx, startRun, start);
    const second = commitWithin(elsewhere, startRun, aStart(world, { key }));
    await untilWaiting(tx, 1);
    return { first, second: [second] };
  });
  expect(first).toEqual({ kind: "started", runId: start.runId });
  expect(await second[0]).toEqual({ kind: "existing", runId: start.runId });
});

test("a batch of starts with one key among them starts one run for it", async () => {
  const world = await makeWorld(sql);
  const key = { key: "in-a-batch", requestHash: "hash" };
  const batch = [aStart(world, { key }), aStart(world), aStart(world, { key })];
  const outcomes = await startRun.send(sql, batch, { blocking: false });
  expect(outcomes).toMatchObject([
    { kind: "started" },
    { kind: "started" },
    { kind: "existing", runId: batch[0]?.runId },
  ]);
});

test("DU05: a start that fails at any write leaves nothing", async () => {
  const world = await makeWorld(sql);
  const start = aStart(world, { key: { key: "k", requestHash: "h" } });
  const { outcome, written } = await failAtEveryWrite(sql, (on) => commitWithin(on, startRun, start));
  expect(outcome.kind).toBe("started");
  expect(written).toEqual(["runs", "run_log"]);
});
