import { z } from "@hono/zod-openapi";
import { approvalSchema } from "./approvals.ts";
import { actorSchema, moment } from "./common.ts";
import { questionSchema } from "./questions.ts";
import { heldBySchema } from "./switches.ts";

export const runStatus = z.enum(["queued", "running", "paused", "completed", "failed", "canceled"]);

export const runSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    definition: z.string(),
    definitionVersion: z.int(),
    status: runStatus,
    waitsOn: z
      .string()
      .nullable()
      .openapi({ description: "Set while paused: `kill` where a kill switch holds the run" }),
    heldBy: heldBySchema.nullable(),
    parentId: z.string().nullable(),
    rootId: z.string(),
    startedBy: actorSchema,
    turns: z.int(),
    callCount: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    costMicros: z.int().openapi({ description: "In millionths of the currency of the prices" }),
    unread: z.int().openapi({ description: "Steers the run has not read yet" }),
    lastSeq: z.int(),
    endReason: z.string().nullable(),
    createdAt: moment,
    finishedAt: moment.nullable(),
    isClosed: z
      .literal(true)
      .optional()
      .openapi({ description: "It has read pages that are closed to you, so that you may not read what it did" }),
  })
  .openapi("Run");

export const runDetailSchema = runSchema
  .extend({
    grants: z.array(z.string()),
    output: z.unknown(),
    classifier: z
      .object({
        calls: z.int(),
        inputTokens: z.int(),
        outputTokens: z.int(),
        costMicros: z.int(),
        latencyMs: z.int(),
      })
      .openapi({ description: "What judging the risk of its calls took; no part of the run's own totals" }),
  })
  .openapi("RunDetail");

export const runListSchema = z
  .object({ runs: z.array(runSchema), nextCursor: z.string().nullable() })
  .openapi("RunList");

export const logLineSchema = z
  .object({
    seq: z.int(),
    kind: z.string(),
    callId: z.string().nullable(),
    actor: z.string().nullable(),
    actorName: z.string().nullable(),
    content: z.unknown(),
    at: moment,
  })
  .openapi("LogLine");

export const logPartSchema = z
  .object({
    lines: z.array(logLineSchema),
    nextAfter: z.int().openapi({ description: "The `after` of the next request" }),
    hasMore: z.boolean(),
    hasEnded: z.boolean().openapi({ description: "The run has ended: no further line will come" }),
    status: runStatus,
    waitsOn: z.string().nullable(),
  })
  .openapi("LogPart");

export const callSchema = z
  .object({
    id: z.string(),
    tool: z.string(),
    args: z.string().openapi({ description: "The JSON text the model gave, with what looks like a secret hidden" }),
    argsDigest: z.string(),
    effect: z.string(),
    requires: z.array(z.string()),
    verdict: z.string(),
    gateRow: z.string(),
    gateReason: z.string(),
    status: z.string().openapi({ description: "As recorded; `classifying` while its risk is being judged" }),
    waitsOn: z.string().nullable(),
    waitUntil: moment.nullable(),
    attempt: z.int(),
    startedAt: moment.nullable(),
    finishedAt: moment.nullable(),
    result: z.unknown(),
    resultCode: z.string().nullable(),
    resultBlob: z.string().nullable(),
    approvals: z.array(approvalSchema),
    question: questionSchema.nullable(),
    log: z.array(logLineSchema),
  })
  .openapi("Call");

export const steerSchema = z
  .object({
    n: z.int(),
    author: actorSchema,
    message: z.unknown(),
    sentAt: moment,
    state: z.enum(["queued", "read", "ended_first"]),
    readSeq: z.int().nullable(),
  })
  .openapi("Steer");

export const runTreeSchema = z
  .object({
    run: runDetailSchema,
    entries: z.array(logLineSchema.extend({ calls: z.array(callSchema) })).openapi({
      description:
        "The log without the lines of calls, in order. A turn is an entry of kind `assistant`; its calls carry their own lines.",
    }),
    nextAfter: z.int().nullable().openapi({ description: "The `after` of the next part, where there is one" }),
    prevBefore: z.int().nullable().openapi({ description: "The `before` of the part before, where there is one" }),
    steers: z.array(steerSchema).openapi({ description: "The latest 200" }),
  })
  .openapi("RunTree");

export const sayingSchema = z
  .object({
    turn: z.int(),
    text: z.string(),
    thinking: z.string(),
    tools: z.array(z.string()).openapi({ description: "The tools it has begun to call" }),
    trouble: z.string().nullable().openapi({ description: "Why it says nothing, where it was asked in vain so far" }),
  })
  .openapi("Saying");

export type Saying = z.infer<typeof sayingSchema>;
export type Run = z.infer<typeof runSchema>;
export type RunDetail = z.infer<typeof runDetailSchema>;
export type LogLine = z.infer<typeof logLineSchema>;
export type LogPart = z.infer<typeof logPartSchema>;
export type Call = z.infer<typeof callSchema>;
export type Steer = z.infer<typeof steerSchema>;
export type RunTree = z.infer<typeof runTreeSchema>;
