import { instant } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { roles } from "../auth.ts";
import { actorSchema, moment, storableLine, uuid } from "./common.ts";
import { personName } from "../person-name.ts";

const roleSchema = z.enum(roles);

export const userSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    role: roleSchema,
    isService: z.boolean().openapi({ description: "The account of a program" }),
    email: z.string().nullable().openapi({ description: "By which an identity provider's person finds the account" }),
    createdAt: moment,
    disabledAt: moment.nullable(),
  })
  .openapi("User");

export const userListSchema = z
  .object({ users: z.array(userSchema), nextCursor: z.string().nullable() })
  .openapi("UserList");

export const peopleListSchema = z
  .object({
    people: z.array(z.object({ id: z.string(), name: z.string() }).openapi("Person")),
    nextCursor: z.string().nullable(),
  })
  .openapi("PeopleList");

const address = z.email().max(254);

export const newUserSchema = z
  .strictObject({
    name: personName,
    role: roleSchema,
    isService: z.boolean().default(false),
    email: address.optional(),
  })
  .openapi("NewUser");

export const userChangeSchema = z
  .strictObject({
    name: personName.optional(),
    role: roleSchema.optional(),
    email: address.nullable().optional().openapi({ description: "null takes it away; who is signed in stays so" }),
    isDisabled: z.boolean().optional().openapi({ description: "From then on all its tokens are refused" }),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), "says nothing to change")
  .openapi("UserChange");

export const workspaceSchema = z.object({ id: z.string(), name: z.string(), createdAt: moment }).openapi("Workspace");

export const meSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    role: roleSchema.openapi({ description: "Where a service acts for somebody, the lesser of the two roles" }),
    isService: z.boolean(),
    workspace: workspaceSchema,
    tokenId: z.string(),
    mayDecide: z.boolean().openapi({ description: "The token may decide, and the role too" }),
    via: actorSchema.nullable().openapi({ description: "The service that acts for this user" }),
  })
  .openapi("Me");

export const tokenSchema = z
  .object({
    id: z.string(),
    kind: z.enum(["token", "session"]).openapi({ description: "`session`: a browser's, by a login link" }),
    label: z.string(),
    user: actorSchema,
    isService: z.boolean(),
    mayDecide: z.boolean(),
    actsFor: z.array(actorSchema).openapi({ description: "Whom a service may name in `Act-For`" }),
    createdBy: actorSchema.nullable(),
    createdAt: moment,
    expiresAt: moment.nullable(),
    lastUsedAt: moment.nullable().openapi({ description: "To the minute" }),
    revokedAt: moment.nullable(),
  })
  .openapi("Token");

export const tokenListSchema = z
  .object({ tokens: z.array(tokenSchema), nextCursor: z.string().nullable() })
  .openapi("TokenList");

export const newTokenSchema = z
  .strictObject({
    userId: uuid.openapi({ description: "The person or service it acts as" }),
    label: storableLine(100),
    mayDecide: z.boolean().default(false).openapi({ description: "May decide approvals, where the role may" }),
    actsFor: z.array(uuid).max(100).default([]).openapi({ description: "People a service may act for" }),
    expiresAt: instant.optional().openapi({ description: "In the future; absent, never" }),
  })
  .openapi("NewToken");

export const madeTokenSchema = tokenSchema
  .extend({
    token: z.string().nullable().openapi({
      description: "The token itself, this once; null where an idempotency key is replayed, since it is stored nowhere",
    }),
  })
  .openapi("MadeToken");

export type User = z.infer<typeof userSchema>;
export type Workspace = z.infer<typeof workspaceSchema>;
export type Token = z.infer<typeof tokenSchema>;
