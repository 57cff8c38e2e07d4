import { connect, type Sql } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { createBell, listenToBell } from "@countersign/engine/bell.ts";
import { createCommitter } from "@countersign/engine/committer.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { startRun } from "@countersign/engine/commits/start-run.ts";
import { createEngine } from "@countersign/engine/create-engine.ts";
import { makeAgent, type MadeAgent } from "@countersign/engine/make-agent.ts";
import type { Model } from "@countersign/engine/model.ts";
import { defineTool, type Tool } from "@countersign/engine/tool.ts";
import { startWorker } from "@countersign/engine/worker.ts";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import type { Contestant, Opened } from "./contestant.ts";
import { openObserver } from "./observer.ts";

export const ours: Contestant = {
  name: "Countersign",
  settings: () => [{}],
  prepare: prepareOurs,
  open: async (url, _setting, onEffect) => await openOurs(url, onEffect),
};

/** Afterwards the database is migrated and has the one definition that is measured. */
export async function prepareOurs(url: string): Promise<void> {
  const sql = connect(url, { max: 1 });
  await migrate(sql);
  await makeAgent(sql, { name: "bench", model: "none", toolset: ["mail.send"] });
  await sql.end();
}

/** Says nothing at all: asks for the one call first, and ends with the next turn. */
export const noModel: Model = async ({ messages }) => ({
  content:
    messages.length === 1
      ? [{ type: "tool_use", id: `toolu_${uuidv7()}`, name: "mail.send", argsText: "{}" }]
      : [{ type: "text", text: "done" }],
  usage: { inputTokens: 1, outputTokens: 1, costMicros: 0 },
});

/** An effect that happens only once, needs a credential and a person's word, and does nothing. */
export function effectTool(onEffect: (id: string) => void): Tool {
  return defineTool<object>({
    name: "mail.send",
    description: "Does nothing",
    schema: z.looseObject({}),
    requires: ["mail.send"],
    needsApproval: true,
    effect: "once",
    execute: async (_args, { runId }) => {
      onEffect(runId);
      return { kind: "done", content: "ok" };
    },
  });
}

/** The worker's usual times, and room for all that is measured at a time. */
const workerOptions = {
  name: "bench",
  capacity: 512,
  leaseMs: 30_000,
  renewMs: 10_000,
  sweepMs: 1_000,
  pollMs: 1_000,
  maxClaims: 5,
} as const;

/** A worker with the bell, as the worker's process has them. */
export function startOwnWorker(url: string, onEffect: (id: string) => void): { stop(): Promise<void> } {
  const pool = (purpose: string, max: number): Sql => connect(url, { max, applicationName: `bench worker${purpose}` });
  const sql = pool("", 10);
  const stragglers = pool(", waiting", 5);
  const renewals = pool(", renewing", 2);
  const bell = createBell(url);
  const engine = createEngine({
    sql,
    stragglers,
    ring: () => bell.ring(),
    tools: [effectTool(onEffect)],
    model: noModel,
    openCapability: async () => ({ use: (body) => body("a secret") }),
    report: (event) => console.error(event),
  });
  const worker = startWorker(engine, { ...workerOptions, renewals });
  const listener = listenToBell(url, sql, { onRing: worker.wake, onUnavailable: () => undefined });
  return {
    async stop() {
      await worker.stop(5_000);
      await Promise.all([listener.close(), bell.close()]);
      await Promise.all([sql, stragglers, renewals].map((client) => client.end()));
    },
  };
}

/** The agent that was made for measuring. */
export async function findAgent(sql: Sql): Promise<MadeAgent> {
  const [agent] = await sql<MadeAgent[]>`
    select d.workspace_id as "workspaceId", u.id as "userId", d.id as "definitionId"
      from definitions d join users u on u.workspace_id = d.workspace_id where d.name = 'bench'`;
  if (agent === undefined) throw new Error("The database has no definition named bench; prepare it first");
  return agent;
}

interface Pending {
  readonly id: string;
  readonly run_id: string;
  readonly args_hash: string;
}

const waiting = `
  select a.id, a.run_id, a.args_hash
    from tool_calls c
   cross join lateral (select * from approvals a where a.id = c.approval_id offset 0) a
   where c.run_id = any ($1::uuid[]) and a.status = 'pending'`;

const over = "select id from runs where id = any ($1::uuid[]) and status in ('completed', 'failed')";

/** The approvals that these runs wait for. */
export async function waitingOf(sql: Sql, runs: readonly string[]): Promise<readonly Pending[]> {
  return await sql.unsafe<Pending[]>(waiting, [runs as string[]], { prepare: true });
}

/** What waits and what has ended, for `observe`. */
export async function observeRuns(
  sql: Sql,
  undecided: readonly string[],
  decided: readonly string[],
): Promise<{ pending: readonly Pending[]; ended: readonly string[] }> {
  const [pending, ended] = await Promise.all([
    undecided.length === 0 ? [] : waitingOf(sql, undecided),
    decided.length === 0 ? [] : sql.unsafe<{ id: string }[]>(over, [decided as string[]], { prepare: true }),
  ]);
  return { pending, ended: ended.map(({ id }) => id) };
}

async function openOurs(url: string, onEffect: (id: string) => void): Promise<Opened> {
  const sql = connect(url, { max: 10, applicationName: "bench server" });
  const observer = await openObserver(url);
  const bell = createBell(url);
  const agent = await findAgent(sql);
  const commit = createCommitter({ sql, stragglers: sql, ring: () => bell.ring() });
  const worker = startOwnWorker(url, onEffect);
  return {
    async start() {
      const runId = uuidv7();
      await commit(startRun, {
        runId,
        workspaceId: agent.workspaceId,
        definitionId: agent.definitionId,
        definitionVersion: 1,
        startedBy: agent.userId,
        title: "a run",
        input: '"please"',
        grants: ["mail.send"],
      });
      return runId;
    },
    async observe(undecided, decided) {
      const { pending, ended } = await observeRuns(observer, undecided, decided);
      const waiting = pending.map((approval) => ({
        id: approval.run_id,
        decide: async () => {
          const outcome = await commit(decideApproval, {
            runId: approval.run_id,
            approvalId: approval.id,
            workspaceId: agent.workspaceId,
            userId: agent.userId,
            answer: "approve",
            version: 1,
            argsHash: approval.args_hash,
          });
          if (outcome.kind !== "decided")
            throw new Error(`The decision of ${approval.id} was answered ${outcome.kind}`);
        },
      }));
      return { waiting, ended };
    },
    async close() {
      await worker.stop();
      await Promise.all([sql.end(), observer.end(), bell.close()]);
    },
  };
}
