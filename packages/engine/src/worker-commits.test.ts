import { expect, test } from "vitest";
import { v7 as uuidv7 } from "uuid";
import { decideApproval } from "./commits/decide-approval.ts";
import { recordTurn, type RecordTurn } from "./commits/record-turn.ts";
import { startRun } from "./commits/start-run.ts";
import { createCommitter } from "./committer.ts";
import { sendingTool } from "./testing/engine.ts";
import { makeWorld, type World } from "./testing/fixtures.ts";
import { ownServer } from "./testing/own-server.ts";
import { aWorker } from "./testing/worker.ts";

// Transaction ids are counted over a whole server, and commits that wait for a disk are what groups form behind.
const { url, sql } = await ownServer();

/** The next transaction id: only transactions that write take one. */
async function nextXid(): Promise<number> {
  const [row] = await sql<{ xid: number }[]>`select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xid`;
  return row?.xid ?? 0;
}

/** Drives `count` gated runs from start to end, `atOnce` of them at any moment; returns the write transactions per run. */
async function countCommits(
  world: World,
  atOnce: number,
  count: number,
): Promise<{ perRun: number; perSecond: number }> {
  const milestones = new Map<
    string,
    { parked: PromiseWithResolvers<RecordTurn>; finished: PromiseWithResolvers<void> }
  >();
  // The bell without its NOTIFY, which is a transaction of its own and no part of a run.
  let bell: NodeJS.Timeout | undefined;
  const ring = (): void => {
    bell ??= setTimeout(() => {
      bell = undefined;
      worker.worker.wake();
    }, 2);
  };
  const commit = createCommitter({ sql, stragglers: sql, ring });
  const worker = aWorker(
    url,
    [sendingTool("send", () => ({ kind: "done", content: "sent" }))],
    ({ results }) => (results.length === 0 ? { use: [{ tool: "send", args: {} }] } : { say: "ok" }),
    {
      capacity: 256,
      leaseMs: 60_000,
      renewMs: 60_000,
      sweepMs: 60_000,
      pollMs: 60_000,
      over: {
        commit: async (kind, transition) => {
          const outcome = await commit(kind, transition);
          if ((kind as unknown) !== recordTurn) return outcome;
          const turn = transition as unknown as RecordTurn;
          const { parked, finished } = milestones.get(turn.runId) ?? {};
          if (turn.output === undefined) parked?.resolve(turn);
          else finished?.resolve();
          return outcome;
        },
      },
    },
  );

  const runOne = async (): Promise<void> => {
    const runId = uuidv7();
    const milestone = { parked: Promise.withResolvers<RecordTurn>(), finished: Promise.withResolvers<void>() };
    milestones.set(runId, milestone);
    await commit(startRun, {
      runId,
      workspaceId: world.workspaceId,
      definitionId: world.definitionId,
      definitionVersion: 1,
      startedBy: world.operator,
      title: "a run",
      input: '"do"',
      grants: ["mail.send"],
    });
    const [call] = (await milestone.parked.promise).calls;
    if (call?.next.kind !== "approval") throw new Error("the call was not gated");
    const decided = await commit(decideApproval, {
      runId,
      approvalId: call.next.approvalId,
      workspaceId: world.workspaceId,
      userId: world.approver,
      answer: "approve",
      version: 1,
      argsHash: call.argsHash,
    });
    expect(decided.kind).toBe("decided");
    await milestone.finished.promise;
    milestones.delete(runId);
  };

  await runOne();
  const before = await nextXid();
  const beganAt = performance.now();
  let left = count;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await runOne();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  const seconds = (performance.now() - beganAt) / 1_000;
  const perRun = ((await nextXid()) - before) / count;
  await worker.stop();
  expect(worker.engine.events).toEqual([]);
  return { perRun, perSecond: count / seconds };
}

test.each([
  [16, 320, 4],
  [64, 768, 1.5],
])("of %i gated runs at a time each costs few write transactions", async (atOnce, count, bar) => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["send"] });
  const { perRun, perSecond } = await countCommits(world, atOnce, count);
  console.log(
    `${atOnce} at a time: ${perRun.toFixed(2)} write transactions per gated run, ${perSecond.toFixed(0)} runs/s`,
  );
  expect(perRun).toBeLessThanOrEqual(bar);
});
