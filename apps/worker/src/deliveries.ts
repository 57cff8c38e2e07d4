import type { Keyring } from "@countersign/broker/keyring.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { singly } from "@countersign/engine/singly.ts";
import { PgBoss } from "pg-boss";
import type { Logger } from "pino";
import { describeError } from "./report.ts";
import { deliver, type DeliveryOutcome } from "./webhooks/deliver.ts";
import { findEvents, removeOldDeliveries } from "./webhooks/find-events.ts";

/** The queue of messages to be delivered. */
const queue = "webhooks";

export interface DeliveriesOptions {
  readonly sql: Sql;
  /** Past any pooler: the queue keeps sessions of its own. */
  readonly databaseDirectUrl: string;
  readonly keyring: Keyring;
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

const cleanEveryMs = 3_600_000;

/**
 * Finds what webhooks are to be told, and tells them: the queue tries again what failed, later each time. Every process may
 * run it. When it resolves the queue is there.
 */
export async function startDeliveries(options: DeliveriesOptions): Promise<Deliveries> {
  const { sql, keyring, log, mayBePrivate, pollMs = 1_000, timeoutMs = 10_000 } = options;
  const { mostAttempts = 13, retryDelaySeconds = 5, queuePollSeconds = 2, onAttempt = () => undefined } = options;
  const stopping = new AbortController();
  const boss = new PgBoss({
    connectionString: options.databaseDirectUrl,
    application_name: "countersign worker, queue",
    max: 2,
    schedule: false,
    registerInstance: false,
    persistWarnings: false,
  });
  boss.on("error", (error) => log.warn({ error: describeError(error, log) }, "the queue failed; it goes on by itself"));
  boss.on("warning", ({ message }) => log.warn({ warning: message }, "the queue warns"));
  await boss.start();
  await boss.createQueue(queue, {
    // More than are used: an attempt that a crash cut short is counted here and not in the delivery.
    retryLimit: mostAttempts + 5,
    retryDelay: retryDelaySeconds,
    retryBackoff: true,
    retryDelayMax: 6 * 3_600,
    expireInSeconds: 120,
    deleteAfterSeconds: 24 * 3_600,
  });
  await boss.work<{ deliveryId: string }, unknown>(
    queue,
    { batchSize: 10, pollingIntervalSeconds: queuePollSeconds, localConcurrency: 2, perJobResults: true },
    async (jobs) =>
      await Promise.all(
        jobs.map(async ({ id, data }) => {
          const how = { sql, keyring, mayBePrivate, timeoutMs, mostAttempts, signal: stopping.signal };
          const outcome = await deliver(how, data.deliveryId);
          onAttempt(outcome);
          return { id, status: outcome === "again" ? ("failed" as const) : ("completed" as const) };
        }),
      ),
  );

  const look = singly(
    async () => {
      await findEvents(sql);
      await queueDeliveries(sql, boss);
    },
    (error) =>
      log.warn(
        { error: describeError(error, log) },
        "looking for what to tell webhooks failed; the next look comes by itself",
      ),
  );
  const clean = singly(
    async () => await removeOldDeliveries(sql),
    () => undefined,
  );
  const timers = [setInterval(look.ask, pollMs), setInterval(clean.ask, cleanEveryMs)];
  look.ask();

  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      stopping.abort();
      await Promise.all([look.settled(), clean.settled()]);
      await boss.stop({ graceful: true, timeout: 5_000 });
    },
  };
}

/** Hands deliveries to the queue. The job has the delivery's id, so one that is handed over twice is there once. */
async function queueDeliveries(sql: Sql, boss: PgBoss): Promise<void> {
  for (;;) {
    const rows = await sql.unsafe<{ id: string }[]>(
      "select id from webhook_deliveries where queued_at is null order by id limit 100",
      [],
      { prepare: true },
    );
    if (rows.length === 0) return;
    const ids = rows.map(({ id }) => id);
    await boss.insert(
      queue,
      ids.map((id) => ({ id, data: { deliveryId: id } })),
    );
    await sql.unsafe("update webhook_deliveries set queued_at = clock_timestamp() where id = any ($1::uuid[])", [ids], {
      prepare: true,
    });
    if (rows.length < 100) return;
  }
}
