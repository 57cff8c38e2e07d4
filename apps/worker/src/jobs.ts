import type { Sql } from "@countersign/db/connect.ts";
import type { ProcessSecrets } from "@countersign/broker/process-secrets.ts";
import type { Logger } from "pino";
import { startCaptures } from "./captures/start-captures.ts";
import { startDeliveries } from "./deliveries.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { startQueue } from "./queue.ts";
import type { DeliveryOutcome } from "./webhooks/deliver.ts";

export interface JobsOptions {
  readonly sql: Sql;
  /** Past any pooler: the queue keeps sessions of its own. */
  readonly databaseDirectUrl: string;
  /** Lends what messages to webhooks are signed with. */
  readonly secrets: Pick<ProcessSecrets, "use">;
  readonly log: Logger;
  /** Webhooks may go to plain HTTP and private addresses. */
  readonly mayWebhooksBePrivate: boolean;
  /** Hears of each attempt to deliver to a webhook. */
  readonly onDelivery: (outcome: DeliveryOutcome) => void;
}

/**
 * What is work but no run: webhooks are told, captures become pages, and what is due becomes a task. When it resolves all of
 * it is under way; after `stop` nothing of it is, and the queue's connections are closed.
 */
export async function startJobs(options: JobsOptions): Promise<{ stop(): Promise<void> }> {
  const { sql, secrets, log, databaseDirectUrl, mayWebhooksBePrivate: mayBePrivate, onDelivery: onAttempt } = options;
  const boss = await startQueue(databaseDirectUrl, log);
  const parts: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(parts.map((part) => part.stop()));
    await boss.stop({ graceful: true, timeout: 5_000 });
  };
  try {
    parts.push(await startDeliveries({ sql, boss, secrets, log, mayBePrivate, onAttempt }));
    parts.push(await startCaptures({ sql, boss, log }));
    parts.push(await startHeartbeat({ sql, boss, log }));
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
