import type { Queryable } from "@countersign/db/connect.ts";

/** How the whole installation stands, for its operator. */
export interface Standing {
  readonly oldestApprovalSeconds: number;
  readonly oldestReadySeconds: number;
  readonly readyRuns: number;
  readonly leasedRuns: number;
  readonly unknownEffects: number;
  readonly lateResults: number;
  readonly pendingDeliveries: number;
  /** Of the newest approvals: how many calls asked in each run that asked, and which share was approved. */
  readonly promptsPerRun: number;
  readonly approvalRate: number;
}

/** The most rows that a figure counts. */
const most = 10_000;

/** So many approvals, the newest, stand for how it is now. */
const newest = 1_000;

function countUpTo(rows: string): string {
  return `(select count(*)::int from (select ${rows} limit ${most}) n)`;
}

// Each figure is a look at the end of an index, or at a part of one that is cut off: a scrape must stay cheap however much
// waits. Ids are in the order of time, so a workspace's oldest approval is its first.
const statement = `
  select coalesce((select max(extract(epoch from clock_timestamp() - a.requested_at))
                     from workspaces w
                    cross join lateral (select requested_at from approvals
                                         where workspace_id = w.id and status = 'pending' order by id limit 1) a), 0)::float8
           as "oldestApprovalSeconds",
         coalesce((select extract(epoch from clock_timestamp() - min(ready_at)) from runs
                    where ready_at is not null and lease_id is null), 0)::float8 as "oldestReadySeconds",
         ${countUpTo("from runs where ready_at is not null and lease_id is null")} as "readyRuns",
         ${countUpTo("from runs where lease_id is not null")} as "leasedRuns",
         ${countUpTo("from approvals where status = 'pending' and kind = 'outcome'")} as "unknownEffects",
         coalesce((select max(id) from late_results), 0)::int as "lateResults",
         ${countUpTo("from webhook_deliveries where status = 'pending'")} as "pendingDeliveries",
         coalesce(n.prompts_per_run, 0)::float8 as "promptsPerRun", coalesce(n.approval_rate, 0)::float8 as "approvalRate"
    from (select count(*)::float8 / nullif(count(distinct run_id), 0) as prompts_per_run,
                 count(*) filter (where answer = 'approve')::float8 / nullif(count(*) filter (where answer is not null), 0) as approval_rate
            from (select run_id, answer, kind from approvals order by id desc limit ${newest}) a
           where kind = 'approval') n`;

/** The figures as of now. */
export async function readStanding(sql: Queryable): Promise<Standing> {
  const [row] = await sql.unsafe<Standing[]>(statement, [], { prepare: true });
  if (row === undefined) throw new Error("The database told no figures.");
  return row;
}
