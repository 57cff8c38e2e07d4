import { storableText } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { actorSchema, moment, uuid } from "./common.ts";

/** A directory, its parts joined by slashes; empty for the top. */
export const directory = z
  .string()
  .max(600)
  .refine((text) => !text.includes("\0") && text.isWellFormed(), "holds a character that cannot be stored");

/** A page's text, which is checked by what stores it. */
const okf = z.string().max(1_000_000);

const pageHeadSchema = z
  .object({
    id: z.string(),
    dir: z.string(),
    title: z.string(),
    slug: z.string(),
    type: z.string(),
    revision: z.int(),
    labels: z.array(z.string()),
    aliases: z.array(z.string()),
    problem: z
      .string()
      .nullable()
      .openapi({ description: "Why its frontmatter could not be read; it is kept as it is" }),
    createdAt: moment,
    updatedAt: moment,
    removedAt: moment.nullable(),
  })
  .openapi("PageHead");

const linkedPage = z.object({ id: z.string(), title: z.string() });

export const pageSchema = pageHeadSchema
  .extend({
    okf: z.string().openapi({
      description:
        "Frontmatter and outline; every bullet ends its first line with its id, unless it was asked for without",
    }),
    nodes: z.array(z.object({ id: z.string(), parentId: z.string().nullable(), kind: z.string(), text: z.string() })),
    links: z.array(
      linkedPage.extend({
        names: z
          .array(z.string())
          .openapi({ description: "By which names, in small letters, and which paths it is linked to" }),
      }),
    ),
    backlinks: z.array(linkedPage),
  })
  .openapi("KnowledgePage");

export const pageListSchema = z
  .object({ pages: z.array(pageHeadSchema), nextCursor: z.string().nullable() })
  .openapi("PageList");

export const newPageSchema = z
  .strictObject({ title: z.string().max(300), dir: directory.optional(), okf: okf.optional() })
  .openapi("NewPage");

export const okfBody = z.strictObject({ okf }).openapi("PageText");

export const pageMoveSchema = z
  .strictObject({ title: z.string().max(300).optional(), dir: directory.optional() })
  .openapi("PageMove");

export const editedSchema = z
  .object({
    outcome: z.enum(["created", "changed", "unchanged", "removed"]),
    pageId: z.string(),
    revision: z.int(),
    commandId: z.string().nullable().openapi({ description: "What to undo to take it back" }),
    isMerged: z.boolean().openapi({ description: "Others had changed the page since; it holds both changes" }),
    added: z.int(),
    changed: z.int(),
    removed: z.int(),
    renamedLinks: z.int(),
    warnings: z.array(z.string()),
  })
  .openapi("PageEdited");

export type Edited = z.infer<typeof editedSchema>;

export const nodeSchema = z
  .object({
    id: z.string(),
    pageId: z.string(),
    revision: z.int(),
    kind: z.string(),
    text: z.string(),
    okf: z.string(),
  })
  .openapi("KnowledgeNode");

export const hitKinds = ["page", "bullet", "heading", "paragraph", "table", "fence"] as const;

export const searchSchema = z
  .object({
    hits: z.array(
      z.object({
        kind: z.enum(hitKinds),
        pageId: z.string(),
        pageTitle: z.string(),
        dir: z.string(),
        nodeId: z.string().nullable(),
        excerpt: z.string(),
        lists: z.array(z.string()).openapi({ description: "How it was found" }),
      }),
    ),
    leftOut: z
      .array(z.object({ list: z.string(), reason: z.string() }))
      .openapi({ description: "Lists that are set up and could not be searched, and why" }),
  })
  .openapi("SearchHits");

export const grepSchema = z
  .object({
    matches: z.array(z.object({ pageTitle: z.string(), pageId: z.string(), nodeId: z.string(), excerpt: z.string() })),
    total: z.int(),
  })
  .openapi("GrepMatches");

export const levelSchema = z
  .object({
    dir: z.string(),
    dirs: z.array(z.object({ dir: z.string(), pageCount: z.int() })),
    pages: z.array(z.object({ id: z.string(), title: z.string(), type: z.string() })),
    totals: z.object({ dirs: z.int(), pages: z.int() }),
  })
  .openapi("DirectoryLevel");

