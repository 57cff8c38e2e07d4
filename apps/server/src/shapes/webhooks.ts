import { storableText } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { moment } from "./common.ts";

/** What an endpoint can be told of. */
export const webhookEvents = [
  "approval.requested",
  "approval.reminded",
  "approval.escalated",
  "approval.decided",
  "question.asked",
  "run.ended",
] as const;

export const newWebhookSchema = z
  .strictObject({
    url: storableText(2_000).openapi({ description: "https, at a public address, without a login" }),
    events: z
      .array(z.enum(webhookEvents))
      .min(1)
      .max(webhookEvents.length)
      .optional()
      .openapi({ description: "All of them unless stated" }),
  })
  .openapi("NewWebhook");

export const webhookSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    createdAt: moment,
    disabledAt: moment.nullable(),
    disabledReason: z.string().nullable(),
  })
  .openapi("Webhook");

export const createdWebhookSchema = webhookSchema
  .extend({
    secret: z.string().openapi({ description: "What deliveries are signed with. It is told here and never again" }),
  })
  .openapi("CreatedWebhook");

export type CreatedWebhook = z.infer<typeof createdWebhookSchema>;

export const webhookListSchema = z
  .object({ webhooks: z.array(webhookSchema), nextCursor: z.string().nullable() })
  .openapi("WebhookList");

export const deliverySchema = z
  .object({
    id: z.string(),
    event: z.string(),
    subject: z.string().openapi({ description: "The approval, question or run" }),
    payload: z.string().openapi({ description: "The body as it is sent" }),
    redelivers: z.string().nullable(),
    status: z.enum(["pending", "delivered", "failed"]),
    createdAt: moment,
    settledAt: moment.nullable(),
    attempts: z.array(
      z.object({
        n: z.int(),
        at: moment,
        tookMs: z.int(),
        statusCode: z.int().nullable(),
        failure: z.string().nullable().openapi({ description: "Why it did not count as received" }),
      }),
    ),
  })
  .openapi("WebhookDelivery");

export const deliveryListSchema = z
  .object({ deliveries: z.array(deliverySchema), nextCursor: z.string().nullable() })
  .openapi("WebhookDeliveryList");

export type Webhook = z.infer<typeof webhookSchema>;
export type Delivery = z.infer<typeof deliverySchema>;
