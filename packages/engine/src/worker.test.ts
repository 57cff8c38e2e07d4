import { afterEach, describe, expect, test } from "vitest";
import { startRun } from "./commits/start-run.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, decidePending, endEveryRun, outcomeOf, steer, stopPoint, until } from "./testing/driver.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { poisonRun } from "./testing/poison.ts";
import { countRows, runRow } from "./testing/rows.ts";
import { aWorker, type TestWorker } from "./testing/worker.ts";
import type { Tool, ToolResult } from "./tool.ts";

const { url, sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["look", "send"] };
const done = (content: string): ToolResult => ({ kind: "done", content });

const workers: TestWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  await endEveryRun(sql);
});

function start(tools: readonly Tool[], scenario: Scenario, options: Parameters<typeof aWorker>[3] = {}): TestWorker {
  const worker = aWorker(url, tools, scenario, options);
  workers.push(worker);
  return worker;
}

const sendOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "send", args: {} }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

const hasEnded = async (runId: string): Promise<boolean> =>
  ["completed", "failed"].includes((await runRow(sql, runId)).status);
const isPaused = async (runId: string): Promise<boolean> => (await runRow(sql, runId)).status === "paused";

test("a gated run goes its whole way: found, parked with nothing in hand, woken by the decision, ended", async () => {
  const world = await makeWorld(sql, spec);
  const { worker, engine } = start([sendingTool("send", () => done("sent"))], sendOnce, {
    bellUrl: url,
    pollMs: 60_000,
  });
  const runId = await givenRun(sql, world);
  worker.wake();
  await until(() => isPaused(runId));
  await until(() => worker.inHand() === 0);
  await decidePending(sql, world, runId, "approve");
  worker.wake();
  await until(() => hasEnded(runId));
  expect(await outcomeOf(sql, runId)).toBe("completed: ok sent");
  expect(engine.events).toEqual([]);
});

test("the bell wakes a worker that would not have looked for a minute", async () => {
  const world = await makeWorld(sql, spec);
  const { engine } = start([], () => ({ say: "hello" }), { bellUrl: url, pollMs: 60_000, sweepMs: 60_000 });
  // Its first look is over, and its listener listens.
  await until(async () => {
    const [row] = await sql`select 1 from pg_stat_activity where datname = current_database() and query like 'listen%'`;
    return row !== undefined;
  });
  const runId = await started(engine, world.workspaceId, world.definitionId, world.operator);
  await until(() => hasEnded(runId), 2_000);
});

async function started(
  { commit }: Pick<TestWorker["engine"], "commit">,
  workspaceId: string,
  definitionId: string,
  startedBy: string,
): Promise<string> {
  const outcome = await commit(startRun, {
    runId: crypto.randomUUID(),
    workspaceId,
    definitionId,
    definitionVersion: 1,
    startedBy,
    title: "a run",
    input: '"do"',
    grants: [],
  });
  if (outcome.kind !== "started") throw new Error(outcome.kind);
  return outcome.runId;
}

test("DU06: without its listener a worker goes on within a poll, and its listener comes back", async () => {
  const world = await makeWorld(sql, spec);
  const pollMs = 200;
  const { engine } = start([sendingTool("send", () => done("sent"))], sendOnce, { bellUrl: url, pollMs });
  const runId = await givenRun(sql, world);
  await until(() => isPaused(runId));
  const listeners = () => sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and query like 'listen%'`;
  await until(async () => (await listeners()).length === 1);
  const [before] = await listeners();
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name in ('countersign listener', 'countersign bell')`;
  await decidePending(sql, world, runId, "approve");
  await until(() => hasEnded(runId));
  await until(async () => {
    const [now] = await listeners();
    return now !== undefined && now.pid !== before?.pid;
  });
  expect(engine.events).toEqual([]);
});

test("DU16: of two workers with the same hint twice one takes the run, and no step is recorded twice", async () => {
  const world = await makeWorld(sql, spec);
  let looks = 0;
  const tools = [readingTool("look", () => done(`look ${(looks += 1)}`))];
  const scenario: Scenario = ({ turn }) => (turn < 2 ? { use: [{ tool: "look", args: {} }] } : { say: "ok" });
  const pair = [1, 2].map((n) => start(tools, scenario, { pollMs: 60_000, sweepMs: 60_000, name: `worker ${n}` }));
  const runIds = await Promise.all(Array.from({ length: 10 }, () => givenRun(sql, world)));
  for (const { worker } of [...pair, ...pair]) worker.wake();
  await until(async () => (await Promise.all(runIds.map(hasEnded))).every(Boolean));
  expect(looks).toBe(20);
  for (const runId of runIds) {
    expect(await runRow(sql, runId)).toMatchObject({ status: "completed", epoch: 1, turns: 3 });
    expect(await countRows(sql, "tool_calls", runId)).toBe(2);
  }
});

test("what does not fit in a worker's hands is taken as soon as there is room, without a poll", async () => {
  const world = await makeWorld(sql, spec);
  let most = 0;
  const runIds = await Promise.all(Array.from({ length: 60 }, () => givenRun(sql, world)));
  const looking = readingTool("look", async () => {
    most = Math.max(most, worker.inHand());
    await new Promise((resolve) => setTimeout(resolve, 2));
    return done("seen");
  });
  const { worker } = start(
    [looking],
    ({ turn }) => (turn === 0 ? { use: [{ tool: "look", args: {} }] } : { say: "ok" }),
    {
      capacity: 7,
      pollMs: 60_000,
      sweepMs: 60_000,
    },
  );
  await until(async () => (await Promise.all(runIds.map(hasEnded))).every(Boolean), 5_000);
  expect(most).toBeLessThanOrEqual(7);
});

