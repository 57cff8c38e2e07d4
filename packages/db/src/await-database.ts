import { setTimeout as sleep } from "node:timers/promises";

const everyMs = 500;
const tellEveryMs = 30_000;

/** No server listens, or it starts, stops or was just killed: of itself that passes. A name that is not known does not. */
const passing = /^(57P0[123]|08...|ECONNREFUSED|ECONNRESET|EPIPE|CONNECTION_(CLOSED|ENDED|DESTROYED))$/;

/**
 * Does `start`, which leaves nothing open where it fails, and does it again for as long as the database is not up: a program
 * that starts beside its database waits for it as one does that runs already. `onWait` hears why, at once and every 30
 * seconds. Rejects with every other error of `start`.
 */
export async function awaitDatabase<R>(start: () => Promise<R>, onWait: (problem: string) => void): Promise<R> {
  let toldAt: number | undefined;
  for (;;) {
    try {
      return await start();
    } catch (error) {
      if (!(error instanceof Error) || !isPassing(error)) throw error;
      if (toldAt === undefined || performance.now() - toldAt >= tellEveryMs) {
        onWait(error.message);
        toldAt = performance.now();
      }
    }
    await sleep(everyMs);
  }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError && error.errors.some(isPassing)) return true;
  return ("code" in error && passing.test(String(error.code))) || isPassing(error.cause);
}
