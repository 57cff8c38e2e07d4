import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";

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
  | { readonly kind: "missing" };

const columns = `id, text, due_at as "dueAt", user_id as "userId", run_id as "runId", created_by as "createdBy",
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
export async function readReminder(db: Queryable, workspaceId: string, id: string): Promise<Reminder | undefined> {
  const [row] = await db.unsafe<Reminder[]>(
    `select ${columns} from reminders where workspace_id = $1::uuid and id = $2::uuid`,
    [workspaceId, id],
    { prepare: true },
  );
  return row;
}

/** Pending ones, the next first, or those of another status, newest first; one more than `limit` where there are more. */
export async function listReminders(
  db: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly status: ReminderStatus;
    /** The list goes on after this reminder. */
    readonly cursorId?: string | undefined;
    readonly limit: number;
  },
): Promise<Reminder[]> {
  const { workspaceId, status, cursorId = null, limit } = asked;
  const page =
    status === "pending"
      ? `status = $2 and ($3::uuid is null or (due_at, id) > (select due_at, id from reminders
                                                               where workspace_id = $1::uuid and id = $3::uuid))
         order by due_at, id`
      : "status = $2 and ($3::uuid is null or id < $3::uuid) order by id desc";
  return await db.unsafe<Reminder[]>(
    `select ${columns} from reminders where workspace_id = $1::uuid and ${page} limit $4::int + 1`,
    [workspaceId, status, cursorId, limit],
    { prepare: true },
  );
}

/** Cancels a reminder that still waits; `closed` where it was due or canceled before. Of this and the heartbeat, one wins. */
export async function cancelReminder(
  db: Queryable,
  asked: { readonly workspaceId: string; readonly id: string; readonly canceledBy: string },
): Promise<CancelReminderResult> {
  const { workspaceId, id, canceledBy } = asked;
  const [canceled] = await db.unsafe<Reminder[]>(
    `update reminders set status = 'canceled', settled_at = clock_timestamp(), settled_by = $3
      where workspace_id = $1::uuid and id = $2::uuid and status = 'pending' returning ${columns}`,
    [workspaceId, id, canceledBy],
    { prepare: true },
  );
  if (canceled !== undefined) return { kind: "canceled", reminder: canceled };
  const reminder = await readReminder(db, workspaceId, id);
  return reminder === undefined ? { kind: "missing" } : { kind: "closed", reminder };
}
