import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { togetherOrAlone } from "@countersign/engine/together.ts";
import { beat, findDueRows } from "@countersign/ops/heartbeat.ts";
import { removeLeftUploads } from "@countersign/ops/store-upload.ts";
import type { Logger } from "pino";
import { openQueue, type PgBoss } from "./queue.ts";
import { describeError } from "./report.ts";

/** The queue that the schedule puts a job into each minute. */
export const heartbeatQueue = "heartbeat";

/**
 * Makes tasks of what is due, each minute, in all workspaces. Every process may run it: the schedule makes one job a minute,
 * and should two run at once, each row becomes a task once. A row that cannot become one is told in the log and keeps no other.
 * When it resolves the schedule is there.
 */
export async function startHeartbeat({
  sql,
  boss,
  log,
  queuePollSeconds = 5,
}: {
  readonly sql: Sql;
  readonly boss: PgBoss;
  readonly log: Logger;
  readonly queuePollSeconds?: number;
}): Promise<{ stop(): Promise<void> }> {
  // Not tried again: the next one comes in a minute and finds the same.
  await openQueue(boss, heartbeatQueue, { retryLimit: 0, expireInSeconds: 60, deleteAfterSeconds: 3_600 });
  await boss.schedule(heartbeatQueue, "* * * * *");
  await boss.work(heartbeatQueue, { pollingIntervalSeconds: queuePollSeconds }, async () => {
    await removeLeftUploads(sql).catch((error: unknown) =>
      log.warn({ error: describeError(error, log) }, "removing what uploads left behind failed; it is tried again"),
    );
    await togetherOrAlone({
      together: async () => {
        while ((await transaction(sql, async (tx) => await beat(tx))).isMore);
        return [];
      },
      members: () => findDueRows(sql, 1_000),
      alone: async (row) => (await transaction(sql, async (tx) => await beat(tx, row.workspaceId, row))).tasks,
      onFailure: ({ workspaceId, about }, error) =>
        log.warn(
          { workspaceId, about, error: describeError(error, log) },
          "what is due became no task; it is tried again",
        ),
    });
  });
  return { stop: async () => await boss.offWork(heartbeatQueue) };
}