const commandSchema = z
  .object({
    id: z.string(),
    pageId: z.string(),
    pageTitle: z.string(),
    revision: z.int(),
    kind: z.string(),
    by: actorSchema,
    runId: z.string().nullable(),
    callId: z.string().nullable(),
    at: moment,
    undoes: z.string().nullable(),
    undoneBy: z.string().nullable(),
  })
  .openapi("PageCommand");

export const commandListSchema = z
  .object({ commands: z.array(commandSchema), nextCursor: z.string().nullable() })
  .openapi("PageCommandList");

const stateSchema = z.object({
  page: z
    .object({
      frontmatter: z.string().optional(),
      title: z.string().optional(),
      lineEnd: z.enum(["\n", "\r\n"]).optional(),
      dir: z.string().optional(),
      isRemoved: z.boolean().optional(),
    })
    .optional(),
  nodes: z
    .array(z.object({ id: z.string(), parentId: z.string().nullable(), kind: z.string(), text: z.string() }))
    .optional(),
});

export const commandDetailSchema = commandSchema
  .extend({ before: stateSchema, after: stateSchema })
  .openapi("PageCommandDetail");

const agreedState = z.strictObject({
  revision: z.int().min(1).max(2_147_483_647),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .openapi({ description: "Of the file's text in UTF-8, in hexadecimal" }),
});

const fileState = agreedState.extend({
  orLater: z
    .boolean()
    .default(false)
    .openapi({ description: "Whether what was imported from this path since counts instead" }),
});

export const importBody = z
  .strictObject({
    dir: directory.default("").openapi({ description: "Below which directory the paths are" }),
    files: z
      .array(
        z.strictObject({
          path: z.string().min(1).max(600),
          text: z.string().max(1_000_000),
          from: fileState.optional().openapi({
            description: "What the file was when it was exported or imported last, with which it is compared then",
          }),
        }),
      )
      .min(1)
      .max(200),
  })
  .openapi("PageFiles");

export const importedSchema = z
  .object({
    files: z.array(
      z.object({
        path: z.string(),
        outcome: z.enum(["imported", "updated", "unchanged", "conflict", "skipped"]),
        pageId: z.string().nullable(),
        nodeCount: z.int(),
        from: agreedState
          .nullable()
          .openapi({ description: "To be sent with the file's next import; null where nothing of it was taken" }),
        notes: z.array(z.string()),
        clashes: z
          .array(z.object({ nodeId: z.string(), page: z.string().nullable(), file: z.string().nullable() }))
          .optional()
          .openapi({
            description:
              "Of a conflict, the first 20 nodes that both changed: their text here and in the file; null where removed",
          }),
      }),
    ),
  })
  .openapi("ImportedFiles");

export const exportSchema = z
  .object({
    files: z.array(z.object({ path: z.string(), text: z.string(), from: agreedState })),
    nextCursor: z.string().nullable(),
  })
  .openapi("ExportedFiles");

const level = z.enum(["none", "read", "write"]);

export const accessRuleSchema = z
  .object({
    id: z.string(),
    dir: z.string().nullable(),
    pageId: z.string().nullable(),
    pageTitle: z.string().nullable().openapi({ description: "Null also for a page that the asker may not see" }),
    user: actorSchema.nullable().openapi({ description: "Null for everybody" }),
    level,
    createdBy: actorSchema,
    createdAt: moment,
  })
  .openapi("AccessRule");

export const accessRuleListSchema = z.object({ rules: z.array(accessRuleSchema) }).openapi("AccessRuleList");

export const newAccessRuleSchema = z
  .strictObject({
    dir: directory.optional().openapi({ description: "A directory and all below it; empty for everything" }),
    pageId: uuid.optional(),
    userId: uuid.optional().openapi({ description: "Everybody unless given" }),
    level,
  })
  .refine(({ dir, pageId }) => (dir === undefined) !== (pageId === undefined), "name a directory or a page")
  .openapi("NewAccessRule");

export const searchWords = storableText(1_000);
