import { z } from "@hono/zod-openapi";
import { moment } from "./common.ts";

export const receiptSchema = z
  .object({
    approvalId: z.string(),
    taskId: z.string(),
    runId: z.string(),
    callId: z.string(),
    tool: z.string(),
    kind: z.enum(["approval", "outcome"]),
    status: z.string(),
    answer: z.string().nullable(),
    card: z.string().openapi({ description: "The card as it was shown, byte for byte" }),
    cardHash: z.string().openapi({ description: "SHA-256 of the card, hex; each entry holds the one that was shown" }),
    argsHash: z.string(),
    editedArgsHash: z.string().nullable(),
    selectedOption: z.string().nullable(),
    scope: z.string().nullable(),
    definitionHash: z.string(),
    policyVersions: z.string(),
    gateRow: z.string(),
    gateReason: z.string(),
    approverRule: z.unknown(),
    requestedAt: moment,
    decidedAt: moment.nullable(),
    entries: z
      .array(
        z.object({
          auditId: z.string(),
          at: moment,
          actor: z.string(),
          actorName: z.string().nullable(),
          action: z.string(),
          details: z.string().nullable().openapi({ description: "The exact JSON text that is sealed" }),
          seal: z.object({ seq: z.number(), hash: z.string(), keyId: z.string() }).nullable(),
        }),
      )
      .openapi({
        description: "What the audit says of it: who, when, how they were authenticated, what they said of what",
      }),
    isSealed: z.boolean().openapi({ description: "Every entry has its place in the chain" }),
  })
  .openapi("Receipt");

export const attentionSchema = z
  .object({
    days: z.int(),
    asked: z.int(),
    pending: z.int(),
    approved: z.int(),
    denied: z.int(),
    expired: z.int(),
    runs: z.int().openapi({ description: "Runs that asked anything" }),
    approvalRate: z.number().nullable().openapi({ description: "Of those that were decided" }),
    promptsPerRun: z.number().nullable(),
    medianSeconds: z.number().nullable().openapi({ description: "From the request to the decision" }),
    slowSeconds: z.number().nullable().openapi({ description: "19 of 20 decisions took less" }),
  })
  .openapi("Attention");

export type Receipt = z.infer<typeof receiptSchema>;
export type Attention = z.infer<typeof attentionSchema>;
