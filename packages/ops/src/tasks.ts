import type { Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";

/** A line of the queue. Every kind but `task` is a card: it stands for an approval or a question of a run. */
export interface Task {
  readonly id: string;
  readonly kind: "task" | "approval" | "outcome" | "question";
  readonly section: string;
  readonly title: string;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
}

export interface DoneTask {
  readonly id: string;
  readonly section: string;
  readonly title: string;
  /** ISO 8601, UTC. */
  readonly doneAt: string;
  /** `user:<id>` or `run:<id>`. */
  readonly doneBy: string;
}

/** A part of a list; `isMore` says that the list goes on. */
export interface Part<T> {
  readonly tasks: readonly T[];
  readonly isMore: boolean;
}

export type CompleteTaskResult =
  | { readonly kind: "completed"; readonly title: string }
  | { readonly kind: "closed"; readonly title: string; readonly status: string }
  | {
      readonly kind: "card";
      readonly title: string;
      readonly of: "approval" | "outcome" | "question";
    }
  | { readonly kind: "missing" };

/** The open tasks and cards of a workspace, or of one section of it, oldest first. */
export async function listTasks(
  tx: Tx,
  asked: {
    readonly workspaceId: string;
    readonly section?: string | undefined;
    readonly limit: number;
  },
): Promise<Part<Task>> {
  const rows = await tx<Task[]>`
    select id, kind, section, title, ${utcText(tx, "created_at")} as "createdAt" from tasks
     where workspace_id = ${asked.workspaceId} and status = 'open'
       and (${asked.section ?? null}::text is null or section = ${asked.section ?? null})
     order by id limit ${asked.limit + 1}`;
  return partOf(rows, asked.limit);
}

/** Puts a task into the queue and answers its id. `runId` is the run that made it, where one did. */
export async function createTask(
  tx: Tx,
  task: {
    readonly workspaceId: string;
    readonly title: string;
    readonly section?: string | undefined;
    readonly createdBy: string;
    readonly runId?: string | undefined;
  },
): Promise<string> {
  const id = newId();
  await tx`
    insert into tasks (id, workspace_id, kind, status, section, title, run_id, created_by)
    values (${id}, ${task.workspaceId}, 'task', 'open', ${task.section ?? "up-next"}, ${task.title}, ${task.runId ?? null},
            ${task.createdBy})`;
  return id;
}

/**
 * Marks an open task done; of two at once, one does. A card is never touched here: only a person's answer to its
 * approval or question resolves it.
 */
export async function completeTask(
  tx: Tx,
  asked: { readonly workspaceId: string; readonly id: string; readonly doneBy: string },
): Promise<CompleteTaskResult> {
  const [done] = await tx<{ title: string }[]>`
    update tasks set status = 'done', resolved_at = clock_timestamp(), resolved_by = ${asked.doneBy}
     where workspace_id = ${asked.workspaceId} and id = ${asked.id} and kind = 'task' and status = 'open'
    returning title`;
  if (done !== undefined) return { kind: "completed", title: done.title };
  const [found] = await tx<{ kind: Task["kind"]; title: string; status: string }[]>`
    select kind, title, status from tasks where workspace_id = ${asked.workspaceId} and id = ${asked.id}`;
  if (found === undefined) return { kind: "missing" };
  if (found.kind !== "task") return { kind: "card", title: found.title, of: found.kind };
  return { kind: "closed", title: found.title, status: found.status };
}

/** What was done since a time, or ever, latest first; cards are not part of it. */
export async function readDoneLog(
  tx: Tx,
  asked: {
    readonly workspaceId: string;
    readonly since?: string | undefined;
    readonly limit: number;
  },
): Promise<Part<DoneTask>> {
  const rows = await tx<DoneTask[]>`
    select id, section, title, ${utcText(tx, "resolved_at")} as "doneAt", coalesce(resolved_by, '') as "doneBy" from tasks
     where workspace_id = ${asked.workspaceId} and status = 'done' and kind = 'task'
       and resolved_at >= coalesce(${asked.since ?? null}::text::timestamptz, '-infinity')
     order by resolved_at desc, id desc limit ${asked.limit + 1}`;
  return partOf(rows, asked.limit);
}

function partOf<T>(rows: readonly T[], limit: number): Part<T> {
  return { tasks: rows.slice(0, limit), isMore: rows.length > limit };
}

/** A time as text, since what the driver makes of one depends on who else configured it. */
function utcText(tx: Tx, column: "created_at" | "resolved_at") {
  return tx`to_char(${tx(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
