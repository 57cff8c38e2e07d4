import type { Queryable } from "@countersign/db/connect.ts";
import { togetherOrAlone } from "../together.ts";

export interface Recovery {
  readonly runId: string;
  readonly kind: "ready" | "quarantined";
}

const recover = `select run_id as "runId", outcome as kind from recover_runs($1::int, $2::int, $3::uuid[])`;

const dead = `
  select id from runs where lease_id is not null and lease_until < clock_timestamp() order by lease_until limit $1`;

/** How many times a batch are looked at one by one where the batch fails. */
const batchesAlone = 10;

/**
 * Afterwards up to `limit` runs whose lease has run out are ready again, or quarantined after `maxClaims` claims that made
 * no progress. One that cannot be recovered is told to `onFailure`, or thrown at the end, and keeps no other.
 */
export async function recoverRuns(
  sql: Queryable,
  limit: number,
  maxClaims: number,
  onFailure?: (runId: string, error: unknown) => void,
): Promise<readonly Recovery[]> {
  const send = async (only: string[] | null): Promise<readonly Recovery[]> =>
    await sql.unsafe<Recovery[]>(recover, [limit, maxClaims, only], { prepare: true });
  return await togetherOrAlone<string, Recovery>({
    together: () => send(null),
    members: async () =>
      (await sql.unsafe<{ id: string }[]>(dead, [limit * batchesAlone], { prepare: true })).map(({ id }) => id),
    alone: (runId) => send([runId]),
    onFailure,
  });
}
