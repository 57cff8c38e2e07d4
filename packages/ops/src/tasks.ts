import type { Queryable } from "@countersign/db/connect.ts";
import { orm } from "@countersign/db/orm.ts";
import { tasks } from "@countersign/db/schema.ts";
import { and, asc, desc, eq, gte, type InferSelectModel, sql } from "drizzle-orm";
import { v7 as newId } from "uuid";
import type { Asker } from "./visible.ts";

type Row = InferSelectModel<typeof tasks>;

/** A line of the queue. Every kind but `task` is a card: it stands for an approval or a question of a run. */
export type Task = Pick<Row, "id" | "kind" | "section" | "title" | "runId" | "createdAt">;

/** `doneBy` is `user:<id>` or `run:<id>`. */
export interface DoneTask extends Pick<Row, "id" | "section" | "title" | "runId"> {
  readonly doneAt: Date;
  readonly doneBy: string;
}

/** A part of a list; `isMore` says that the list goes on. */
export interface Part<T> {
  readonly tasks: readonly T[];
  readonly isMore: boolean;
}

export interface NewTask {
  /** Given by a caller that may send the same task twice; else made here. */
  readonly id?: string;
  readonly workspaceId: string;
  readonly title: string;
  readonly section?: string | undefined;
  readonly createdBy: string;
  /** The run that made it, where one did. */
  readonly runId?: string | undefined;
}

export type PutTaskResult =
  | { readonly kind: "created" | "existing"; readonly id: string }
  /** This id was given to another task before. */
  | { readonly kind: "mismatch" };

type Titled = Pick<Row, "title" | "runId">;

export type CompleteTaskResult =
  | (Titled & { readonly kind: "completed" })
  | (Titled & { readonly kind: "closed"; readonly status: string })
  | (Titled & { readonly kind: "card"; readonly of: Exclude<Row["kind"], "task"> })
  /** It is open, and of a run that the asker may not read. */
  | { readonly kind: "hidden" }
  | { readonly kind: "missing" };

/**
 * The open tasks and cards of a workspace, or of one section of it, oldest first. Here as below, a title that a run gave is
 * read only by whoever may read the run.
 */
export async function listTasks(
  db: Queryable,
  asked: Asker & { readonly section?: string | undefined; readonly limit: number },
): Promise<Part<Task>> {
  const rows = await orm(db)
    .select({
      id: tasks.id,
      kind: tasks.kind,
      section: openText(asked, tasks.section),
      title: openText(asked, tasks.title),
      runId: tasks.runId,
      createdAt: tasks.createdAt,
    })
    .from(tasks)
    .where(
      and(
        eq(tasks.workspaceId, asked.workspaceId),
        eq(tasks.status, "open"),
        asked.section === undefined ? undefined : eq(tasks.section, asked.section),
      ),
    )
    .orderBy(asc(tasks.id))
    .limit(asked.limit + 1);
  return partOf(rows, asked.limit);
}

/** Afterwards the task is in the queue; putting the same one again changes nothing. */
export async function putTask(db: Queryable, task: NewTask): Promise<PutTaskResult> {
  const { id = newId(), workspaceId, title, section = "up-next", createdBy, runId = null } = task;
  const [created] = await orm(db)
    .insert(tasks)
    .values({ id, workspaceId, kind: "task", status: "open", section, title, runId, createdBy })
    .onConflictDoNothing({ target: tasks.id })
    .returning({ id: tasks.id });
  if (created !== undefined) return { kind: "created", id };
  const [found] = await orm(db).select().from(tasks).where(isTask(workspaceId, id));
  const isSame = found?.kind === "task" && found.title === title && found.section === section;
  return isSame ? { kind: "existing", id } : { kind: "mismatch" };
}

/**
 * Marks an open task done; of two at once, one does. Nobody closes what they may not read. A card is never touched here:
 * only a person's answer to its approval or question resolves it.
 */
export async function completeTask(
  db: Queryable,
  asked: Asker & { readonly id: string; readonly doneBy: string },
): Promise<CompleteTaskResult> {
  const done = await closeTask(db, { ...asked, status: "done", by: asked.doneBy });
  if (done !== undefined) return { kind: "completed", ...done };
  const [found] = await orm(db)
    .select({ kind: tasks.kind, title: openText(asked, tasks.title), status: tasks.status, runId: tasks.runId })
    .from(tasks)
    .where(isTask(asked.workspaceId, asked.id));
  if (found === undefined) return { kind: "missing" };
  const { kind: of, title, status, runId } = found;
  if (of !== "task") return { kind: "card", title, of, runId };
  return status === "open" ? { kind: "hidden" } : { kind: "closed", title, status, runId };
}

