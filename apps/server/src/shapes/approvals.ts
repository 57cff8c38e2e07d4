import { instant, storableText } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { actorSchema, idempotencyHeaders, moment, uuid } from "./common.ts";
import { heldBySchema } from "./switches.ts";

export const runRefSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    definition: z.string(),
    startedBy: z.string(),
  })
  .openapi("RunRef");

const voteSchema = z
  .object({
    by: actorSchema,
    sayOf: actorSchema.nullable().openapi({ description: "Who handed their say over, where it is not their own" }),
    answer: z.string(),
    at: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Vote");

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
    args: z.string().openapi({ description: "The JSON text that will run, with what looks like a secret hidden" }),
    gateRow: z.string(),
    gateReason: z.string(),
    card: z.unknown().openapi({ description: "What the card shows, built from the arguments" }),
    asksEachTime: z
      .string()
      .nullable()
      .openapi({ description: "Why no answer to it can be remembered; null where one can" }),
    heldBy: heldBySchema.nullable(),
    requestedAt: moment,
    expiresAt: moment.nullable(),
    decidedAt: moment.nullable(),
    decidedBy: actorSchema.nullable(),
    answer: z.string().nullable(),
    feedback: z.string().nullable(),
    note: z.string().nullable().openapi({ description: "Shown to approvers only" }),
    settledReason: z.string().nullable(),
    consumedAt: moment.nullable(),
    approverRule: z.unknown().openapi({ description: "Who decides; null: one approver or administrator" }),
    quorum: z.int().openapi({ description: "How many have to approve; one denial settles" }),
    votes: z.array(voteSchema),
    decidedFor: actorSchema.nullable().openapi({ description: "Whose say it was, where they had handed it over" }),
    scope: z.enum(["once", "run", "definition", "workspace"]).nullable(),
    editedArgs: z.string().nullable().openapi({ description: "The arguments as the person changed them" }),
    selectedOption: z.string().nullable(),
    remindedAt: moment.nullable(),
    escalatedAt: moment.nullable().openapi({ description: "Since then further people may decide" }),
    equal: z.int().openapi({ description: "How many other approvals that wait ask for the very same, up to 1000" }),
    isClosed: z
      .literal(true)
      .optional()
      .openapi({ description: "Its run has read pages that are closed to you: arguments and card are left out" }),
  })
  .openapi("Approval");

export const approvalListSchema = z
  .object({ approvals: z.array(approvalSchema), nextCursor: z.string().nullable() })
  .openapi("ApprovalList");

const seen = {
  argsDigest: storableText(200).optional().openapi({ description: "`argsDigest` of the approval you saw; required" }),
};

/** What may go with every decision. */
export const decisionBody = {
  ...seen,
  feedback: storableText(4_000).optional().openapi({ description: "Goes to the model" }),
  note: storableText(4_000).optional().openapi({ description: "Stays with the approval" }),
};

/** What may go with an approval besides. */
export const choiceBody = {
  selectedOption: storableText(500).optional().openapi({ description: "Which of the card's options it is to be" }),
  remember: z
    .strictObject({
      scope: z
        .enum(["run", "definition", "workspace"])
        .openapi({ description: "Where the rule holds; in the workspace for an administrator" }),
      units: z
        .union([z.array(storableText(8_192)).min(1).max(64), z.literal("all")])
        .optional()
        .openapi({
          description: "Which of the call's units; all of them unless stated. `all`: whatever the tool does",
        }),
      expiresMs: z.int().positive().max(31_622_400_000).optional(),
    })
    .optional()
    .openapi({ description: "Writes a rule that answers later calls; absent, this call alone" }),
};

const answerSchema = z.enum(["approve", "deny", "done", "retry", "give_up"]);

export const decisionSchema = z
  .strictObject({
    answer: answerSchema,
    ...decisionBody,
    ...choiceBody,
    editedArgs: storableText(262_144)
      .optional()
      .openapi({ description: "The arguments to run instead, as JSON text; they pass the gate first" }),
    equal: z.boolean().optional().openapi({ description: "Decide the others that ask for the very same as well" }),
  })
  .openapi("Decision");

export const decisionsSchema = z
  .strictObject({
    decisions: z
      .array(
        z.strictObject({
          approvalId: uuid,
          version: z.int().positive().max(999_999_999),
          answer: answerSchema,
          ...decisionBody,
          ...choiceBody,
        }),
      )
      .min(1)
      .max(100),
  })
  .openapi("Decisions");

export const extensionSchema = z.strictObject({ until: instant }).openapi("Extension");

export const decisionHeaders = idempotencyHeaders.extend({
  "if-match": z.string().optional().openapi({ description: '`"<version>"` of the approval you saw; required' }),
});

export const decidedSchema = z
  .object({
    outcome: z.enum(["decided", "repeated", "voted"]).openapi({
      description:
        "`repeated`: you had decided the same before, and nothing changed. `voted`: your vote counts, and the approval waits for more",
    }),
    approval: approvalSchema,
    together: z.array(z.string()).optional().openapi({ description: "The other approvals decided with it" }),
  })
  .openapi("Decided");

export const decidedListSchema = z.object({ decided: z.array(decidedSchema) }).openapi("DecidedList");

export type Approval = z.infer<typeof approvalSchema>;
