import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";

/** Long enough for any statement to reach its lock on a busy machine. */
const patienceMs = 50_000;

/**
 * Makes commits meet behind the lock of a run: holds its row, starts `waiting` (each on another connection) and waits
 * until all of them wait, then does `first` under the lock and commits it. Returns what `first` and `waiting` answered.
 */
export async function behindLock<F, W extends readonly unknown[]>(
  sql: Sql,
  runId: string,
  acts: {
    readonly first: (tx: Tx) => Promise<F>;
    readonly waiting: { readonly [K in keyof W]: () => Promise<W[K]> };
  },
): Promise<{ first: F; waiting: W }> {
  let started: Promise<unknown>[] = [];
  const first = await transaction(sql, async (tx) => {
    await tx`select from runs where id = ${runId} for no key update`;
    started = acts.waiting.map((act) => act());
    // Awaited below; a rejection until then is not unhandled.
    for (const promise of started) promise.catch(() => undefined);
    await untilWaiting(tx, started.length);
    return await acts.first(tx);
  });
  return { first, waiting: (await Promise.all(started)) as unknown as W };
}

/** Resolves once `count` connections of this database wait for a lock. */
export async function untilWaiting(tx: Tx, count: number): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (performance.now() < deadline) {
    await tx`select pg_stat_clear_snapshot()`;
    const [row] = await tx<{ n: number }[]>`
      select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if ((row?.n ?? 0) >= count) return;
  }
  throw new Error(`Fewer than ${count} statements came to wait for the lock in ${patienceMs} ms`);
}