/** Afterwards the task is dismissed, unless it was closed before or is of a run that the asker may not read; false then. */
export async function dismissTask(
  db: Queryable,
  asked: Asker & { readonly id: string; readonly dismissedBy: string },
): Promise<boolean> {
  return (await closeTask(db, { ...asked, status: "dismissed", by: asked.dismissedBy })) !== undefined;
}

/** The sections of the oldest 1,000 that are open, in the order of the alphabet; not those of closed runs alone. */
export async function listSections(db: Queryable, { workspaceId, userId }: Asker): Promise<string[]> {
  const rows = await db<{ section: string }[]>`
    select distinct section
      from (select section, run_id from tasks where workspace_id = ${workspaceId} and status = 'open'
             order by id limit 1000) oldest
     where run_id is null or not exists (select closed_runs(${workspaceId}::uuid, ${userId}::uuid, array[run_id]))
     order by section`;
  return rows.map(({ section }) => section);
}

/** What was done since a time, or ever, latest first; cards are not part of it. */
export async function readDoneLog(
  db: Queryable,
  asked: Asker & {
    readonly since?: Date | undefined;
    /** The log goes on after this task. */
    readonly cursorId?: string | undefined;
    readonly limit: number;
  },
): Promise<Part<DoneTask>> {
  const rows = await orm(db)
    .select({
      id: tasks.id,
      section: openText(asked, tasks.section),
      title: openText(asked, tasks.title),
      runId: tasks.runId,
      doneAt: tasks.resolvedAt,
      doneBy: tasks.resolvedBy,
    })
    .from(tasks)
    .where(
      and(
        eq(tasks.workspaceId, asked.workspaceId),
        eq(tasks.status, "done"),
        eq(tasks.kind, "task"),
        asked.since === undefined ? undefined : gte(tasks.resolvedAt, asked.since),
        asked.cursorId === undefined
          ? undefined
          : sql`(${tasks.resolvedAt}, ${tasks.id}) < (select resolved_at, id from tasks c
                                                       where c.workspace_id = ${asked.workspaceId} and c.id = ${asked.cursorId})`,
      ),
    )
    .orderBy(desc(tasks.resolvedAt), desc(tasks.id))
    .limit(asked.limit + 1);
  const done = rows.flatMap(({ doneAt, doneBy, ...task }) =>
    doneAt === null ? [] : [{ ...task, doneAt, doneBy: doneBy ?? "" }],
  );
  return partOf(done, asked.limit);
}

/** The title of the task, and its run, where this call closed it. A card is never touched here. */
async function closeTask(
  db: Queryable,
  asked: Asker & {
    readonly id: string;
    readonly status: "done" | "dismissed";
    readonly by: string;
  },
): Promise<Titled | undefined> {
  const [closed] = await orm(db)
    .update(tasks)
    .set({ status: asked.status, resolvedAt: sql`clock_timestamp()`, resolvedBy: asked.by })
    .where(
      and(
        isTask(asked.workspaceId, asked.id),
        eq(tasks.kind, "task"),
        eq(tasks.status, "open"),
        sql`(${tasks.runId} is null
             or not exists (select closed_runs(${asked.workspaceId}::uuid, ${asked.userId}::uuid, array[${tasks.runId}])))`,
      ),
    )
    .returning({ title: openText(asked, tasks.title), runId: tasks.runId });
  return closed;
}

/** What a run may have written, as the asker may read it. */
function openText({ workspaceId, userId }: Asker, column: typeof tasks.title | typeof tasks.section) {
  return sql<string>`open_text(${workspaceId}::uuid, ${userId}::uuid, ${tasks.runId}, ${column})`;
}

function isTask(workspaceId: string, id: string) {
  return and(eq(tasks.workspaceId, workspaceId), eq(tasks.id, id));
}

function partOf<T>(rows: readonly T[], limit: number): Part<T> {
  return { tasks: rows.slice(0, limit), isMore: rows.length > limit };
}
