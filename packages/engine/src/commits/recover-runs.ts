import type { Queryable } from "@countersign/db/connect.ts";

export interface Recovery {
  readonly runId: string;
  readonly kind: "ready" | "quarantined";
}

const recover = `select run_id as "runId", outcome as kind from recover_runs($1::int, $2::int)`;

/** Afterwards up to `limit` runs whose lease has run out are ready again, or quarantined after `maxClaims` claims that made no progress. */
export async function recoverRuns(sql: Queryable, limit: number, maxClaims: number): Promise<readonly Recovery[]> {
  return await sql.unsafe<Recovery[]>(recover, [limit, maxClaims], { prepare: true });
}
