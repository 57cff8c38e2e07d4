import { afterEach, describe, expect, test } from "vitest";
import { cancelRun } from "./commits/cancel-run.ts";
import { commitWithin } from "./commit.ts";
import { appScope, killScope, type Scope } from "./commits/kill-scope.ts";
import { liftScope } from "./commits/lift-scope.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, decidePending, endEveryRun, outcomeOf, until } from "./testing/driver.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { countRows, moveDeadlines, runRow } from "./testing/rows.ts";
import { aWorker, type TestWorker } from "./testing/worker.ts";
import type { OutsideContext, Tool, ToolResult } from "./tool.ts";

const { url, sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act", "send"] };
const done = (content: string): ToolResult => ({ kind: "done", content });

let workers: TestWorker[] = [];
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
  await endEveryRun(sql);
});

function start(tools: readonly Tool[], scenario: Scenario, options: Parameters<typeof aWorker>[3] = {}): TestWorker {
  const worker = aWorker(url, tools, scenario, options);
  workers.push(worker);
  return worker;
}

const hasEnded = async (runId: string): Promise<boolean> =>
  ["completed", "failed"].includes((await runRow(sql, runId)).status);

/** Takes until it is aborted the first time, and no time after that. */
function longTool(effect: string) {
  const started = Promise.withResolvers<void>();
  let attempts = 0;
  const tool = readingTool("act", () => done(""), {
    effect,
    longRunning: true,
    execute: async (_args: unknown, { signal }: OutsideContext) => {
      attempts += 1;
      if (attempts > 1) return done(`attempt ${attempts}`);
      started.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new Error("aborted");
    },
  });
  return { tool, started: started.promise, attempts: () => attempts };
}

const scopesOf = (world: World, runId: string): Scope[] => [
  appScope,
  { scope: "workspace", scopeId: world.workspaceId, workspaceId: world.workspaceId },
  { scope: "definition", scopeId: world.definitionId, workspaceId: world.workspaceId },
  { scope: "run", scopeId: runId, workspaceId: world.workspaceId },
];

const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: {} }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

describe.each([0, 1, 2, 3])("AZ69: a kill at scope %i (app, workspace, definition, run)", (index) => {
  test("keeps a ready run from being claimed, and a lift lets it go on by itself", async () => {
    const world = await makeWorld(sql, spec);
    const runId = await givenRun(sql, world);
    const scope = scopesOf(world, runId)[index] ?? appScope;
    await killScope(sql, scope, world.admin, "stop");
    start([], () => ({ say: "ok" }));
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await runRow(sql, runId)).toMatchObject({ epoch: 0, is_ready: true });
    await liftScope(sql, scope, world.admin);
    await until(() => hasEnded(runId));
  });

  test("aborts the call under way and gives the run back ready; after the lift it goes on", async () => {
    const world = await makeWorld(sql, spec);
    const { tool, started, attempts } = longTool("read-only");
    const { worker, engine } = start([tool], actOnce, { leaseMs: 60_000, renewMs: 60_000 });
    const runId = await givenRun(sql, world);
    await started;
    const scope = scopesOf(world, runId)[index] ?? appScope;
    await killScope(sql, scope, world.admin, "stop");
    await until(() => worker.inHand() === 0, 1_500);
    expect(await runRow(sql, runId)).toMatchObject({ is_leased: false, is_ready: true, epoch: 1 });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(attempts()).toBe(1);
    expect(await runRow(sql, runId)).toMatchObject({ is_leased: false, epoch: 1 });
    await liftScope(sql, scope, world.admin);
    await until(() => hasEnded(runId));
    expect(await outcomeOf(sql, runId)).toBe("completed: ok attempt 2");
    expect(engine.events).toEqual([]);
  });
});

