import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type Sql } from "@countersign/db/connect.ts";
import type { Opened } from "./contestant.ts";
import { type Effects, measure, percentile } from "./measure.ts";
import { findAgent, ours, startOwnWorker, waitingOf } from "./ours.ts";
import { type Api, openApi } from "./ours-over-http.ts";

/** What is measured with and without paused runs in the database. */
export interface WithRuns {
  /** From decision to effect of new runs, alone and at 16 at a time, and of runs that were loaded. */
  readonly aloneP50Ms: number;
  readonly sixteenP50Ms: number;
  readonly loadedP50Ms: number | undefined;
  readonly idle: IdleLoad;
  readonly claimMeanMs: number;
  /** Over HTTP, of the pages of the lists of runs, tasks and approvals. */
  readonly listP95Ms: number;
}

/** What a worker with nothing to do asks of the database. */
export interface IdleLoad {
  readonly connections: number;
  readonly statementsPerSecond: number;
  readonly databaseMsPerSecond: number;
  /** Beside that, for as long as it takes after its start: looking through open approvals for those of an older policy. */
  readonly judgingMsPerSecond: number;
}

export interface PausedRuns {
  readonly runs: number;
  readonly loadSeconds: number;
  readonly vacuumSeconds: number;
  readonly unloadSeconds: number;
  readonly bytesPerRun: number;
  readonly empty: WithRuns;
  readonly full: WithRuns;
}

const batch = 50_000;
const load = readFileSync(join(import.meta.dirname, "load-paused-runs.sql"), "utf8");

/**
 * Loads so many runs that wait for a decision into the prepared database at `url`, and measures before and after. The
 * measured database is left full; `drop` removes it and is timed.
 */
export async function measurePausedRuns(
  url: string,
  runs: number,
  windowMs: number,
  environment: NodeJS.ProcessEnv,
  drop: () => Promise<void>,
): Promise<PausedRuns> {
  const sql = connect(url, { max: 1, applicationName: "bench measure" });
  const agent = await findAgent(sql);
  const api = await openApi(url, environment);
  try {
    const template = await makeTemplate(sql, url);
    const empty = await measureWith(sql, url, api, windowMs);
    console.log("empty", empty);
    const emptyBytes = await sizeOf(sql);
    const loadSeconds = await timed(() => loadRuns(sql, runs, template));
    console.log(`loaded ${runs} in ${loadSeconds.toFixed(0)} s`);
    const vacuumSeconds = await timed(async () => await sql.unsafe("vacuum analyze").simple());
    const bytesPerRun = ((await sizeOf(sql)) - emptyBytes) / runs;
    console.log(`${(bytesPerRun / 1_024).toFixed(2)} KB a run after ${vacuumSeconds.toFixed(0)} s of vacuum`);
    const measured = await measureWith(sql, url, api, windowMs);
    const full = { ...measured, loadedP50Ms: await decideLoaded(sql, url, agent.workspaceId, 200) };
    console.log("full", full);
    await api.stop();
    await sql.end();
    const unloadSeconds = await timed(drop);
    return { runs, loadSeconds, vacuumSeconds, unloadSeconds, bytesPerRun, empty, full };
  } finally {
    await sql.end();
  }
}

/** A real run that waits, for the others to be copied from. */
async function makeTemplate(sql: Sql, url: string): Promise<string> {
  const opened = await ours.open(url, {}, () => undefined);
  const runId = await opened.start();
  while ((await waitingOf(sql, [runId])).length === 0) await delay(10);
  await opened.close();
  return runId;
}

/** The rows are what the commits would have written, so the triggers that would check them one by one are left out. */
async function loadRuns(sql: Sql, runs: number, template: string): Promise<void> {
  await sql.unsafe("set session_replication_role = replica");
  for (let from = 0; from < runs; from += batch) {
    await sql.unsafe(load, [Math.min(batch, runs - from), template, from], { prepare: true });
  }
  await sql.unsafe("reset session_replication_role");
}

