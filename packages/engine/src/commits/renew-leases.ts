import type { Queryable } from "@countersign/db/connect.ts";
import type { Hold } from "../held-run.ts";

/** What a beat found: leases that are ours still (renewed, or passed over because the row was locked). */
export interface Renewal {
  readonly runId: string;
  readonly isRenewed: boolean;
}

const renew = `select run_id as "runId", is_renewed as "isRenewed" from renew_leases($1::uuid[], $2::uuid[], $3::bigint)`;

/** Afterwards the leases that were not locked last `leaseMs` from now; a hold that is missing from the answer is lost. */
export async function renewLeases(
  sql: Queryable,
  holds: readonly Hold[],
  leaseMs: number,
): Promise<readonly Renewal[]> {
  const rows = await sql.unsafe<Renewal[]>(
    renew,
    [holds.map((hold) => hold.runId), holds.map((hold) => hold.leaseId), leaseMs],
    { prepare: true },
  );
  return rows;
}
