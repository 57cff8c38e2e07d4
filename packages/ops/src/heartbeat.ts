import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { nameTask } from "./calendar.ts";

/** A task that the heartbeat made. */
export interface DueTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly title: string;
  /** What it is about: the reminder's text, or an event to prepare for. */
  readonly about: "reminder" | "event";
  /** The run that set the reminder, where one did. */
  readonly runId: string | null;
}

export interface Beat {
  readonly tasks: readonly DueTask[];
  /** There may be more that is due; beat again. */
  readonly isMore: boolean;
}

const mostAtOnce = 200;
const section = "up-next";
const by = "system:heartbeat";

/** A reminder, by its id, or an event, by its uid, of which a task is due. */
export interface DueRow {
  readonly workspaceId: string;
  readonly about: "reminder" | "event";
  readonly key: string;
}

/**
 * Makes a task of every reminder that is due, and of every event that is to be prepared for by now and has not begun, in one
 * workspace or in all, or of one row only: each once, however many look at the same time. The same rows at the same time
 * make the same tasks.
 */
export async function beat(tx: Tx, workspaceId?: string, only?: DueRow): Promise<Beat> {
  const among = { workspaceId: workspaceId ?? only?.workspaceId ?? null, key: only?.key ?? null };
  const reminders = only?.about === "event" ? [] : await remind(tx, among);
  const events = only?.about === "reminder" ? { tasks: [], seen: 0 } : await prepare(tx, among);
  return {
    tasks: [...reminders, ...events.tasks],
    isMore: reminders.length === mostAtOnce || events.seen === mostAtOnce,
  };
}

/** What a beat would take now, in all workspaces, up to `limit` of each kind. */
export async function findDueRows(sql: Queryable, limit: number): Promise<DueRow[]> {
  return await sql<DueRow[]>`
    (select workspace_id as "workspaceId", 'reminder' as about, id::text as key from reminders
      where status = 'pending' and due_at <= clock_timestamp() order by due_at, id limit ${limit})
     union all
    (select workspace_id, 'event', uid from calendar_events
      where prepare_at <= clock_timestamp() order by prepare_at, workspace_id, uid limit ${limit})`;
}

interface Among {
  readonly workspaceId: string | null;
  /** The one row, or null. */
  readonly key: string | null;
}

async function remind(tx: Tx, { workspaceId, key }: Among): Promise<DueTask[]> {
  // Rows that another heartbeat holds are passed over: it makes their tasks.
  const due = await tx<{ id: string; workspaceId: string; text: string; runId: string | null }[]>`
    select id, workspace_id as "workspaceId", text, run_id as "runId" from reminders
     where status = 'pending' and due_at <= clock_timestamp() and (${workspaceId}::uuid is null or workspace_id = ${workspaceId})
       and (${key}::uuid is null or id = ${key})
     order by due_at, id limit ${mostAtOnce} for no key update skip locked`;
  const tasks = due.map((reminder) => ({ ...reminder, taskId: newId(), title: reminder.text }));
  await insertTasks(tx, tasks);
  await tx.unsafe(
    `update reminders r set status = 'reminded', settled_at = clock_timestamp(), settled_by = '${by}', task_id = d.task_id
       from unnest($1::uuid[], $2::uuid[]) as d (id, task_id) where r.id = d.id`,
    [tasks.map(({ id }) => id), tasks.map(({ taskId }) => taskId)],
    { prepare: true },
  );
  return tasks.map(({ taskId, workspaceId: of, title, runId }) => ({
    id: taskId,
    workspaceId: of,
    title,
    about: "reminder",
    runId,
  }));
}

async function prepare(tx: Tx, { workspaceId, key }: Among): Promise<{ tasks: DueTask[]; seen: number }> {
  const due = await tx<DueEvent[]>`
    select uid, workspace_id as "workspaceId", title, starts_at as "startsAt", time_zone as "timeZone",
           starts_at > clock_timestamp() as "isAhead"
      from calendar_events
     where prepare_at <= clock_timestamp() and (${workspaceId}::uuid is null or workspace_id = ${workspaceId})
       and (${key}::text is null or uid = ${key})
     order by prepare_at, workspace_id, uid limit ${mostAtOnce} for no key update skip locked`;
  const found = due.map((event) => ({ ...event, taskId: event.isAhead ? newId() : null }));
  const tasks = found.flatMap(({ taskId, ...event }) =>
    taskId === null ? [] : [{ taskId, workspaceId: event.workspaceId, runId: null, title: nameTask(event) }],
  );
  await insertTasks(tx, tasks);
  await tx.unsafe(
    `update calendar_events e set prepare_at = null, task_id = d.task_id
       from unnest($1::uuid[], $2::text[], $3::uuid[]) as d (workspace_id, uid, task_id)
      where e.workspace_id = d.workspace_id and e.uid = d.uid`,
    [found.map((event) => event.workspaceId), found.map(({ uid }) => uid), found.map(({ taskId }) => taskId)],
    { prepare: true },
  );
  const made = tasks.map(({ taskId: id, workspaceId: of, title }) => ({
    id,
    workspaceId: of,
    title,
    about: "event" as const,
    runId: null,
  }));
  return { tasks: made, seen: due.length };
}

interface DueEvent {
  readonly uid: string;
  readonly workspaceId: string;
  readonly title: string;
  readonly startsAt: Date;
  readonly timeZone: string;
  /** It has not begun. */
  readonly isAhead: boolean;
}

async function insertTasks(
  tx: Tx,
  tasks: readonly {
    readonly taskId: string;
    readonly workspaceId: string;
    readonly title: string;
    readonly runId: string | null;
  }[],
): Promise<void> {
  await tx.unsafe(
    `insert into tasks (id, workspace_id, kind, status, section, title, run_id, created_by)
     select id, workspace_id, 'task', 'open', '${section}', title, run_id, '${by}'
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[]) as t (id, workspace_id, title, run_id)`,
    [
      tasks.map(({ taskId }) => taskId),
      tasks.map(({ workspaceId }) => workspaceId),
      tasks.map(({ title }) => title),
      tasks.map(({ runId }) => runId),
    ],
    { prepare: true },
  );
}