async function measureWith(sql: Sql, url: string, api: Api, windowMs: number): Promise<WithRuns> {
  const idle = await measureIdle(sql, url);
  await sql`select pg_stat_statements_reset()`;
  const aloneP50Ms = await effectP50(sql, url, 1, windowMs);
  const sixteenP50Ms = await effectP50(sql, url, 16, windowMs);
  const [claims] = await sql<{ mean: number }[]>`
    select sum(total_exec_time) / sum(calls) as mean from pg_stat_statements where query like '%from claim_runs(%' and toplevel`;
  return {
    aloneP50Ms,
    sixteenP50Ms,
    loadedP50Ms: undefined,
    idle,
    claimMeanMs: claims?.mean ?? Number.NaN,
    listP95Ms: await measureLists(api),
  };
}

async function effectP50(sql: Sql, url: string, atATime: number, windowMs: number): Promise<number> {
  await sql.unsafe("checkpoint");
  const effects: Effects = { heard: () => undefined };
  const opened: Opened = await ours.open(url, {}, (id) => effects.heard(id));
  try {
    return (await measure(sql, opened, { atATime, windowMs }, effects)).effectMs.p50;
  } finally {
    await opened.close();
  }
}

async function measureIdle(sql: Sql, url: string): Promise<IdleLoad> {
  const seconds = 5;
  const worker = startOwnWorker(url, () => undefined);
  await delay(2_000);
  await sql`select pg_stat_statements_reset()`;
  await delay(seconds * 1_000);
  const [row] = await sql<Omit<IdleLoad, "connections">[]>`
    select coalesce(sum(calls) filter (where not is_judging), 0)::float / ${seconds}::int as "statementsPerSecond",
           coalesce(sum(total_exec_time) filter (where not is_judging), 0) / ${seconds}::int as "databaseMsPerSecond",
           coalesce(sum(total_exec_time) filter (where is_judging), 0) / ${seconds}::int as "judgingMsPerSecond"
      from pg_stat_statements
     cross join lateral (select query like '%policy_of(array[a.run_id])%' as is_judging) q
     where toplevel and query not like '%pg_stat_statements_reset%'`;
  const [{ connections } = { connections: Number.NaN }] = await sql<{ connections: number }[]>`
    select count(*)::int as connections from pg_stat_activity where application_name like 'bench worker%'`;
  await worker.stop();
  if (row === undefined) throw new Error("The server keeps no statistics of statements");
  return { connections, ...row };
}

const lists = [
  "/v1/runs",
  ...["paused", "completed", "failed"].map((status) => `/v1/runs?status=${status}`),
  ...["open", "done", "dismissed", "expired"].map((status) => `/v1/tasks?status=${status}`),
  ...["pending", "approved", "expired"].map((status) => `/v1/approvals?status=${status}`),
];

/** First pages and the ones after, as people see them who have that many runs. */
async function measureLists(api: Api): Promise<number> {
  const times: number[] = [];
  for (const path of lists) {
    let cursor: string | null = null;
    for (let page = 0; page < 25 && (page === 0 || cursor !== null); page += 1) {
      const beganAt = performance.now();
      const query: string =
        cursor === null ? "" : `${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`;
      const answer: { nextCursor: string | null } = await api.get(`${path}${query}`);
      times.push(performance.now() - beganAt);
      cursor = answer.nextCursor;
    }
  }
  return percentile(times, 0.95);
}

/** Runs that waited in the database all along, decided one after the other: nothing of them is in anybody's memory. */
async function decideLoaded(sql: Sql, url: string, workspaceId: string, count: number): Promise<number> {
  const rows = await sql<{ run_id: string }[]>`
    select run_id from approvals tablesample system (1) where workspace_id = ${workspaceId} and status = 'pending' limit ${count}`;
  const heard = new Map<string, () => void>();
  const opened = await ours.open(url, {}, (id) => heard.get(id)?.());
  const latencies: number[] = [];
  try {
    for (const { run_id } of rows) {
      const effect = new Promise<void>((resolve) => heard.set(run_id, resolve));
      const [waiting] = (await opened.observe([run_id], [])).waiting;
      if (waiting === undefined) continue;
      const decidedAt = performance.now();
      await waiting.decide();
      await effect;
      latencies.push(performance.now() - decidedAt);
      while ((await opened.observe([], [run_id])).ended.length === 0) await delay(2);
    }
  } finally {
    await opened.close();
  }
  return percentile(latencies, 0.5);
}

async function sizeOf(sql: Sql): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`;
  return row?.bytes ?? Number.NaN;
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const beganAt = performance.now();
  await act();
  return (performance.now() - beganAt) / 1_000;
}
