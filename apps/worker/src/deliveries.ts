import type { ProcessSecrets } from "@countersign/broker/process-secrets.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { singly } from "@countersign/engine/singly.ts";
import type { Logger } from "pino";
import { findLostRows, openQueue, queueRows, type PgBoss, type RowQueue } from "./queue.ts";
import { describeError } from "./report.ts";
import { deliver, type DeliveryOutcome } from "./webhooks/deliver.ts";
import { findEvents, removeOldDeliveries } from "./webhooks/find-events.ts";

/** The queue of messages to be delivered. */
const queue: RowQueue = { name: "webhooks", table: "webhook_deliveries" };

export interface DeliveriesOptions {
  readonly sql: Sql;
  readonly boss: PgBoss;
  /** Lends what messages to webhooks are signed with. */
  readonly secrets: Pick<ProcessSecrets, "use">;
  readonly log: Logger;
  /** Plain HTTP and private addresses pass. */
  readonly mayBePrivate: boolean;
  /** Hears of each attempt. */
  readonly onAttempt?: (outcome: DeliveryOutcome) => void;
  readonly pollMs?: number;
  readonly timeoutMs?: number;
  /** With the delay doubling from the first on, 13 attempts that begin 5 s apart reach over more than half a day. */
  readonly mostAttempts?: number;
  readonly retryDelaySeconds?: number;
  readonly queuePollSeconds?: number;
}

export interface Deliveries {
  /** Afterwards nothing is sent, and what was under way is recorded or will be tried again. */
  stop(): Promise<void>;
}

const cleanEveryMs = 600_000;

/**
 * Finds what webhooks are to be told, and tells them: the queue tries again what failed, later each time. Every process may
 * run it. When it resolves its queue is there.
 */
export async function startDeliveries(options: DeliveriesOptions): Promise<Deliveries> {
  const { sql, boss, secrets, log, mayBePrivate, pollMs = 1_000, timeoutMs = 10_000 } = options;
  const { mostAttempts = 13, retryDelaySeconds = 5, queuePollSeconds = 2, onAttempt = () => undefined } = options;
  const stopping = new AbortController();
  await openQueue(boss, queue.name, {
    // More than are used: an attempt that a crash cut short is counted here and not in the delivery.
    retryLimit: mostAttempts + 5,
    retryDelay: retryDelaySeconds,
    retryBackoff: true,
    retryDelayMax: 6 * 3_600,
    expireInSeconds: 120,
    deleteAfterSeconds: 24 * 3_600,
  });
  await boss.work<object, unknown>(
    queue.name,
    { batchSize: 10, pollingIntervalSeconds: queuePollSeconds, localConcurrency: 2, perJobResults: true },
    async (jobs) =>
      await Promise.all(
        jobs.map(async ({ id }) => {
          const how = { sql, secrets, mayBePrivate, timeoutMs, mostAttempts, signal: stopping.signal };
          try {
            const outcome = await deliver(how, id);
            onAttempt(outcome);
            return { id, status: outcome === "again" ? ("failed" as const) : ("completed" as const) };
          } catch (error) {
            // By itself: the others of its batch would be sent once more.
            log.warn({ deliveryId: id, error: describeError(error, log) }, "a delivery failed; it is tried again");
            return { id, status: "failed" as const };
          }
        }),
      ),
  );

  const look = singly(
    async () => {
      await findEvents(sql, ({ endpointId, event, subject }, error) =>
        log.error(
          { endpointId, event, subject, error: describeError(error, log) },
          "an event could not be written down for a webhook, which is not told of it",
        ),
      );
      await queueRows(sql, boss, queue);
    },
    (error) =>
      log.warn(
        { error: describeError(error, log) },
        "looking for what to tell webhooks failed; the next look comes by itself",
      ),
  );
  const clean = singly(
    async () => {
      await Promise.allSettled([findLostRows(sql, queue), removeOldDeliveries(sql)]);
    },
    () => undefined,
  );
  const timers = [setInterval(look.ask, pollMs), setInterval(clean.ask, cleanEveryMs)];
  look.ask();

  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      stopping.abort();
      await Promise.all([look.settled(), clean.settled()]);
      await boss.offWork(queue.name);
    },
  };
}
