import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { isFaultOfRows } from "@countersign/engine/together.ts";

/**
 * SQL: what happened since the snapshot $1, once for each endpoint that wants to know, as new deliveries. A row is new where the
 * transaction that last changed it was not seen; a card that was opened and decided between two looks is both. What can
 * happen to one card more than once, since its deadline was moved, is told apart by its moment.
 */
const newDeliveries = `
  with changed_tasks as (
         select * from tasks where changed >= pg_snapshot_xmax($1::pg_snapshot) and kind <> 'task'
          union all
         select * from tasks where changed = any (array(select pg_snapshot_xip($1::pg_snapshot))) and kind <> 'task'),
       changed_runs as (
         select * from runs where changed >= pg_snapshot_xmax($1::pg_snapshot) and finished_at is not null
          union all
         select * from runs where changed = any (array(select pg_snapshot_xip($1::pg_snapshot))) and finished_at is not null),
       events as (
         select t.workspace_id, t.changed, 'approval.requested' as event, a.id as subject, a.requested_at as at, false as is_repeatable,
                json_build_object('approvalId', a.id, 'taskId', t.id, 'runId', a.run_id, 'kind', a.kind) as data
           from changed_tasks t join approvals a on a.id = t.approval_id
          union all
         select t.workspace_id, t.changed, 'approval.decided', a.id, a.decided_at, false,
                json_build_object('approvalId', a.id, 'taskId', t.id, 'runId', a.run_id, 'kind', a.kind, 'status', a.status)
           from changed_tasks t join approvals a on a.id = t.approval_id
          where a.status <> 'pending'
          union all
         select t.workspace_id, t.changed, s.event, a.id, s.at, true,
                json_build_object('approvalId', a.id, 'taskId', t.id, 'runId', a.run_id, 'kind', a.kind, 'expiresAt', a.expires_at)
           from changed_tasks t join approvals a on a.id = t.approval_id
          cross join lateral (values ('approval.reminded', a.reminded_at), ('approval.escalated', a.escalated_at)) s (event, at)
          where s.at is not null
          union all
         select t.workspace_id, t.changed, 'question.asked', q.id, q.asked_at, false,
                json_build_object('questionId', q.id, 'taskId', t.id, 'runId', q.run_id)
           from changed_tasks t join questions q on q.id = t.question_id
          union all
         select r.workspace_id, r.changed, 'run.ended', r.id, r.finished_at, false,
                json_build_object('runId', r.id, 'status', r.status)
           from changed_runs r)
  -- An id of version 7: the time in milliseconds, then random bits.
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
           placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid as id,
         v.workspace_id, e.id as endpoint_id, v.event, v.subject,
         case when v.is_repeatable then date_trunc('milliseconds', v.at) else '-infinity' end as moment,
         json_build_object('type', v.event, 'timestamp', to_char(v.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', v.data)::text as payload
    from events v
    join webhook_endpoints e on e.workspace_id = v.workspace_id and e.disabled_at is null and v.event = any (e.events)
     and not pg_visible_in_snapshot(v.changed, e.since) and v.at >= e.created_at
   order by v.at`;

const columns = "id, workspace_id, endpoint_id, event, subject, moment, payload";
const onceEach = "on conflict (endpoint_id, event, subject, moment) where redelivers is null do nothing";

const oldDays = 30;

/** What one endpoint was to be told. */
export interface Untold {
  readonly endpointId: string;
  readonly event: string;
  readonly subject: string;
}

type Write = (tx: Tx, since: string) => Promise<void>;

/**
 * Turns what committed since the last look into deliveries, exactly once whoever looks: the snapshot that was looked up to is
 * kept in the same transaction. Another process that looks at the same time finds the row locked and leaves it to the first.
 * While no endpoint is enabled it rests, and costs one look at one row. A delivery that cannot be written is told to
 * `onFailure`, or thrown at the end, and keeps no other: no workspace's events stop for those of another.
 */
export async function findEvents(sql: Sql, onFailure?: (untold: Untold, error: unknown) => void): Promise<void> {
  const [resting] = await sql.unsafe<{ is: boolean }[]>("select snapshot is null as is from webhook_follower", [], {
    prepare: true,
  });
  if (resting?.is !== false) return;
  try {
    await look(sql, writeTogether);
    return;
  } catch (error) {
    if (!isFaultOfRows(error)) throw error;
  }
  const failed: { untold: Untold; error: unknown }[] = [];
  await look(sql, async (tx, since) => {
    failed.push(...(await writeAlone(tx, since)));
  });
  if (onFailure === undefined && failed[0] !== undefined) throw failed[0].error;
  for (const { untold, error } of failed) onFailure?.(untold, error);
}

async function look(sql: Sql, write: Write): Promise<void> {
  await transaction(sql, async (tx) => {
    const [kept] = await tx.unsafe<{ snapshot: string | null }[]>(
      "select snapshot::text from webhook_follower for update skip locked",
    );
    if (kept?.snapshot == null) return;
    // A statement of its own, after the lock: an endpoint that was made meanwhile is seen.
    const [enabled] = await tx.unsafe("select from webhook_endpoints where disabled_at is null limit 1");
    if (enabled === undefined) {
      await tx.unsafe("update webhook_follower set snapshot = null");
      return;
    }
    await write(tx, kept.snapshot);
  });
}

/** One statement, so one snapshot: what it keeps is what it looked at. */
async function writeTogether(tx: Tx, since: string): Promise<void> {
  await tx.unsafe(
    `with told as (insert into webhook_deliveries (${columns}) ${newDeliveries} ${onceEach} returning 1)
     update webhook_follower set snapshot = pg_current_snapshot() where (select count(*) from told) >= 0`,
    [since],
  );
}

/** Reads in one statement too, then writes each delivery by itself; answers those that could not be written. */
async function writeAlone(tx: Tx, since: string): Promise<{ untold: Untold; error: unknown }[]> {
  const found = await tx.unsafe<{ delivery: string; endpointId: string; event: string; subject: string }[]>(
    `with kept as (update webhook_follower set snapshot = pg_current_snapshot()), found as (${newDeliveries})
     select to_json(f)::text as delivery, endpoint_id as "endpointId", event, subject from found f`,
    [since],
  );
  const failed: { untold: Untold; error: unknown }[] = [];
  for (const { delivery, ...untold } of found) {
    await tx`savepoint one_delivery`;
    try {
      await tx.unsafe(
        `insert into webhook_deliveries (${columns})
         select ${columns} from json_populate_record(null::webhook_deliveries, $1::text::json) ${onceEach}`,
        [delivery],
        { prepare: true },
      );
      await tx`release savepoint one_delivery`;
    } catch (error) {
      if (!isFaultOfRows(error)) throw error;
      await tx`rollback to savepoint one_delivery`;
      failed.push({ untold, error });
    }
  }
  return failed;
}

/** Removes what was settled long ago, a bounded number at a time. */
export async function removeOldDeliveries(sql: Sql): Promise<void> {
  await sql.unsafe(
    `with old as (
       select id from webhook_deliveries d
        where created_at < clock_timestamp() - make_interval(days => ${oldDays}) and status <> 'pending'
          and not exists (select from webhook_deliveries r where r.redelivers = d.id)
        order by id limit 1000 for update skip locked),
     attempts as (delete from webhook_attempts where delivery_id in (select id from old))
     delete from webhook_deliveries where id in (select id from old)`,
  );
}