test("AZ69: pending approvals are frozen under a kill and come back unchanged; a decision is refused as killed, and nothing expires", async () => {
  const world = await makeWorld(sql, { ...spec, approvalExpiresMs: 60_000 });
  let sent = 0;
  const { engine } = start([sendingTool("send", () => done(`sent ${(sent += 1)}`))], ({ results }) =>
    results.length === 0 ? { use: [{ tool: "send", args: {} }] } : { say: "ok" },
  );
  const runIds = await Promise.all([1, 2, 3].map(() => givenRun(sql, world)));
  for (const runId of runIds) await until(async () => (await runRow(sql, runId)).waits_on === "approval");
  const approvals = () =>
    sql`select id, status, version, card from approvals where run_id = any (${runIds}::uuid[]) order by id`;
  const before = await approvals();
  const [, workspace = appScope] = scopesOf(world, "");
  await killScope(sql, appScope, world.admin, "everything");
  await killScope(sql, workspace, world.admin, "this too");
  for (const runId of runIds) {
    expect((await decidePending(sql, world, runId, "approve")).kind).toBe("killed");
    await moveDeadlines(sql, runId, -1_000);
  }
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(await approvals()).toEqual(before);

  await liftScope(sql, appScope, world.admin);
  expect((await decidePending(sql, world, runIds[0] ?? "", "approve")).kind).toBe("killed");
  await liftScope(sql, workspace, world.admin);
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect((await approvals()).map(({ status }) => status as string)).toEqual(["pending", "pending", "pending"]);
  for (const runId of runIds) expect((await decidePending(sql, world, runId, "approve")).kind).toBe("decided");
  for (const runId of runIds) await until(() => hasEnded(runId));
  expect(sent).toBe(3);
  const audited =
    await sql`select action from audit where action like 'scope.%' and actor = ${`user:${world.admin}`} order by id`;
  expect(audited.map(({ action }) => action as string)).toEqual([
    "scope.killed",
    "scope.killed",
    "scope.lifted",
    "scope.lifted",
  ]);
  expect(engine.events).toEqual([]);
});

test("AZ69: an effect that is cut off by a kill is unknown, and its card waits for the lift", async () => {
  const world = await makeWorld(sql, spec);
  const { tool, started, attempts } = longTool("once");
  const { worker } = start([tool], actOnce);
  const runId = await givenRun(sql, world);
  await started;
  await killScope(sql, appScope, world.admin, "stop");
  await until(() => worker.inHand() === 0);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", attempt: 1 }]);
  expect((await decidePending(sql, world, runId, "retry")).kind).toBe("killed");
  await liftScope(sql, appScope, world.admin);
  expect((await decidePending(sql, world, runId, "retry")).kind).toBe("decided");
  await until(() => hasEnded(runId));
  expect(attempts()).toBe(2);
});

test("AZ69: a kill in the middle of the model's answer aborts it, gives the run back, and records nothing of the turn", async () => {
  const world = await makeWorld(sql, spec);
  let asked = 0;
  const over = {
    model: async (_request: unknown, signal: AbortSignal) => {
      asked += 1;
      if (asked > 1)
        return {
          content: [{ type: "text" as const, text: "ok" }],
          usage: { inputTokens: 1, outputTokens: 1, costMicros: 0 },
        };
      return await new Promise<never>((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(new Error("aborted"))),
      );
    },
  };
  const { worker, engine } = start([], () => ({}), { over, leaseMs: 60_000 });
  const runId = await givenRun(sql, world);
  await until(() => asked === 1);
  await killScope(sql, appScope, world.admin, "stop");
  await until(() => worker.inHand() === 0);
  expect(await runRow(sql, runId)).toMatchObject({ is_leased: false, is_ready: true, turns: 0, claims: 0 });
  await liftScope(sql, appScope, world.admin);
  await until(() => hasEnded(runId));
  expect(engine.events).toEqual([]);
});

test("AZ38: a cancel stops the call under way within a poll, and the run is not touched again", async () => {
  const world = await makeWorld(sql, spec);
  const { tool, started } = longTool("read-only");
  const { worker } = start([tool], actOnce, { leaseMs: 60_000 });
  const runId = await givenRun(sql, world);
  await started;
  await commitWithin(sql, cancelRun, {
    runId,
    workspaceId: world.workspaceId,
    userId: world.operator,
    reason: "enough",
  });
  await until(() => worker.inHand() === 0);
  expect(await outcomeOf(sql, runId)).toBe("canceled: enough");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "canceled", code: "canceled" }]);
  expect(await countRows(sql, "late_results", runId)).toBe(0);
});
