import type postgres from "postgres";
import { isOutcomeUnknown } from "./connection-errors.ts";
import { guard } from "./guard.ts";

export type Loan = {
  /** Runs on this one connection; rejects once the loan was finished or its connection lost. */
  sql: postgres.ISql;
  /** Sends the closing statement, gives the connection back and answers the server's command tag. */
  finish: (statement: string) => Promise<string>;
  /** The first error that any statement of this loan met, whether or not somebody looked at it. */
  firstError: () => unknown;
};

type LenderOptions = {
  /** A client of exactly one connection; calls back when that is closed. */
  openOne: (onclose: () => void) => postgres.Sql;
  max: number;
  idleTimeoutMs: number;
};

type Single = { client: postgres.Sql; isAlive: boolean; openedAt: number; onLost: () => void };

const lifetimeMs = 45 * 60_000;

/**
 * Lends out connections one borrower at a time, at most `max`; who comes later waits in line.
 *
 * Each is a client of one connection, thrown away whole when that is lost. The driver's own ways are not safe
 * (postgres.js 3.4.9): `sql.begin()` may send BEGIN where others are working (porsager/postgres#823, #1189, #1204);
 * after a server restart that hit a statement in flight, `sql.reserve()` rejects once and then hangs for good; and a
 * statement sent on a reserved connection after it died ends the process or joins whatever runs there next.
 */
export function createLender({ openOne, max, idleTimeoutMs }: LenderOptions) {
  const singles = new Set<Single>();
  const idle: Single[] = [];
  const line: PromiseWithResolvers<void>[] = [];
  let lentCount = 0;
  let ended: Error | undefined;
  let onAllReturned = () => {};

  /** Takes a connection and sends `opening` on it. Rejects where none can be made; then nothing has been sent. */
  async function borrow(opening: string): Promise<Loan> {
    await takeTurn();
    try {
      for (;;) {
        const reused = idle.pop();
        const single = reused ?? open();
        try {
          await single.client.unsafe(opening);
          return lend(single);
        } catch (error) {
          discard(single);
          // One that died unnoticed while it lay idle: nothing has been done on it, so a fresh one may try.
          if (reused === undefined || !isOutcomeUnknown(error)) throw error;
        }
      }
    } catch (error) {
      passTurn();
      throw error;
    }
  }

  function lend(single: Single): Loan {
    const guarded = guard(single.client);
    single.onLost = () => guarded.close(lostConnection());
    if (!single.isAlive) single.onLost();

    async function finish(statement: string): Promise<string> {
      let isReusable = false;
      try {
        guarded.assertOpen();
        guarded.close(new Error("This statement was sent after its transaction had ended; await every one inside it"));
        const result = await single.client.unsafe(statement);
        isReusable = true;
        return result.command;
      } finally {
        if (isReusable) putBack(single);
        else discard(single);
        passTurn();
      }
    }
    return { sql: guarded.sql, finish, firstError: guarded.firstError };
  }

  function open(): Single {
    const single: Single = {
      isAlive: true,
      openedAt: performance.now(),
      onLost: () => {},
      client: openOne(() => {
        single.isAlive = false;
        single.onLost();
        discard(single);
      }),
    };
    singles.add(single);
    return single;
  }

  function putBack(single: Single): void {
    const isOld = performance.now() - single.openedAt > lifetimeMs;
    if (!single.isAlive || isOld || ended !== undefined) return discard(single);
    single.onLost = () => {};
    idle.push(single);
    if (idleTimeoutMs > 0) setTimeout(() => idle.includes(single) && discard(single), idleTimeoutMs).unref();
  }

  function discard(single: Single): void {
    singles.delete(single);
    const index = idle.indexOf(single);
    if (index >= 0) idle.splice(index, 1);
    void single.client.end({ timeout: 0 });
  }

  async function takeTurn(): Promise<void> {
    if (ended !== undefined) throw ended;
    if (lentCount < max) {
      lentCount += 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    line.push(turn);
    await turn.promise;
  }

  function passTurn(): void {
    const next = line.shift();
    if (next !== undefined) return next.resolve();
    lentCount -= 1;
    if (lentCount === 0) onAllReturned();
  }

  /** Lends no more, waits for what is lent, at most so long, and closes all connections. */
  async function end(timeoutMs: number): Promise<void> {
    ended = Object.assign(new Error("The database client was ended"), { code: "CONNECTION_ENDED" });
    for (const turn of line.splice(0)) turn.reject(ended);
    if (lentCount > 0) {
      const returned = Promise.withResolvers<void>();
      onAllReturned = returned.resolve;
      const timer = setTimeout(returned.resolve, timeoutMs);
      await returned.promise;
      clearTimeout(timer);
    }
    await Promise.all(Array.from(singles, (single) => single.client.end({ timeout: 0 })));
    singles.clear();
  }

  return { borrow, end };
}

function lostConnection(): Error {
  const message = "The connection to the database was lost during the transaction";
  return Object.assign(new Error(message), { code: "CONNECTION_CLOSED" });
}
