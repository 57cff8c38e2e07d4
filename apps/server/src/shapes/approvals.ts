import { z } from "@hono/zod-openapi";
import { actorSchema, idempotencyHeaders, moment, storableText } from "./common.ts";

export const runRefSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    definition: z.string(),
    startedBy: z.string(),
  })
  .openapi("RunRef");

export const approvalSchema = z
  .object({
    id: z.string(),
    kind: z.enum(["approval", "outcome"]),
    status: z.enum(["pending", "approved", "denied", "expired", "canceled", "superseded"]),
    version: z.int().openapi({ description: "Goes into `If-Match` of a decision" }),
    argsDigest: z.string().openapi({ description: "Goes into the body of a decision" }),
    taskId: z.string(),
    callId: z.string(),
    run: runRefSchema,
    tool: z.string(),
    args: z.string().openapi({ description: "The exact JSON text that will run" }),
    gateRow: z.string(),
    gateReason: z.string(),
    card: z.unknown().openapi({ description: "What the card shows, built from the arguments" }),
    heldBy: z.string().nullable(),
    requestedAt: moment,
    expiresAt: moment.nullable(),
    decidedAt: moment.nullable(),
    decidedBy: actorSchema.nullable(),
    answer: z.string().nullable(),
    feedback: z.string().nullable(),
    note: z.string().nullable().openapi({ description: "Shown to approvers only" }),
    settledReason: z.string().nullable(),
    consumedAt: moment.nullable(),
  })
  .openapi("Approval");

export const approvalListSchema = z
  .object({ approvals: z.array(approvalSchema), nextCursor: z.string().nullable() })
  .openapi("ApprovalList");

const seen = {
  argsDigest: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .openapi({ description: "`argsDigest` of the approval you saw; required" }),
};

/** What may go with every decision. */
export const decisionBody = {
  ...seen,
  feedback: storableText(4_000).optional().openapi({ description: "Goes to the model" }),
  note: storableText(4_000).optional().openapi({ description: "Stays with the approval" }),
};

export const decisionSchema = z
  .strictObject({
    answer: z.enum(["approve", "deny", "done", "retry", "give_up"]),
    ...decisionBody,
  })
  .openapi("Decision");

export const decisionHeaders = idempotencyHeaders.extend({
  "if-match": z.string().optional().openapi({ description: '`"<version>"` of the approval you saw; required' }),
});

export const decidedSchema = z
  .object({
    outcome: z.enum(["decided", "repeated"]).openapi({
      description: "`repeated`: you had decided the same before, and nothing changed",
    }),
    approval: approvalSchema,
  })
  .openapi("Decided");

export type Approval = z.infer<typeof approvalSchema>;
