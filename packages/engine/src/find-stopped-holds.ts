import type { Queryable } from "@countersign/db/connect.ts";
import type { Hold } from "./held-run.ts";

export interface StoppedHold {
  readonly runId: string;
  readonly leaseId: string;
  /** `lost`: canceled, failed by recovery, or another's by now. `killed`: ours still, but nothing under its scope may run. */
  readonly kind: "lost" | "killed";
}

const find = `
  select h.run as "runId", h.lease as "leaseId", case when r.lease_id = h.lease then 'killed' else 'lost' end as kind
    from unnest($1::uuid[], $2::uuid[]) h (run, lease)
    join runs r on r.id = h.run
   where r.lease_id is distinct from h.lease
      or exists (select 1 from policies p
                  where p.killed_at is not null
                    and p.scope_id in ('00000000-0000-0000-0000-000000000000', r.workspace_id, r.definition_id, r.id))`;

/** Of the given holds, those whose work must stop now. Read only. */
export async function findStoppedHolds(sql: Queryable, holds: readonly Hold[]): Promise<readonly StoppedHold[]> {
  const runs = holds.map((hold) => hold.runId);
  const leases = holds.map((hold) => hold.leaseId);
  return await sql.unsafe<StoppedHold[]>(find, [runs, leases], { prepare: true });
}
