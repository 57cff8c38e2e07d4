import { z } from "@hono/zod-openapi";
import { runRefSchema } from "./approvals.ts";
import { actorSchema, moment } from "./common.ts";
import { heldBySchema } from "./switches.ts";

export const questionSchema = z
  .object({
    id: z.string(),
    status: z.enum(["open", "answered", "dismissed", "expired", "canceled"]),
    taskId: z.string(),
    callId: z.string(),
    run: runRefSchema,
    question: z.string(),
    options: z.array(z.string()),
    context: z.string().nullable(),
    defaultAnswer: z.string().nullable(),
    heldBy: heldBySchema.nullable(),
    askedAt: moment,
    expiresAt: moment.nullable(),
    answeredAt: moment.nullable(),
    answeredBy: actorSchema.nullable(),
    answer: z.string().nullable(),
    isClosed: z
      .literal(true)
      .optional()
      .openapi({ description: "Its run has read pages that are closed to you: its texts are left out" }),
  })
  .openapi("Question");

export type Question = z.infer<typeof questionSchema>;
