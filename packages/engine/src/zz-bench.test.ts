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

test("bench", async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["send"] });
  const set = async (on: boolean) => {
    await sql.unsafe(
      `alter table runs ${on ? "enable" : "disable"} trigger runs_changed; alter table tasks ${on ? "enable" : "disable"} trigger tasks_changed`,
    );
    for (const n of ["runs", "tasks"]) {
      await sql.unsafe(`drop index if exists ${n}_changed`);
      if (on) await sql.unsafe(`create index ${n}_changed on ${n} (changed)`);
    }
    await sql.unsafe("checkpoint");
  };
  const wal = async () => (await sql<{ w: number }[]>`select (pg_current_wal_insert_lsn() - '0/0')::bigint as w`)[0]!.w;
  await countCommits(world, 64, 300);
  const sums: Record<string, number[]> = {};
  for (let round = 0; round < 8; round += 1) {
    for (const on of round % 2 ? [true, false] : [false, true]) {
      await set(on);
      const before = await wal();
      const { perSecond, perRun } = await countCommits(world, Number(process.env["AT"] ?? 64), 1200);
      const bytes = (await wal()) - before;
      (sums[String(on)] ??= []).push(perSecond);
      console.log(
        on ? "with   " : "without",
        perSecond.toFixed(0),
        "runs/s",
        perRun.toFixed(2),
        "tx/run",
        (bytes / 1200).toFixed(0),
        "WAL bytes/run",
      );
    }
  }
  for (const [k, v] of Object.entries(sums)) {
    const s = v.toSorted((a, b) => a - b);
    console.log(k, "median", ((s[3]! + s[4]!) / 2).toFixed(0), "max", s[7]!.toFixed(0));
  }
}, 600_000);
