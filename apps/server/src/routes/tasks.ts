import { storableText } from "@countersign/gate/storable.ts";
import { completeTask, dismissTask, putTask } from "@countersign/ops/tasks.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { v7 as newId } from "uuid";
import { answer } from "../answer-question.ts";
import { type Actor, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { decide } from "../decide.ts";
import { closedRun, showTask, showTasks } from "../closed-runs.ts";
import { once, type Work } from "../idempotency.ts";
import type { DecidingDependencies } from "../prepare-decision.ts";
import { Problem } from "../problem.ts";
import { readTogether } from "../queries/read-together.ts";
import { listTasks, readTask } from "../queries/tasks.ts";
import { choiceBody, decisionBody, decisionHeaders } from "../shapes/approvals.ts";
import {
  answers,
  idempotencyHeaders,
  idempotencyParameter,
  idParam,
  jsonBody,
  pageQuery,
  storableLine,
} from "../shapes/common.ts";
import { type Task, taskListSchema, taskSchema, taskStatus } from "../shapes/tasks.ts";

/** The section of cards; nobody puts a task there by hand. */
const cardSection = "needs-confirm";

const list = createRoute({
  method: "get",
  path: "/tasks",
  summary: "The queue: open tasks and cards, oldest first, or those of another status, newest first",
  request: {
    query: z.object({
      status: taskStatus.default("open"),
      section: storableLine(60).optional(),
      ...pageQuery,
    }),
  },
  responses: answers("A page of tasks, each card with what it stands for", taskListSchema),
});

const get = createRoute({
  method: "get",
  path: "/tasks/{id}",
  summary: "One task; a card with what it stands for",
  request: { params: idParam },
  responses: answers("The task", taskSchema),
});

const create = createRoute({
  method: "post",
  path: "/tasks",
  summary: "Put a task into the queue",
  request: {
    headers: idempotencyHeaders,
    body: jsonBody(
      z.strictObject({
        title: storableLine(300),
        section: storableLine(60)
          .refine((section) => section !== cardSection, `${cardSection} is kept for cards`)
          .default("up-next"),
      }),
    ),
  },
  responses: answers("The task", taskSchema),
});

const confirm = createRoute({
  method: "post",
  path: "/tasks/{id}/confirm",
  summary: "Approve what the card stands for",
  request: {
    params: idParam,
    headers: decisionHeaders,
    body: { ...jsonBody(z.strictObject({ ...decisionBody, ...choiceBody })), required: false },
  },
  responses: answers("The approval is given, or one vote for it", taskSchema),
});

const dismiss = createRoute({
  method: "post",
  path: "/tasks/{id}/dismiss",
  summary: "Deny an approval, leave a question without an answer, or drop a task",
  request: {
    params: idParam,
    headers: decisionHeaders,
    body: { ...jsonBody(z.strictObject(decisionBody)), required: false },
  },
  responses: answers("The task is closed", taskSchema),
});

const answerRoute = createRoute({
  method: "post",
  path: "/tasks/{id}/answer",
  summary: "Answer a question",
  parameters: [idempotencyParameter],
  request: {
    params: idParam,
    body: jsonBody(z.strictObject({ answer: storableText(20_000) })),
  },
  responses: answers("The question is answered", taskSchema),
});

const done = createRoute({
  method: "post",
  path: "/tasks/{id}/done",
  summary: "Mark a plain task done",
  parameters: [idempotencyParameter],
  request: { params: idParam },
  responses: answers("The task is done", taskSchema),
});

/** The queue of people and agents. */
export function createTaskRoutes(deps: ServerDependencies & DecidingDependencies) {
  const { sql, tools, countDecision } = deps;

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      const { status, section, cursor, limit } = c.req.valid("query");
      const name = `tasks.${status}`;
      const cursorId = decodeCursor(name, cursor);
      const { workspaceId } = actor;
      const read = await readTogether(sql, (tx) => listTasks(tx, { workspaceId, status, section, cursorId, limit }));
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ tasks: await showTasks(sql, actor, rows), nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const read: Work["read"] = (body) => readTogether(sql, body);
      const task = await findTask({ read }, c.get("actor"), c.req.valid("param").id);
      if (task.approval !== null) c.header("ETag", `"${task.approval.version}"`);
      return c.json(task, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Creating a task");
      const created = await once(c, deps, async (work) => {
        const id = newId();
        const { workspaceId, userId } = actor;
        await putTask(work.sql, { id, workspaceId, createdBy: `user:${userId}`, ...c.req.valid("json") });
        return await findTask(work, actor, id);
      });
      return c.json(created, 200);
    })
    .openapi(confirm, async (c) => {
      const actor = c.get("actor");
      const confirmed = await once(c, deps, async (work) => {
        const task = await findTask(work, actor, c.req.valid("param").id);
        if (task.approval === null || task.kind !== "approval") throw wrongKind(task, "confirmed");
        await decide({ ...work, tools, countDecision }, actor, {
          approvalId: task.approval.id,
          answer: "approve",
          ifMatch: c.req.valid("header")["if-match"],
          ...c.req.valid("json"),
        });
        return await findTask(work, actor, task.id);
      });
      return c.json(confirmed, 200);
    })
    .openapi(dismiss, async (c) => {
      const actor = c.get("actor");
      const dismissed = await once(c, deps, async (work) => {
        const task = await findTask(work, actor, c.req.valid("param").id);
        if (task.kind === "outcome") throw wrongKind(task, "dismissed");
        if (task.approval !== null) {
          await decide({ ...work, tools, countDecision }, actor, {
            approvalId: task.approval.id,
            answer: "deny",
            ifMatch: c.req.valid("header")["if-match"],
            ...c.req.valid("json"),
          });
        } else if (task.question !== null) {
          if (task.question.isClosed === true) throw await closedRun(work.sql, actor);
          await answer(work, actor, task.question, undefined);
        } else {
          await closePlain(work, actor, task, "dismissed");
        }
        return await findTask(work, actor, task.id);
      });
      return c.json(dismissed, 200);
    })
    .openapi(answerRoute, async (c) => {
      const actor = c.get("actor");
      const answered = await once(c, deps, async (work) => {
        const task = await findTask(work, actor, c.req.valid("param").id);
        if (task.question === null) throw wrongKind(task, "answered");
        if (task.question.isClosed === true) throw await closedRun(work.sql, actor);
        await answer(work, actor, task.question, c.req.valid("json").answer);
        return await findTask(work, actor, task.id);
      });
      return c.json(answered, 200);
    })
    .openapi(done, async (c) => {
      const actor = c.get("actor");
      const closed = await once(c, deps, async (work) => {
        const task = await findTask(work, actor, c.req.valid("param").id);
        if (task.kind !== "task") throw wrongKind(task, "marked done");
        return await closePlain(work, actor, task, "done");
      });
      return c.json(closed, 200);
    });
}

