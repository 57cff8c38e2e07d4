import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "@countersign/db/connect.ts";
import type { Opened } from "./contestant.ts";

export interface Plan {
  readonly atATime: number;
  /** How long to measure, after as long a time to warm up; both last at least until as many runs as go at a time have ended. */
  readonly windowMs: number;
}

export interface Measured {
  readonly runsPerSecond: number;
  /** From the call that decides to the effect. */
  readonly effectMs: { readonly p50: number; readonly p99: number };
  /** Transactions that wrote, but for the bell's, over all runs from the first start to the last end. */
  readonly writeTransactionsPerRun: number;
  readonly runs: number;
}

/** How often the database is asked what waits and what has ended, counted from its last answer. */
const observeMs = 2;

/** Longer than the slowest contestant takes; then something hangs. */
const patienceMs = 300_000;

/**
 * Keeps so many gated runs going at a time: each that ends is followed by the next, and each that waits is decided as
 * soon as that is seen in the database. Rejects where the contestant fails or hangs; `effects` hears of each effect.
 */
export async function measure(sql: Sql, opened: Opened, plan: Plan, effects: Effects): Promise<Measured> {
  const { atATime, windowMs } = plan;
  const undecided = new Set<string>();
  const decided = new Map<string, number>();
  const latencies: number[] = [];
  const failure = Promise.withResolvers<never>();
  let ended = 0;
  let starting = 0;
  let isEnding = false;
  let windowStart: { readonly at: number; readonly ended: number } | undefined;
  let window: { readonly ms: number; readonly runs: number } | undefined;
  effects.heard = (id) => {
    const decidedAt = decided.get(id);
    if (decidedAt === undefined) return failure.reject(new Error(`The effect of ${id} happened before its decision`));
    if (windowStart !== undefined && window === undefined) latencies.push(performance.now() - decidedAt);
  };

  async function startOne(): Promise<void> {
    starting += 1;
    undecided.add(await opened.start());
    starting -= 1;
  }

  async function observe(): Promise<void> {
    while (!isEnding || starting + undecided.size + decided.size > 0) {
      const seen = await opened.observe([...undecided], [...decided.keys()]);
      for (const { id, decide } of seen.waiting) {
        if (!undecided.delete(id)) continue;
        decided.set(id, performance.now());
        decide().catch(failure.reject);
      }
      for (const id of seen.ended) {
        if (!decided.delete(id)) continue;
        ended += 1;
        if (!isEnding) startOne().catch(failure.reject);
      }
      await delay(observeMs);
    }
  }

  async function wait(ms: number): Promise<void> {
    const from = ended;
    await delay(ms);
    while (ended - from < atATime) await delay(observeMs);
  }

  async function drive(): Promise<void> {
    for (let n = 0; n < atATime; n += 1) startOne().catch(failure.reject);
    const observing = observe();
    observing.catch(failure.reject);
    await wait(windowMs);
    windowStart = { at: performance.now(), ended };
    await wait(windowMs);
    window = { ms: performance.now() - windowStart.at, runs: ended - windowStart.ended };
    isEnding = true;
    await observing;
  }

  const before = await markWal(sql);
  await Promise.race([drive(), failure.promise, hang(() => `${ended} runs had ended`)]);
  const after = await markWal(sql);
  if (window === undefined) throw new Error("The measurement has no window");
  const { ms, runs } = window;
  return {
    runsPerSecond: (runs / ms) * 1_000,
    effectMs: { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) },
    writeTransactionsPerRun: (await countCommits(sql, before, after)) / ended,
    runs: ended,
  };
}

/** Where a contestant tells of its effects; `heard` is whoever measures. */
export interface Effects {
  heard: (id: string) => void;
}

/** The value below which that part of the values lies. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

interface WalMark {
  readonly lsn: string;
  readonly rings: number;
}

async function markWal(sql: Sql): Promise<WalMark> {
  const [row] = await sql<WalMark[]>`
    select pg_current_wal_flush_lsn()::text as lsn,
           (select coalesce(sum(calls), 0)::float from pg_stat_statements
             where query like '%set_config%pg_notify%' and dbid = (select oid from pg_database where datname = current_database())) as rings`;
  if (row === undefined) throw new Error("The server gave no position of its log");
  return row;
}

/**
 * The commits that stand in the server's write-ahead log, without the rings of the bell. Transaction numbers would not do:
 * a savepoint takes one too.
 */
async function countCommits(sql: Sql, from: WalMark, to: WalMark): Promise<number> {
  const [row] = await sql<{ commits: number }[]>`
    select coalesce(sum(count), 0)::float as commits
      from pg_get_wal_stats(${from.lsn}::text::pg_lsn, ${to.lsn}::text::pg_lsn, true)
     where "resource_manager/record_type" = 'Transaction/COMMIT'`;
  return (row?.commits ?? Number.NaN) - (to.rings - from.rings);
}

async function hang(state: () => string): Promise<never> {
  await delay(patienceMs, undefined, { ref: false });
  throw new Error(`Nothing came to an end in ${patienceMs / 1_000} s; ${state()}`);
}
