import { connect } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { afterEach, expect, test, vi } from "vitest";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, crash, crashAt, decidePending, endEveryRun, outcomeOf, stopPoint, until } from "./testing/driver.ts";
import { makeEngine, readingTool, sendingTool, takeRun } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { countRows, runRow } from "./testing/rows.ts";
import { startTcpProxy } from "@countersign/db/testing/tcp-proxy.ts";
import { aWorker, type TestWorker } from "./testing/worker.ts";
import type { OutsideContext, Tool, ToolResult } from "./tool.ts";

const { url, sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act"] };
const done = (content: string): ToolResult => ({ kind: "done", content });

const workers: TestWorker[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(workers.splice(0).map((worker) => worker.stop(0)));
  await endEveryRun(sql);
});

function start(tools: readonly Tool[], options: Parameters<typeof aWorker>[3] = {}, scenario = actOnce): TestWorker {
  const worker = aWorker(url, tools, scenario, options);
  workers.push(worker);
  return worker;
}

const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: {} }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

const hasEnded = async (runId: string): Promise<boolean> =>
  ["completed", "failed"].includes((await runRow(sql, runId)).status);

/** Waits for its abort, says when it came, and answers then. */
function abortableTool(effect: string, answer: () => ToolResult = () => done("stopped")) {
  const started = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<number>();
  const tool = readingTool("act", () => done(""), {
    effect,
    longRunning: true,
    execute: async (_args: unknown, { signal }: OutsideContext) => {
      started.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      aborted.resolve(performance.now());
      return answer();
    },
  });
  return { tool, started: started.promise, aborted: aborted.promise };
}

test("DU13: a call longer than its lease is renewed and runs once, though sweepers and another worker look on", async () => {
  const world = await makeWorld(sql, spec);
  let executions = 0;
  const leaseMs = 2_000;
  const long = readingTool(
    "act",
    async () => {
      executions += 1;
      const [lease] = await sql`select lease_until from runs where id = ${runId}`;
      await until(async () => {
        const [over] = await sql`select clock_timestamp() > ${lease?.["lease_until"]} as is_so`;
        return over?.["is_so"] === true;
      });
      return done("at last");
    },
    { effect: "once" },
  );
  const pair = [1, 2].map((n) => start([long], { leaseMs, renewMs: 100, sweepMs: 20, name: `worker ${n}` }));
  const runId = await givenRun(sql, world);
  await until(() => hasEnded(runId));
  expect(executions).toBe(1);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok at last");
  expect(await runRow(sql, runId)).toMatchObject({ epoch: 1 });
  expect(pair.flatMap(({ engine }) => engine.events)).toEqual([]);
});

test("a lease whose row was locked when its renewal came is renewed as soon as the lock is gone, not a beat later", async () => {
  const world = await makeWorld(sql, spec);
  const middle = stopPoint<ToolResult>();
  const runId = await givenRun(sql, world);
  // Two thirds of the lease are over before the second beat.
  const leaseMs = 3_000;
  const { engine } = start([readingTool("act", () => middle.stay())], {
    leaseMs,
    renewMs: 1_200,
    sweepMs: 60_000,
  });
  await middle.reached;
  await transaction(sql, async (tx) => {
    await tx`select from runs where id = ${runId} for no key update`;
    await until(async () => {
      const passedOver = await sql`
        select 1 from pg_stat_activity where datname = current_database() and state = 'idle' and query like '%from renew_leases(%'`;
      return passedOver.length > 0;
    });
  });
  const remainingMs = async (): Promise<number> => {
    const [row] = await sql<{ ms: number }[]>`
      select (extract(epoch from lease_until - clock_timestamp()) * 1000)::float as ms from runs where id = ${runId}`;
    return row?.ms ?? 0;
  };
  await until(async () => (await remainingMs()) > leaseMs - 1_000);
  middle.letGo(done("seen"));
  await until(() => hasEnded(runId));
  expect(engine.events).toEqual([]);
});

test("DU24: the run of a worker that died is taken by another within a lease and a sweep", async () => {
  const world = await makeWorld(sql, spec);
  const middle = stopPoint<ToolResult>();
  const dead = makeEngine(sql, [readingTool("act", () => middle.stay())], actOnce);
  const runId = await givenRun(sql, world);
  const held = await takeRun(dead, runId, 200);
  expect(held.hold.epoch).toBe(1);
  start([readingTool("act", () => done("seen"))], { sweepMs: 50 });
  await until(() => hasEnded(runId));
  expect(await runRow(sql, runId)).toMatchObject({ epoch: 2 });
});

