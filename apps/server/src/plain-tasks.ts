import type { Tx } from "@countersign/db/connect.ts";

export interface NewTask {
  readonly id: string;
  readonly workspaceId: string;
  readonly title: string;
  readonly section: string;
  readonly createdBy: string;
}

/** Afterwards the task is open; `existing` and `mismatch` where this id was made before, by the same request or another. */
export async function putTask(
  tx: Tx,
  task: NewTask,
): Promise<"created" | "existing" | "mismatch"> {
  const created = await tx`
    insert into tasks (id, workspace_id, kind, status, section, title, created_by)
    values (${task.id}, ${task.workspaceId}, 'task', 'open', ${task.section}, ${task.title}, ${task.createdBy})
        on conflict (id) do nothing`;
  if (created.count === 1) return "created";
  const [found] = await tx<{ title: string; section: string }[]>`
    select title, section from tasks where id = ${task.id} and workspace_id = ${task.workspaceId}`;
  return found?.title === task.title && found.section === task.section ? "existing" : "mismatch";
}

/** Afterwards the task is dismissed, unless it was closed before; false then. A card is never touched here. */
export async function dismissTask(
  tx: Tx,
  asked: { readonly workspaceId: string; readonly id: string; readonly dismissedBy: string },
): Promise<boolean> {
  const dismissed = await tx`
    update tasks set status = 'dismissed', resolved_at = clock_timestamp(), resolved_by = ${asked.dismissedBy}
     where workspace_id = ${asked.workspaceId} and id = ${asked.id} and kind = 'task' and status = 'open'`;
  return dismissed.count === 1;
}
