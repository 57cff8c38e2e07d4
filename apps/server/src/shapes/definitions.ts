import { z } from "@hono/zod-openapi";
import { actorSchema, moment } from "./common.ts";

const spec = z.record(z.string(), z.unknown());

export const definitionSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    version: z.int().openapi({ description: "Goes into `If-Match` of a new version" }),
    spec,
    createdAt: moment.openapi({ description: "When this version was made" }),
    createdBy: actorSchema.nullable(),
  })
  .openapi("Definition");

export const definitionListSchema = z
  .object({ definitions: z.array(definitionSchema), nextCursor: z.string().nullable() })
  .openapi("DefinitionList");

export const versionListSchema = z
  .object({ versions: z.array(definitionSchema), nextCursor: z.string().nullable() })
  .openapi("DefinitionVersionList");

export const specBody = z.strictObject({ spec }).openapi("DefinitionSpec");

export const dryRunQuery = z.object({
  dryRun: z.enum(["true", "false"]).default("false").openapi({
    description: "`true`: say what would change, and change nothing",
  }),
});

export const appliedSchema = z
  .object({
    outcome: z.enum(["created", "changed", "unchanged"]),
    isDryRun: z.boolean(),
    id: z.string().nullable().openapi({ description: "Null where a definition would be made" }),
    name: z.string(),
    version: z.int().openapi({ description: "The current version afterwards, or as it would be" }),
    spec: spec.openapi({ description: "As it is stored, defaults filled in" }),
    changes: z.array(
      z.object({
        path: z.string().openapi({ description: "Such as `limits.turns`" }),
        before: z.unknown().openapi({ description: "Absent where nothing was there" }),
        after: z.unknown().openapi({ description: "Absent where nothing is left" }),
      }),
    ),
    capabilities: z
      .object({ gained: z.array(z.string()), lost: z.array(z.string()) })
      .openapi({ description: "What runs of it may reach, against before" }),
    warnings: z.array(z.string()).openapi({
      description: "What it may not work with as the workspace is now, such as too few people who could approve",
    }),
  })
  .openapi("AppliedDefinition");

export type DefinitionVersion = z.infer<typeof definitionSchema>;
export type Applied = z.infer<typeof appliedSchema>;
export type Change = Applied["changes"][number];
