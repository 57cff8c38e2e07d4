import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { type Asker, isOfOpenRun } from "./visible.ts";

export type ReminderStatus = "pending" | "reminded" | "canceled";

/** What somebody is to be reminded of, and when. Once it was due it is a task. */
export interface Reminder {
  readonly id: string;
  readonly text: string;
  readonly dueAt: Date;
  /** Whose it is. */
  readonly userId: string;
  readonly runId: string | null;
  /** `user:<id>` or `run:<id>`. */
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly status: ReminderStatus;
  readonly settledAt: Date | null;
  readonly settledBy: string | null;
  readonly taskId: string | null;
}

export interface NewReminder {
  /** Given by a caller that may send the same reminder twice; else made here. */
  readonly id?: string;
  readonly workspaceId: string;
  readonly text: string;
  readonly dueAt: Date;
  readonly userId: string;
  readonly createdBy: string;
  readonly runId?: string | undefined;
}

export type CancelReminderResult =
  | { readonly kind: "canceled" | "closed"; readonly reminder: Reminder }
  /** It still waits, and is of a run that the asker may not read. */
  | { readonly kind: "hidden" }
  | { readonly kind: "missing" };

/** What a run wrote is read only by whoever may read the run, of whom $1 is the workspace and $2 the person. */
const columns = `id, open_text($1::uuid, $2::uuid, run_id, text) as text, due_at as "dueAt", user_id as "userId", run_id as "runId", created_by as "createdBy",
       created_at as "createdAt", status, settled_at as "settledAt", settled_by as "settledBy", task_id as "taskId"`;

/** Afterwards the reminder waits for its time; one whose time is past is due at once. The same id again changes nothing. */
export async function addReminder(db: Queryable, reminder: NewReminder): Promise<{ readonly id: string }> {
  const { id = newId(), workspaceId, text, dueAt, userId, createdBy, runId = null } = reminder;
  await db`
    insert into reminders (id, workspace_id, text, due_at, user_id, created_by, run_id)
    values (${id}, ${workspaceId}, ${text}, ${dueAt}, ${userId}, ${createdBy}, ${runId})
    on conflict (id) do nothing`;
  return { id };
}

/** One reminder; undefined where the workspace has none of this id. */
export async function readReminder(
  db: Queryable,
  { workspaceId, userId }: Asker,
  id: string,
): Promise<Reminder | undefined> {
  const [row] = await db.unsafe<Reminder[]>(
    `select ${columns} from reminders where workspace_id = $1::uuid and id = $3::uuid`,
    [workspaceId, userId, id],
    { prepare: true },
  );
  return row;
}

/** Pending ones, the next first, or those of another status, newest first; one more than `limit` where there are more. */
export async function listReminders(
  db: Queryable,
  asked: Asker & {
    readonly status: ReminderStatus;
    /** The list goes on after this reminder. */
    readonly cursorId?: string | undefined;
    readonly limit: number;
  },
): Promise<Reminder[]> {
  const { workspaceId, userId, status, cursorId = null, limit } = asked;
  const page =
    status === "pending"
      ? `status = $3 and ($4::uuid is null or (due_at, id) > (select due_at, id from reminders
                                                               where workspace_id = $1::uuid and id = $4::uuid))
         order by due_at, id`
      : "status = $3 and ($4::uuid is null or id < $4::uuid) order by id desc";
  return await db.unsafe<Reminder[]>(
    `select ${columns} from reminders where workspace_id = $1::uuid and ${page} limit $5::int + 1`,
    [workspaceId, userId, status, cursorId, limit],
    { prepare: true },
  );
}

/**
 * Cancels a reminder that still waits; `closed` where it was due or canceled before. Of this and the heartbeat, one wins.
 * Nobody cancels what they may not read.
 */
export async function cancelReminder(
  db: Queryable,
  asked: Asker & { readonly id: string; readonly canceledBy: string },
): Promise<CancelReminderResult> {
  const { workspaceId, userId, id, canceledBy } = asked;
  const [canceled] = await db.unsafe<Reminder[]>(
    `update reminders set status = 'canceled', settled_at = clock_timestamp(), settled_by = $4
      where workspace_id = $1::uuid and id = $3::uuid and status = 'pending' and ${isOfOpenRun("run_id")} returning ${columns}`,
    [workspaceId, userId, id, canceledBy],
    { prepare: true },
  );
  if (canceled !== undefined) return { kind: "canceled", reminder: canceled };
  const reminder = await readReminder(db, asked, id);
  if (reminder === undefined) return { kind: "missing" };
  return reminder.status === "pending" ? { kind: "hidden" } : { kind: "closed", reminder };
}
