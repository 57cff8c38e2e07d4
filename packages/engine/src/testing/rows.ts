import type { Queryable } from "@countersign/db/connect.ts";

/** Moves every deadline that is open under a run to `fromNowMs` from now; a negative one has passed. */
export async function moveDeadlines(sql: Queryable, runId: string, fromNowMs: number): Promise<void> {
  await sql.unsafe(
    `with moment as (select clock_timestamp() + $2::float8 * interval '1 millisecond' as at),
          calls as (update tool_calls c set wait_until = m.at from moment m where c.run_id = $1::uuid and c.wait_until is not null),
          asked as (update approvals a set expires_at = m.at from moment m where a.run_id = $1::uuid and a.expires_at is not null and a.status = 'pending'),
          open  as (update questions q set expires_at = m.at from moment m where q.run_id = $1::uuid and q.expires_at is not null and q.status = 'open')
     update runs r set wake_at = m.at from moment m where r.id = $1::uuid and r.wake_at is not null`,
    [runId, fromNowMs],
  );
}

/** The lease of a run is over, as if its worker had died a while ago. */
export async function endLease(sql: Queryable, runId: string): Promise<void> {
  await sql.unsafe(
    `update runs set lease_until = clock_timestamp() - interval '1 second' where id = $1::uuid and lease_id is not null`,
    [runId],
  );
}

/** Makes a run the child of another, as spawning it would have. */
export async function adopt(sql: Queryable, parentId: string, childId: string): Promise<void> {
  await sql.unsafe(
    `update runs c set parent_id = p.id, root_id = p.root_id, depth = p.depth + 1 from runs p where p.id = $1::uuid and c.id = $2::uuid`,
    [parentId, childId],
  );
}

export interface RunRow {
  readonly status: string;
  readonly waits_on: string | null;
  readonly is_ready: boolean;
  readonly is_leased: boolean;
  readonly epoch: number;
  readonly unread: number;
  readonly turns: number;
  readonly claims: number;
  readonly end_reason: string | null;
  readonly output: string | null;
}

/** The run as it stands. */
export async function runRow(sql: Queryable, runId: string): Promise<RunRow> {
  const [row] = await sql.unsafe<RunRow[]>(
    `select status, waits_on, ready_at is not null as is_ready, lease_id is not null as is_leased, epoch, unread, turns,
            claims_without_progress as claims, end_reason, output
       from runs where id = $1::uuid`,
    [runId],
  );
  if (row === undefined) throw new Error(`there is no run ${runId}`);
  return row;
}

export interface CallRow {
  readonly status: string;
  readonly waits_on: string | null;
  readonly attempt: number;
  readonly result: string | null;
  readonly result_code: string | null;
  readonly approval_id: string | null;
}

/** The call as it stands. */
export async function callRow(sql: Queryable, callId: string): Promise<CallRow> {
  const [row] = await sql.unsafe<CallRow[]>(
    `select status, waits_on, attempt, result, result_code, approval_id from tool_calls where id = $1::uuid`,
    [callId],
  );
  if (row === undefined) throw new Error(`there is no call ${callId}`);
  return row;
}

/** How many rows of a table belong to a run. */
export async function countRows(sql: Queryable, table: string, runId: string): Promise<number> {
  const [row] = await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${table} where run_id = $1::uuid`, [
    runId,
  ]);
  return row?.n ?? 0;
}
