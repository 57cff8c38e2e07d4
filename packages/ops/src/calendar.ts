import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { formatWallTime } from "./wall-time.ts";

/** An event as a calendar outside tells it. */
export interface CalendarEvent {
  /** The calendar's own name for it. */
  readonly uid: string;
  readonly title: string;
  readonly startsAt: Date;
  readonly endsAt: Date;
  /** Where it takes place in time, such as `Europe/Berlin`: a task says the hour there. */
  readonly timeZone: string;
  /** How long before it a task asks to prepare for it; 0 asks for none. */
  readonly prepareMinutes: number;
}

/** What the task that asks to prepare for an event is called. */
export function nameTask({
  title,
  startsAt,
  timeZone,
}: Pick<CalendarEvent, "title" | "startsAt" | "timeZone">): string {
  return `Prepare for ${title}, ${formatWallTime(startsAt, timeZone)}`;
}

/**
 * Afterwards the workspace knows the event as it is told here. Where it begins at another time than before, or is to be
 * prepared for at another, its preparation falls due anew, and a task for the old time is canceled where it is still open;
 * else an open task says what the event is called now.
 */
export async function putCalendarEvent(
  tx: Tx,
  event: CalendarEvent & { readonly workspaceId: string; readonly putBy: string },
): Promise<void> {
  const { workspaceId, uid, title, startsAt, endsAt, timeZone, prepareMinutes, putBy } = event;
  const [known] = await tx<{ isMoved: boolean; taskId: string | null }[]>`
    select (starts_at, prepare_minutes) is distinct from (${startsAt}::timestamptz, ${prepareMinutes}::int) as "isMoved",
           task_id as "taskId"
      from calendar_events where workspace_id = ${workspaceId} and uid = ${uid} for no key update`;
  const isMoved = known?.isMoved ?? true;
  if (isMoved) await dropTask(tx, workspaceId, known?.taskId ?? null, "the event was moved");
  else await renameTask(tx, workspaceId, known?.taskId ?? null, nameTask(event));
  await tx`
    insert into calendar_events (workspace_id, uid, title, starts_at, ends_at, time_zone, prepare_minutes, prepare_at, put_by)
    values (${workspaceId}, ${uid}, ${title}, ${startsAt}, ${endsAt}, ${timeZone}, ${prepareMinutes},
            case when ${prepareMinutes}::int > 0
                 then ${startsAt}::timestamptz - make_interval(mins => ${prepareMinutes}::int) end, ${putBy})
    on conflict (workspace_id, uid) do update
       set title = excluded.title, starts_at = excluded.starts_at, ends_at = excluded.ends_at,
           time_zone = excluded.time_zone, prepare_minutes = excluded.prepare_minutes,
           prepare_at = case when ${isMoved} then excluded.prepare_at else calendar_events.prepare_at end,
           task_id = case when ${isMoved} then null else calendar_events.task_id end,
           put_by = excluded.put_by, put_at = clock_timestamp()`;
}

/** Afterwards the workspace does not know the event, and its open task is canceled. False where it did not know it. */
export async function removeCalendarEvent(tx: Tx, workspaceId: string, uid: string): Promise<boolean> {
  const [gone] = await tx<{ taskId: string | null }[]>`
    delete from calendar_events where workspace_id = ${workspaceId} and uid = ${uid} returning task_id as "taskId"`;
  if (gone === undefined) return false;
  await dropTask(tx, workspaceId, gone.taskId, "the event was removed");
  return true;
}

/** The events that end after `from`, the next first, at most `limit`. */
export async function listCalendarEvents(
  db: Queryable,
  { workspaceId, from, limit }: { readonly workspaceId: string; readonly from: Date; readonly limit: number },
): Promise<CalendarEvent[]> {
  return await db<CalendarEvent[]>`
    select uid, title, starts_at as "startsAt", ends_at as "endsAt", time_zone as "timeZone",
           prepare_minutes as "prepareMinutes"
      from calendar_events where workspace_id = ${workspaceId} and ends_at > ${from}
     order by starts_at, uid limit ${limit}`;
}

async function dropTask(tx: Tx, workspaceId: string, taskId: string | null, reason: string): Promise<void> {
  if (taskId === null) return;
  await tx`
    update tasks
       set status = 'canceled', resolved_at = clock_timestamp(), resolved_by = 'system:calendar', resolution = ${reason}
     where workspace_id = ${workspaceId} and id = ${taskId} and kind = 'task' and status = 'open'`;
}

async function renameTask(tx: Tx, workspaceId: string, taskId: string | null, title: string): Promise<void> {
  if (taskId === null) return;
  await tx`
    update tasks set title = ${title}
     where workspace_id = ${workspaceId} and id = ${taskId} and kind = 'task' and status = 'open' and title <> ${title}`;
}
