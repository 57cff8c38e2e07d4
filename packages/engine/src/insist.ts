import { setTimeout as delay } from "node:timers/promises";
import { passesByItself } from "@countersign/db/connection-errors.ts";

/**
 * Sends a commit until the database has answered it, as long as the run is ours (`signal`). A lost connection leaves
 * open whether the commit happened; every commit of a worker can be sent again and says `already` then. A database in
 * trouble is no fault of the run either: what the run has come to is kept until it can be written. Any other error rejects
 * at once.
 */
export async function insist<T>(signal: AbortSignal, send: () => Promise<T>): Promise<T> {
  for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, 1_000)) {
    try {
      return await send();
    } catch (error) {
      if (!passesByItself(error) || signal.aborted) throw error;
      await delay(waitMs, undefined, { signal });
    }
  }
}
