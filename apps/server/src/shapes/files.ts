import { z } from "@hono/zod-openapi";
import { actorSchema, moment } from "./common.ts";

export const fileSchema = z
  .object({
    id: z.string(),
    handle: z.string().openapi({ description: "What tools and mails name the content by: `sha256:` and its hash" }),
    name: z.string(),
    mediaType: z.string(),
    size: z.int().openapi({ description: "In bytes" }),
    pageId: z.string().nullable(),
    runId: z.string().nullable(),
    createdBy: actorSchema,
    createdAt: moment,
  })
  .openapi("File");

export const fileListSchema = z
  .object({ files: z.array(fileSchema), nextCursor: z.string().nullable() })
  .openapi("FileList");

export type ShownFile = z.infer<typeof fileSchema>;
