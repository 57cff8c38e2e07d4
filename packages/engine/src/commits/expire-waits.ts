import type { Queryable } from "@countersign/db/connect.ts";
import { togetherOrAlone } from "../together.ts";

const due = `select id from runs where wake_at <= clock_timestamp() order by wake_at limit $1`;

/** How many times a batch are looked at one by one where the batch fails. */
const batchesAlone = 10;

/**
 * Afterwards up to `limit` runs whose time has come have their overdue approvals expired and their overdue questions
 * answered by default; returns those runs. One where that cannot be done is told to `onFailure`, or thrown at the end, and
 * keeps no other.
 */
export async function expireWaits(
  sql: Queryable,
  limit: number,
  onFailure?: (runId: string, error: unknown) => void,
): Promise<readonly string[]> {
  const send = async (only: string[] | null): Promise<readonly string[]> => {
    const rows = await sql.unsafe<{ run_id: string }[]>(
      "select run_id from expire_waits($1::int, $2::uuid[])",
      [limit, only],
      { prepare: true },
    );
    return rows.map((row) => row.run_id);
  };
  return await togetherOrAlone({
    together: () => send(null),
    members: async () =>
      (await sql.unsafe<{ id: string }[]>(due, [limit * batchesAlone], { prepare: true })).map(({ id }) => id),
    alone: (runId) => send([runId]),
    onFailure,
  });
}
