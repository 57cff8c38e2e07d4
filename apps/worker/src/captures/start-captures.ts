import type { Sql } from "@countersign/db/connect.ts";
import { singly } from "@countersign/engine/singly.ts";
import type { Logger } from "pino";
import { findLostRows, openQueue, queueRows, type PgBoss, type RowQueue } from "../queue.ts";
import { describeError } from "../report.ts";
import { compileCapture } from "./compile-capture.ts";

/** The queue of captures to be compiled. */
const queue: RowQueue = { name: "captures", table: "captures" };

export interface CapturesOptions {
  readonly sql: Sql;
  readonly boss: PgBoss;
  readonly log: Logger;
  readonly pollMs?: number;
  readonly mostAttempts?: number;
  readonly retryDelaySeconds?: number;
  readonly queuePollSeconds?: number;
}

const cleanEveryMs = 600_000;

/** Finds captures and compiles them into pages. Every process may run it. When it resolves its queue is there. */
export async function startCaptures(options: CapturesOptions): Promise<{ stop(): Promise<void> }> {
  const { sql, boss, log, pollMs = 1_000, mostAttempts = 5 } = options;
  const { retryDelaySeconds = 5, queuePollSeconds = 2 } = options;
  await openQueue(boss, queue.name, {
    retryLimit: mostAttempts + 1,
    retryDelay: retryDelaySeconds,
    retryBackoff: true,
    retryDelayMax: 600,
    expireInSeconds: 120,
    deleteAfterSeconds: 24 * 3_600,
  });
  await boss.work<object, unknown>(
    queue.name,
    { batchSize: 5, pollingIntervalSeconds: queuePollSeconds, perJobResults: true },
    async (jobs) => {
      const results: { id: string; status: "completed" | "failed" }[] = [];
      // One after the other: compiling a long text takes the processor, not the network.
      for (const { id } of jobs) results.push({ id, status: await compileOne(id) });
      return results;
    },
  );

  async function compileOne(id: string): Promise<"completed" | "failed"> {
    try {
      await compileCapture(sql, id, mostAttempts);
      return "completed";
    } catch (error) {
      log.warn({ captureId: id, error: describeError(error, log) }, "compiling a capture failed; it is tried again");
      return "failed";
    }
  }

  const look = singly(
    async () => await queueRows(sql, boss, queue),
    (error) =>
      log.warn({ error: describeError(error, log) }, "looking for captures failed; the next look comes by itself"),
  );
  const clean = singly(
    async () => {
      await findLostRows(sql, queue);
    },
    () => undefined,
  );
  const timers = [setInterval(look.ask, pollMs), setInterval(clean.ask, cleanEveryMs)];
  look.ask();

  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await Promise.all([look.settled(), clean.settled()]);
      await boss.offWork(queue.name);
    },
  };
}
