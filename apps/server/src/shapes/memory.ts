import { z } from "@hono/zod-openapi";
import { actorSchema, moment } from "./common.ts";

export const proposalStatus = z.enum(["proposed", "accepted", "dismissed", "duplicate"]);

export const proposalSchema = z
  .object({
    id: z.string(),
    kind: z.string(),
    text: z.string(),
    status: proposalStatus,
    duplicateOf: z.string().nullable().openapi({ description: "The proposal that says the same and came first" }),
    runId: z.string().nullable(),
    proposedBy: actorSchema,
    proposedAt: moment,
    settledAt: moment.nullable(),
    settledBy: actorSchema.nullable(),
    pageId: z.string().nullable().openapi({ description: "Where it stands once it is accepted" }),
    nodeId: z.string().nullable(),
  })
  .openapi("MemoryProposal");

export const proposalListSchema = z
  .object({ proposals: z.array(proposalSchema), nextCursor: z.string().nullable() })
  .openapi("MemoryProposalList");

export type ShownProposal = z.infer<typeof proposalSchema>;