// In the second round nobody polls: taking the run again is how the worker learns of its loss.
test.each([20, 60_000])(
  "a worker that lost its lease aborts the call (poll %i ms), also where it takes the run again itself; what it still found out is evidence",
  async (pollMs) => {
    const world = await makeWorld(sql, spec);
    const { tool, started, aborted } = abortableTool("once", () => done("sent after all"));
    const runId = await givenRun(sql, world);
    const { engine, worker } = start([tool], { sweepMs: 60_000, pollMs });
    await started;
    await crash(sql, runId);
    worker.wake();
    await aborted;
    await until(async () => (await countRows(sql, "late_results", runId)) === 1);
    const late = await sql`select status, result from late_results where run_id = ${runId}`;
    expect(late).toEqual([{ status: "done", result: '"sent after all"' }]);
    await until(async () => (await runRow(sql, runId)).waits_on === "outcome");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", attempt: 1 }]);
    await until(() => worker.inHand() === 0);
    expect(engine.events.map(({ kind }) => kind)).toEqual(["lease.lost"]);
  },
);

test("a worker that cannot renew stops its work at two thirds of the lease, also where its renewals hang without an error", async () => {
  const world = await makeWorld(sql, spec);
  const proxy = await startTcpProxy(url);
  const leaseMs = 1_500;
  const { tool, started, aborted } = abortableTool("read-only");
  const { engine } = start([tool], {
    leaseMs,
    renewMs: 100,
    sweepMs: 60_000,
    renewals: connect(proxy.url, { max: 1 }),
  });
  const runId = await givenRun(sql, world);
  await started;
  await until(async () => {
    const [row] =
      await sql`select 1 from pg_stat_activity where query like '%renew_leases%' and pid <> pg_backend_pid()`;
    return row !== undefined;
  });
  proxy.swallow("all");
  const silentAt = performance.now();
  expect((await aborted) - silentAt).toBeGreaterThan(leaseMs / 3);
  const [lease] = await sql`select lease_until > clock_timestamp() as is_ours_still from runs where id = ${runId}`;
  expect(lease).toEqual({ is_ours_still: true });
  await until(() => engine.events.length > 0);
  expect(engine.events).toEqual([{ kind: "lease.lost", runId }]);
  expect(await runRow(sql, runId)).toMatchObject({ is_leased: true, epoch: 1 });
  await proxy.close();
});

test("DU41: a stopping worker gives its runs back ready, with the epoch kept, and takes no more", async () => {
  const world = await makeWorld(sql, spec);
  const { tool, started } = abortableTool("read-only");
  const given = start([tool], { leaseMs: 60_000 });
  const runId = await givenRun(sql, world);
  await started;
  const began = performance.now();
  await given.worker.stop(100);
  expect(performance.now() - began).toBeLessThan(20_000);
  expect(given.worker.inHand()).toBe(0);
  expect(await runRow(sql, runId)).toMatchObject({
    status: "running",
    is_leased: false,
    is_ready: true,
    epoch: 1,
    claims: 0,
  });
  expect(given.engine.events).toEqual([]);
  const next = await givenRun(sql, world);
  given.worker.wake();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await runRow(sql, next)).toMatchObject({ is_leased: false, is_ready: true, epoch: 0 });
});

test("DU41: what ends within the grace time is recorded before the run is given back", async () => {
  const world = await makeWorld(sql, spec);
  const middle = stopPoint<ToolResult>();
  const { worker } = start([readingTool("act", () => middle.stay(), { effect: "once" })], { leaseMs: 60_000 });
  const runId = await givenRun(sql, world);
  await middle.reached;
  const stopping = worker.stop(30_000);
  middle.letGo(done("sent"));
  await stopping;
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "done", result: "sent" }]);
  expect(await runRow(sql, runId)).toMatchObject({ is_leased: false, is_ready: true, epoch: 1 });
});

