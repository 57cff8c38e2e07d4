import type { Queryable } from "@countersign/db/connect.ts";
import { togetherOrAlone } from "../together.ts";

const due = `select id from runs where wake_at <= clock_timestamp() order by wake_at limit $1`;

/** How many times a batch are looked at one by one where the batch fails. */
const batchesAlone = 10;

/** A run whose time had come; nothing is said of one that a kill switch holds, or that a lift gave more time. */
export interface Due {
  readonly runId: string;
  readonly isSaid: boolean;
}

/**
 * Afterwards up to `limit` runs whose time has come have their overdue approvals expired and their overdue questions
 * answered by default; returns the runs that were looked at. One where that cannot be done is told to `onFailure`, or
 * thrown at the end, and keeps no other.
 */
export async function expireDue(
  sql: Queryable,
  limit: number,
  onFailure?: (runId: string, error: unknown) => void,
): Promise<readonly Due[]> {
  const send = async (only: string[] | null): Promise<readonly Due[]> =>
    await sql.unsafe<Due[]>(
      `select run_id as "runId", expired is not null as "isSaid" from expire_waits($1::int, $2::uuid[])`,
      [limit, only],
      { prepare: true },
    );
  return await togetherOrAlone({
    together: () => send(null),
    members: async () =>
      (await sql.unsafe<{ id: string }[]>(due, [limit * batchesAlone], { prepare: true })).map(({ id }) => id),
    alone: (runId) => send([runId]),
    onFailure,
  });
}

/** As `expireDue`; returns those of which something was said. */
export async function expireWaits(...asked: Parameters<typeof expireDue>): Promise<readonly string[]> {
  return (await expireDue(...asked)).flatMap(({ runId, isSaid }) => (isSaid ? [runId] : []));
}
