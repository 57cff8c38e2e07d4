import { z } from "@hono/zod-openapi";
import { moment } from "./common.ts";

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

export type AuditRow = z.infer<typeof auditRowSchema>;
