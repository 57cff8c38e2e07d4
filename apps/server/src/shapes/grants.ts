import { z } from "@hono/zod-openapi";
import { actorSchema, moment } from "./common.ts";

export const grantSchema = z
  .object({
    capability: z.string(),
    state: z.enum(["granted", "revoked"]),
    acquiredAt: moment.nullable().openapi({ description: "When a call last acquired it" }),
    heldUntil: moment.nullable().openapi({ description: "Set while a call holds it" }),
    revokedAt: moment.nullable(),
    revokedBy: actorSchema.nullable(),
  })
  .openapi("Grant");

export const grantListSchema = z.object({ runId: z.string(), grants: z.array(grantSchema) }).openapi("GrantList");

export const revokedSchema = z
  .object({
    capability: z.string(),
    outcome: z.enum(["revoked", "already"]),
    runs: z.int().openapi({ description: "From how many runs it was taken: this one and those it started" }),
  })
  .openapi("RevokedGrant");

export type Grant = z.infer<typeof grantSchema>;