async function findTask(work: Pick<Work, "read">, actor: Actor, id: string): Promise<Task> {
  return await work.read(async (tx) => {
    const task = await readTask(tx, actor.workspaceId, id);
    if (task === undefined) throw new Problem("not_found", `There is no task ${id} in this workspace.`);
    return await showTask(tx, actor, task);
  });
}

/** The plain task after `close` was tried on it; refuses where somebody else had closed it, or otherwise. */
async function closePlain(work: Work, actor: Actor, task: Task, status: "done" | "dismissed"): Promise<Task> {
  requireRole(actor, "operator", "Closing a task");
  if (task.isClosed === true) throw await closedRun(work.sql, actor);
  const asked = { workspaceId: actor.workspaceId, userId: actor.userId, id: task.id };
  const by = `user:${actor.userId}`;
  if (status === "done") await completeTask(work.sql, { ...asked, doneBy: by });
  else await dismissTask(work.sql, { ...asked, dismissedBy: by });
  const now = await findTask(work, actor, task.id);
  if (now.status === status && now.resolvedBy?.id === actor.userId) return now;
  throw new Problem(
    "already_closed",
    `${now.resolvedBy?.name ?? "Somebody"} closed this task before: it is ${now.status}. Nothing was changed by you.`,
    {
      settlement: {
        status: now.status,
        answer: null,
        by: now.resolvedBy?.name ?? null,
        at: now.resolvedAt,
        reason: now.resolution,
      },
    },
  );
}

const waysToClose = {
  task: "mark it done, or dismiss it",
  approval: "confirm or dismiss it",
  outcome: "say what happened: POST /v1/approvals/<approval>/decision with done, retry or give_up",
  question: "answer or dismiss it",
} as const;

function wrongKind(task: Task, asked: string): Problem {
  return new Problem(
    "wrong_kind",
    `${JSON.stringify(task.title)} is of the kind ${task.kind} and cannot be ${asked}: ${waysToClose[task.kind]}.`,
  );
}
