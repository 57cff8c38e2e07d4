import { z } from "@hono/zod-openapi";
import { actorSchema, moment } from "./common.ts";

export const auditRowSchema = z
  .object({
    id: z.string(),
    seq: z.int().nullable().openapi({ description: "Its number in the chain; null for the second until it is sealed" }),
    at: moment,
    actor: z.string().openapi({ description: "`user:<id>`, `run:<id>` or `system`" }),
    actorName: z.string().nullable(),
    action: z.string().openapi({ description: "Noun and past verb, such as `approval.decided`" }),
    runId: z.string().nullable(),
    callId: z.string().nullable(),
    subject: z.string().nullable(),
    details: z.unknown(),
  })
  .openapi("AuditRow");

export const auditListSchema = z
  .object({ rows: z.array(auditRowSchema), nextCursor: z.string().nullable() })
  .openapi("AuditList");

const headSchema = z
  .object({
    workspaceId: z.string(),
    seq: z.int(),
    hash: z.string(),
    rows: z.int(),
    signedAt: z.string(),
    keyId: z.string(),
    signature: z.string(),
  })
  .openapi("AuditHead");

export const auditCheckSchema = z
  .object({
    id: z.string(),
    askedBy: actorSchema,
    askedAt: moment,
    takenAt: moment
      .nullable()
      .openapi({ description: "When a worker last went on with it; null: none has come to it" }),
    rowsRead: z.int(),
    finishedAt: moment.nullable(),
    report: z
      .object({
        sealed: z.int().openapi({ description: "How many rows were read and compared" }),
        unsealed: z.int().openapi({ description: "Rows of the last second, of which nothing can be said yet" }),
        end: z.object({ seq: z.int(), hash: z.string() }).nullable().openapi({ description: "The chain's last row" }),
        keptHead: headSchema.nullable().openapi({
          description: "The furthest head outside the database: a tail that was cut off before it shows, after it not",
        }),
        badLines: z.int().openapi({ description: "Lines of the worker's file of heads that are none" }),
        broken: z.int(),
        breaks: z.array(
          z.object({
            what: z.string(),
            message: z.string(),
            seq: z.int().nullable().openapi({ description: "The number in the chain" }),
          }),
        ),
      })
      .nullable()
      .openapi({ description: "`breaks` has the first hundred of `broken`" }),
  })
  .openapi("AuditCheck");

export const auditCheckListSchema = z
  .object({ checks: z.array(auditCheckSchema), nextCursor: z.string().nullable() })
  .openapi("AuditCheckList");

export type AuditCheck = z.infer<typeof auditCheckSchema>;

export type AuditRow = z.infer<typeof auditRowSchema>;
