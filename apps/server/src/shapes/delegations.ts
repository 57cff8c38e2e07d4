import { instant } from "@countersign/gate/storable.ts";
import { z } from "@hono/zod-openapi";
import { actorSchema, moment, uuid } from "./common.ts";

export const delegationSchema = z
  .object({
    id: z.string(),
    from: actorSchema,
    to: actorSchema,
    approvalId: z
      .string()
      .nullable()
      .openapi({ description: "The one approval it is for; null: all that they may decide" }),
    createdAt: moment,
    expiresAt: moment,
    revokedAt: moment.nullable(),
  })
  .openapi("Delegation");

export const delegationListSchema = z
  .object({ delegations: z.array(delegationSchema), nextCursor: z.string().nullable() })
  .openapi("DelegationList");

export const newDelegationSchema = z
  .strictObject({
    to: uuid.openapi({ description: "Who is to decide on your say" }),
    approvalId: uuid
      .optional()
      .openapi({ description: "For this approval alone; absent, for all that you may decide" }),
    until: instant,
  })
  .openapi("NewDelegation");

export type Delegation = z.infer<typeof delegationSchema>;
