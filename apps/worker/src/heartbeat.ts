import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { beat } from "@countersign/ops/heartbeat.ts";
import { removeLeftUploads } from "@countersign/ops/store-upload.ts";
import { openQueue, type PgBoss } from "./queue.ts";

/** The queue that the schedule puts a job into each minute. */
export const heartbeatQueue = "heartbeat";

/**
 * Makes tasks of what is due, each minute, in all workspaces. Every process may run it: the schedule makes one job a minute,
 * and should two run at once, each row becomes a task once. When it resolves the schedule is there.
 */
export async function startHeartbeat({
  sql,
  boss,
  queuePollSeconds = 5,
}: {
  readonly sql: Sql;
  readonly boss: PgBoss;
  readonly queuePollSeconds?: number;
}): Promise<{ stop(): Promise<void> }> {
  // Not tried again: the next one comes in a minute and finds the same.
  await openQueue(boss, heartbeatQueue, { retryLimit: 0, expireInSeconds: 60, deleteAfterSeconds: 3_600 });
  await boss.schedule(heartbeatQueue, "* * * * *");
  await boss.work(heartbeatQueue, { pollingIntervalSeconds: queuePollSeconds }, async () => {
    while ((await transaction(sql, async (tx) => await beat(tx))).isMore);
    await removeLeftUploads(sql);
  });
  return { stop: async () => await boss.offWork(heartbeatQueue) };
}
