import type { Queryable } from "@countersign/db/connect.ts";
import { addReminder, cancelReminder, listReminders, readReminder, type Reminder } from "@countersign/ops/reminders.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import { closedRun } from "../closed-runs.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { Problem } from "../problem.ts";
import { readActors } from "../queries/actors.ts";
import { answers, idempotencyHeaders, idempotencyParameter, idParam, jsonBody, pageQuery } from "../shapes/common.ts";
import {
  newReminderSchema,
  reminderListSchema,
  reminderSchema,
  reminderStatus,
  type ShownReminder,
} from "../shapes/reminders.ts";

const list = createRoute({
  method: "get",
  path: "/reminders",
  summary: "Reminders: those that wait, the next first, or those of another status, newest first",
  request: { query: z.object({ status: reminderStatus.default("pending"), ...pageQuery }) },
  responses: answers("A page of reminders", reminderListSchema),
});

const create = createRoute({
  method: "post",
  path: "/reminders",
  summary: "Set a reminder; when it is due it becomes a task",
  request: { headers: idempotencyHeaders, body: jsonBody(newReminderSchema) },
  responses: answers("The reminder", reminderSchema),
});

const cancel = createRoute({
  method: "post",
  path: "/reminders/{id}/cancel",
  summary: "Cancel a reminder whose time has not come",
  parameters: [idempotencyParameter],
  request: { params: idParam },
  responses: answers("It is canceled", reminderSchema),
});

/** Reminders, which the heartbeat turns into tasks. */
export function createReminderRoutes(deps: ServerDependencies) {
  const { sql } = deps;

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { workspaceId, userId } = c.get("actor");
      const { status, cursor, limit } = c.req.valid("query");
      const name = `reminders.${status}`;
      const cursorId = decodeCursor(name, cursor);
      const read = await listReminders(sql, { workspaceId, userId, status, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ reminders: await show(sql, workspaceId, rows), nextCursor }, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Setting a reminder");
      const { workspaceId, userId } = actor;
      const { text, dueAt } = c.req.valid("json");
      const made = await transactOnce(c, deps, async (tx) => {
        const { id } = await addReminder(tx, {
          workspaceId,
          text,
          dueAt: new Date(dueAt),
          userId,
          createdBy: `user:${userId}`,
        });
        return await showOne(tx, workspaceId, await readReminder(tx, actor, id));
      });
      return c.json(made, 200);
    })
    .openapi(cancel, async (c) => {
      const actor = c.get("actor");
      const { workspaceId, userId } = actor;
      const { id } = c.req.valid("param");
      const canceled = await transactOnce(c, deps, async (tx) => {
        if ((await readReminder(tx, actor, id)) === undefined) throw noReminder(id);
        requireRole(actor, "operator", "Canceling a reminder");
        const canceledBy = `user:${userId}`;
        const result = await cancelReminder(tx, { workspaceId, userId, id, canceledBy });
        if (result.kind === "missing") throw noReminder(id);
        if (result.kind === "hidden") throw await closedRun(tx, actor);
        const shown = await showOne(tx, workspaceId, result.reminder);
        const isMine = result.reminder.status === "canceled" && result.reminder.settledBy === canceledBy;
        if (result.kind === "canceled" || isMine) return shown;
        throw alreadyClosed(shown);
      });
      return c.json(canceled, 200);
    });
}

function alreadyClosed({ status, settledAt, settledBy, taskId }: ShownReminder): Problem {
  const how = status === "reminded" ? `its time came and it is the task ${taskId ?? ""}` : "it was canceled before";
  return new Problem("already_closed", `This reminder is closed: ${how}. Nothing was changed by you.`, {
    settlement: { status, answer: null, by: settledBy?.name ?? null, at: settledAt, reason: null },
  });
}

async function showOne(sql: Queryable, workspaceId: string, reminder: Reminder | undefined): Promise<ShownReminder> {
  const [shown] = reminder === undefined ? [] : await show(sql, workspaceId, [reminder]);
  if (shown === undefined) throw new Error("A reminder is not there after it was set");
  return shown;
}

async function show(sql: Queryable, workspaceId: string, reminders: readonly Reminder[]): Promise<ShownReminder[]> {
  const texts = reminders.flatMap(({ createdBy, settledBy }) => [createdBy, settledBy]);
  const nameOf = await readActors(sql, workspaceId, texts);
  return reminders.map(({ createdBy, settledBy, userId: _userId, ...reminder }) => ({
    ...reminder,
    createdBy: nameOf(createdBy),
    settledBy: settledBy === null ? null : nameOf(settledBy),
  }));
}

function noReminder(id: string): Problem {
  return new Problem("not_found", `There is no reminder ${id} in this workspace. GET /v1/reminders lists them.`);
}
