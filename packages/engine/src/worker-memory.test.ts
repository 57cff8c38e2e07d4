import { getActiveResourcesInfo } from "node:process";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { decidePending, outcomeOf, until } from "./testing/driver.ts";
import { sendingTool } from "./testing/engine.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { runRow } from "./testing/rows.ts";
import { aWorker } from "./testing/worker.ts";

const { url, sql } = await testDatabase();

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

interface Footprint {
  readonly heapMb: number;
  readonly sockets: number;
  readonly timers: number;
  readonly connections: number;
}

/** What this process holds, once what it is done with is gone. */
async function footprint(): Promise<Footprint> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  collectGarbage();
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name like 'test worker%'`;
  const resources = getActiveResourcesInfo();
  return {
    heapMb: getHeapStatistics().used_heap_size / 2 ** 20,
    sockets: resources.filter((kind) => kind === "TCPSocketWrap").length,
    timers: resources.filter((kind) => kind === "Timeout").length,
    connections: row?.n ?? 0,
  };
}

/** Copies a paused run, with everything that belongs to it, `count` times. */
async function multiply(runId: string, count: number): Promise<void> {
  const copy = async (table: string, columns: Readonly<Record<string, string>>, where: string): Promise<void> => {
    const names = await sql<{ name: string }[]>`
      select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`;
    const values = names.map(({ name }) => columns[name] ?? `t.${name}`);
    const list = names.map(({ name }) => name).join(", ");
    await sql.unsafe(
      `insert into ${table} (${list}) select ${values.join(", ")} from ${table} t cross join copies n where ${where} = '${runId}'`,
    );
  };
  await sql.unsafe(
    `create table copies as select gen_random_uuid() as run, gen_random_uuid() as call, gen_random_uuid() as approval, gen_random_uuid() as task
       from generate_series(1, ${count})`,
  );
  await copy("runs", { id: "n.run", root_id: "n.run" }, "t.id");
  await copy("run_log", { run_id: "n.run", call_id: "case when t.call_id is not null then n.call end" }, "t.run_id");
  await copy("tool_calls", { id: "n.call", run_id: "n.run", approval_id: "n.approval" }, "t.run_id");
  await copy("approvals", { id: "n.approval", run_id: "n.run", call_id: "n.call", task_id: "n.task" }, "t.run_id");
  await copy("tasks", { id: "n.task", run_id: "n.run", approval_id: "n.approval" }, "t.run_id");
  await sql.unsafe("drop table copies; analyze");
}

test("DU36, DU42: 10,000 paused runs with deadlines cost a worker nothing: no heap, timer, handle or connection, and a decision on one is as quick", async () => {
  const world = await makeWorld(sql, {
    name: "agent",
    model: "scripted",
    toolset: ["send"],
    approvalExpiresMs: 86_400_000,
  });
  const { worker, engine, stop } = aWorker(
    url,
    [sendingTool("send", () => ({ kind: "done", content: "sent" }))],
    ({ results }) => (results.length === 0 ? { use: [{ tool: "send", args: {} }] } : { say: "ok" }),
  );
  const goThrough = async (): Promise<number> => {
    const runId = await givenRun(sql, world);
    await until(async () => (await runRow(sql, runId)).status === "paused");
    const decidedAt = performance.now();
    await decidePending(sql, world, runId, "approve");
    worker.wake();
    await until(async () => (await runRow(sql, runId)).status === "completed");
    return performance.now() - decidedAt;
  };
  for (let n = 0; n < 10; n += 1) await goThrough();
  // Every connection that the pools may open is open from here on.
  for (const client of [sql, engine.sql])
    await Promise.all(Array.from({ length: 10 }, () => client`select pg_sleep(0.05)`));
  const before = await footprint();

  const parkedHere = await Promise.all(Array.from({ length: 200 }, () => givenRun(sql, world)));
  await until(async () => {
    const [row] = await sql<{ n: number }[]>`select count(*)::int as n from runs where status = 'paused'`;
    return row?.n === 200;
  });
  await multiply(parkedHere[0] ?? "", 9_800);
  await until(() => worker.inHand() === 0);
  const took = await goThrough();
  const after = await footprint();

  const [paused] = await sql<
    { n: number }[]
  >`select count(*)::int as n from runs where status = 'paused' and wake_at is not null`;
  expect(paused?.n).toBe(10_000);
  expect(after.heapMb - before.heapMb).toBeLessThan(4);
  // A pool may have opened connections that it had not needed before, such as those for whoever waits for a lock.
  expect(after.sockets - before.sockets).toBeLessThanOrEqual(10);
  expect(after.timers - before.timers).toBeLessThanOrEqual(3);
  expect(after.connections - before.connections).toBeLessThanOrEqual(10);
  expect(took).toBeLessThan(2_000);
  expect(await outcomeOf(sql, parkedHere[0] ?? "")).toBe("paused: approval");
  expect(engine.events).toEqual([]);
  await stop();
});
