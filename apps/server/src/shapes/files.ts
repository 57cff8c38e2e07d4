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

export const deletedFileSchema = z
  .object({
    id: z.string(),
    outcome: z.literal("deleted"),
    isContentGone: z
      .boolean()
      .openapi({ description: "False where another file, a capture or a result has the content" }),
  })
  .openapi("DeletedFile");

export const fileSpaceSchema = z
  .object({
    fileCount: z.int(),
    usedBytes: z.int().openapi({ description: "Of all files; content that several share counts once" }),
    quotaBytes: z.int().nullable().openapi({ description: "Null where nothing limits it" }),
  })
  .openapi("FileSpace");

/** A petabyte. */
const mostQuota = 2 ** 50;

export const newFileQuotaSchema = z
  .strictObject({
    quotaBytes: z.int().min(0).max(mostQuota).nullable().openapi({ description: "Null lifts the limit" }),
  })
  .openapi("NewFileQuota");

export type ShownFile = z.infer<typeof fileSchema>;
