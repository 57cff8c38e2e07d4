import type { Queryable } from "@countersign/db/connect.ts";
import type { Attention } from "../shapes/receipts.ts";

/** The most approvals that the figures are of. */
const most = 10_000;

// Ids are in the order of time: the newest are at the end of the primary key, and those before the first day are not read.
const statement = `
  with asked as (
         select a.run_id, a.status, a.answer, a.decided_by,
                extract(epoch from a.decided_at - a.requested_at)::float8 as seconds
           from approvals a
          where a.workspace_id = $1::uuid and a.kind = 'approval'
            and a.id >= (lpad(to_hex((extract(epoch from clock_timestamp() - $2::int * interval '1 day') * 1000)::bigint), 12, '0')
                         || '00000000000000000000')::uuid
          order by a.id desc
          limit ${most})
  select count(*)::int as asked,
         count(*) filter (where status = 'pending')::int as pending,
         count(*) filter (where answer = 'approve')::int as approved,
         count(*) filter (where answer = 'deny')::int as denied,
         count(*) filter (where status = 'expired')::int as expired,
         count(distinct run_id)::int as runs,
         (count(*) filter (where answer = 'approve'))::float8 / nullif(count(*) filter (where answer is not null), 0) as "approvalRate",
         (count(*)::float8 / nullif(count(distinct run_id), 0)) as "promptsPerRun",
         percentile_cont(0.5) within group (order by seconds) filter (where answer is not null) as "medianSeconds",
         percentile_cont(0.95) within group (order by seconds) filter (where answer is not null) as "slowSeconds"
    from asked`;

/** How the approvals of the last days were answered, of up to the newest 10000 of the workspace. */
export async function readAttention(sql: Queryable, workspaceId: string, days: number): Promise<Attention> {
  const [row] = await sql.unsafe<Omit<Attention, "days">[]>(statement, [workspaceId, days], { prepare: true });
  if (row === undefined) throw new Error("The database told no figures.");
  return { days, ...row };
}