test("DU41: an effect that is cut off by the stop is unknown, and a person is asked", async () => {
  const world = await makeWorld(sql, spec);
  const { tool, started } = abortableTool("once", () => {
    throw new Error("aborted");
  });
  const { worker } = start([tool]);
  const runId = await givenRun(sql, world);
  await started;
  await worker.stop(0);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown" }]);
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "outcome", is_leased: false });
});

test("DU41: a run in the middle of a model's answer is given back too, and nothing of the turn is recorded", async () => {
  const world = await makeWorld(sql, spec);
  const asked = stopPoint();
  const over = {
    model: async (_request: unknown, signal: AbortSignal) => {
      void asked.stay();
      return await new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("aborted"))),
      );
    },
  };
  const { worker, engine } = start([], { over, leaseMs: 60_000 });
  const runId = await givenRun(sql, world);
  await asked.reached;
  await worker.stop(20);
  expect(await runRow(sql, runId)).toMatchObject({ is_leased: false, is_ready: true, epoch: 1, turns: 0 });
  expect(engine.events).toEqual([]);
});

test("DU41: a run that is claimed while the worker stops is given back before the stop is done", async () => {
  const world = await makeWorld(sql, spec);
  for (let round = 0; round < 5; round += 1) {
    const runIds = await Promise.all(Array.from({ length: 5 }, () => givenRun(sql, world)));
    const { worker } = start([], { pollMs: 60_000, sweepMs: 60_000, leaseMs: 60_000 }, () => ({ say: "ok" }));
    await worker.stop(2_000);
    for (const runId of runIds) expect((await runRow(sql, runId)).is_leased).toBe(false);
  }
});

test.each([5, -5])(
  "DU38: a worker whose clock is %i minutes wrong takes nothing over early and lets nothing expire early",
  async (minutes) => {
    const world = await makeWorld(sql, { ...spec, approvalExpiresMs: 60_000 });
    const held = makeEngine(sql, [sendingTool("act", () => done("sent"))], actOnce);
    const leased = await givenRun(sql, world);
    await takeRun(held, leased, 60_000);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * 60_000 });
    const { engine } = start([sendingTool("act", () => done("sent"))]);
    const runId = await givenRun(sql, world);
    await until(async () => (await runRow(sql, runId)).status === "paused");
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await runRow(sql, leased)).toMatchObject({ epoch: 1, is_leased: true });
    expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "approval" });
    const [deadline] = await sql`
    select expires_at between clock_timestamp() and clock_timestamp() + interval '61 seconds' as is_ours from approvals where run_id = ${runId}`;
    expect(deadline).toEqual({ is_ours: true });
    await decidePending(sql, world, runId, "approve");
    await until(() => hasEnded(runId));
    expect(await outcomeOf(sql, runId)).toBe("completed: ok sent");
    expect(engine.events).toEqual([]);
  },
);

test.each(["read-only", "idempotent"] as const)(
  "DU39: a %s tool that always kills its process ends in quarantine, and the model was asked once",
  async (effect) => {
    const world = await makeWorld(sql, spec);
    let asked = 0;
    const runId = await givenRun(sql, world);
    let deaths = 0;
    for (; deaths < 10; deaths += 1) {
      const death = stopPoint<ToolResult>();
      const engine = makeEngine(sql, [readingTool("act", () => death.stay(), { effect })], (stage) => {
        asked += 1;
        return actOnce(stage);
      });
      if (!(await runRow(sql, runId)).is_ready) break;
      await crashAt(engine, await takeRun(engine, runId), death.reached, 3);
    }
    expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "quarantine", is_ready: false });
    // The first death came after progress: the turn was recorded.
    expect(deaths).toBe(4);
    expect(asked).toBe(1);
  },
);

test("DU07: a worker whose connections go silent, while new ones can be made, works on without being told", async () => {
  const world = await makeWorld(sql, spec);
  const proxy = await startTcpProxy(url);
  const looking = readingTool("act", () => done("seen"));
  const { stop } = aWorker(proxy.url, [looking], actOnce, { silentMs: 500 });
  const before = await givenRun(sql, world);
  await until(() => hasEnded(before));
  proxy.swallow("present");
  const after = await givenRun(sql, world);
  await until(() => hasEnded(after));
  expect(await outcomeOf(sql, after)).toBe("completed: ok seen");
  await proxy.close();
  await stop(0);
});
