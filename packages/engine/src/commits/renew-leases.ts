import type { Queryable } from "@countersign/db/connect.ts";
import type { Hold } from "../held-run.ts";
import { togetherOrAlone } from "../together.ts";

/** What a beat found: leases that are ours still (renewed, or passed over because the row was locked). */
export interface Renewal {
  readonly runId: string;
  readonly isRenewed: boolean;
}

const renew = `select run_id as "runId", is_renewed as "isRenewed" from renew_leases($1::uuid[], $2::uuid[], $3::bigint)`;

/**
 * Afterwards the leases that were not locked last `leaseMs` from now; a hold that is missing from the answer is lost. One
 * whose row cannot be written is told to `onFailure`, or thrown at the end, and costs no other its lease.
 */
export async function renewLeases(
  sql: Queryable,
  holds: readonly Hold[],
  leaseMs: number,
  onFailure?: (hold: Hold, error: unknown) => void,
): Promise<readonly Renewal[]> {
  const send = async (some: readonly Hold[]): Promise<readonly Renewal[]> =>
    await sql.unsafe<Renewal[]>(renew, [some.map((hold) => hold.runId), some.map((hold) => hold.leaseId), leaseMs], {
      prepare: true,
    });
  return await togetherOrAlone({
    together: () => send(holds),
    members: async () => holds,
    alone: (hold) => send([hold]),
    onFailure,
  });
}