test("a call that is approved while a sibling executes begins at once, under the same epoch, and nobody is fenced", async () => {
  const world = await makeWorld(sql, spec);
  const middle = stopPoint<ToolResult>();
  const sent: string[] = [];
  const tools = [
    readingTool("look", () => middle.stay()),
    sendingTool("send", () => {
      sent.push("sent");
      return done("sent");
    }),
  ];
  const scenario: Scenario = ({ turn, results }) =>
    turn === 0
      ? { use: ["look", "send"].map((tool) => ({ tool, args: {} })) }
      : { say: results.map(({ content }) => content).join(" ") };
  const { engine } = start(tools, scenario);
  const runId = await givenRun(sql, world);
  await middle.reached;
  await until(async () => (await countRows(sql, "approvals", runId)) === 1);
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "approval", is_leased: true, epoch: 1 });
  await decidePending(sql, world, runId, "approve");
  await until(() => sent.length === 1);
  await until(async () => (await callsOf(sql, runId))[1]?.status === "done");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "requested" }, { status: "done" }]);
  middle.letGo(done("seen"));
  await until(() => hasEnded(runId));
  expect(await outcomeOf(sql, runId)).toBe("completed: seen sent");
  expect(await runRow(sql, runId)).toMatchObject({ epoch: 1 });
  expect(engine.events).toEqual([]);
});

test("a run that cannot be taken in hand harms no other, and is told to the operator", async () => {
  const world = await makeWorld(sql, spec);
  const broken = await makeWorld(sql, { name: "" });
  const bad = await givenRun(sql, broken);
  const good = await givenRun(sql, world);
  const { engine } = start([], () => ({ say: "ok" }), { leaseMs: 60_000, renewMs: 60_000 });
  await until(() => hasEnded(good));
  expect(engine.events).toMatchObject([{ kind: "run.dropped", runId: bad }]);
});

test("DU39: a run that can never be taken in hand ends in quarantine after as many claims as are allowed, found by the sweep", async () => {
  const broken = await makeWorld(sql, { name: "" });
  const runId = await givenRun(sql, broken);
  const { engine } = start([], () => ({ say: "ok" }), { leaseMs: 40, renewMs: 10, sweepMs: 20, maxClaims: 3 });
  await until(async () => (await runRow(sql, runId)).waits_on === "quarantine");
  expect(await runRow(sql, runId)).toMatchObject({
    status: "paused",
    epoch: 3,
    claims: 3,
    is_ready: false,
    is_leased: false,
  });
  await until(() => engine.events.some(({ kind }) => kind === "run.quarantined"));
  expect(engine.events.filter(({ kind }) => kind === "run.dropped")).toHaveLength(3);
});

describe("DU23, DU39: a run whose rows make its claim fail", () => {
  /** Its wait for the next try is over, again and again, until it is in quarantine. */
  const isQuarantined = async (runId: string): Promise<boolean> => {
    await sql`update runs set ready_at = clock_timestamp() where id = ${runId} and ready_at > clock_timestamp()`;
    return (await runRow(sql, runId)).waits_on === "quarantine";
  };

  test("keeps nobody from a worker with room for one, and ends in quarantine after as many claims as are allowed", async () => {
    const world = await makeWorld(sql, spec);
    const culprit = await givenRun(sql, world);
    const sound = await givenRun(sql, world);
    const cure = await poisonRun(sql, culprit, "new.lease_id is not null");
    const { engine } = start([], () => ({ say: "ok" }), { capacity: 1, maxClaims: 3 });
    await until(() => hasEnded(sound));
    await until(() => isQuarantined(culprit));
    await cure();
    expect(await runRow(sql, culprit)).toMatchObject({ status: "paused", epoch: 0, claims: 3, is_ready: false });
    await until(() => engine.events.some(({ kind }) => kind === "run.quarantined"));
    expect(engine.events).toMatchObject([
      ...Array.from({ length: 3 }, () => ({ kind: "claim.failed", runId: culprit })),
      { kind: "run.quarantined", runId: culprit },
    ]);
  });

  test("with its news only is given back after what is under way, and ends the same", async () => {
    const world = await makeWorld(sql, spec);
    const middle = stopPoint<ToolResult>();
    const { engine } = start(
      [readingTool("look", () => middle.stay())],
      ({ turn }) => (turn === 0 ? { use: [{ tool: "look", args: {} }] } : { say: "ok" }),
      { maxClaims: 2 },
    );
    const runId = await givenRun(sql, world);
    await middle.reached;
    // Of what is written to a run that is held only a claim leaves `changed` alone.
    const isClaim = "new.lease_id is not null and new.ready_at is null and new.changed = old.changed";
    const cure = await poisonRun(sql, runId, isClaim);
    await steer(sql, world, runId, "hurry");
    await until(() => engine.events.some(({ kind }) => kind === "claim.failed"));
    middle.letGo(done("seen"));
    await until(() => isQuarantined(runId));
    await cure();
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "done" }]);
    expect(await runRow(sql, runId)).toMatchObject({ epoch: 1, is_leased: false, unread: 1 });
  });
});

test("a steer to a run in hand is read in its next turn", async () => {
  const world = await makeWorld(sql, spec);
  const middle = stopPoint<ToolResult>();
  start([readingTool("look", () => middle.stay())], ({ turn, said }) =>
    turn === 0 ? { use: [{ tool: "look", args: {} }] } : { say: said.join("|") },
  );
  const runId = await givenRun(sql, world);
  await middle.reached;
  await steer(sql, world, runId, "hurry");
  middle.letGo(done("seen"));
  await until(() => hasEnded(runId));
  expect(await outcomeOf(sql, runId)).toBe("completed: please do|hurry");
});
