import { z } from "@hono/zod-openapi";
import { approvalSchema, runRefSchema } from "./approvals.ts";
import { actorSchema, moment } from "./common.ts";
import { questionSchema } from "./questions.ts";

export const taskStatus = z.enum(["open", "done", "dismissed", "expired", "canceled"]);

export const taskSchema = z
  .object({
    id: z.string(),
    kind: z.enum(["task", "approval", "outcome", "question"]),
    status: taskStatus,
    section: z.string(),
    title: z.string(),
    run: runRefSchema.nullable(),
    pageId: z.string().nullable(),
    nodeId: z.string().nullable(),
    createdBy: actorSchema,
    createdAt: moment,
    resolvedAt: moment.nullable(),
    resolvedBy: actorSchema.nullable(),
    resolution: z.string().nullable(),
    approval: approvalSchema.nullable(),
    question: questionSchema.nullable(),
    isClosed: z
      .literal(true)
      .optional()
      .openapi({ description: "Its run has read pages that are closed to you: its texts are left out" }),
  })
  .openapi("Task");

export const taskListSchema = z
  .object({ tasks: z.array(taskSchema), nextCursor: z.string().nullable() })
  .openapi("TaskList");

export type Task = z.infer<typeof taskSchema>;
