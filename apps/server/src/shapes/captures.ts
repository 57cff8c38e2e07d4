import { storableText } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { actorSchema, moment, storableLine, uuid } from "./common.ts";

export const newCaptureSchema = z
  .strictObject({
    url: storableLine(2_000).openapi({ description: "http or https, without a login; its fragment does not count" }),
    title: storableLine(200),
    markdown: storableText(500_000).openapi({ description: "The extracted text. It is data, whatever it says" }),
    screenshotFileId: uuid.optional(),
    source: storableLine(200).optional().openapi({ description: "Who or what extracted it" }),
  })
  .openapi("NewCapture");

export const captureSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    title: z.string(),
    handle: z.string().openapi({ description: "Of the text" }),
    source: z.string().nullable(),
    screenshotFileId: z.string().nullable(),
    capturedFor: actorSchema,
    runId: z.string().nullable(),
    capturedAt: moment,
    status: z.enum(["pending", "compiled", "failed"]),
    settledAt: moment.nullable(),
    problem: z.string().nullable().openapi({ description: "Why there is no page" }),
    pageId: z.string().nullable(),
    revision: z.int().nullable().openapi({ description: "Of the page, as this capture made it" }),
  })
  .openapi("Capture");

export const captureListSchema = z
  .object({ captures: z.array(captureSchema), nextCursor: z.string().nullable() })
  .openapi("CaptureList");

export type ShownCapture = z.infer<typeof captureSchema>;
