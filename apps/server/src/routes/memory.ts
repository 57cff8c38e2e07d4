import {
  consolidateMemory,
  listProposals,
  type Proposal,
  readProposal,
  settleProposal,
} from "@countersign/ops/memory.ts";
import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { acceptMemory } from "../accept-memory.ts";
import { type Actor, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { Problem } from "../problem.ts";
import { readActors } from "../queries/actors.ts";
import { answers, idempotencyParameter, idParam, pageQuery } from "../shapes/common.ts";
import { proposalListSchema, proposalSchema, proposalStatus, type ShownProposal } from "../shapes/memory.ts";

const list = createRoute({
  method: "get",
  path: "/memory",
  summary: "What agents propose to remember: open proposals oldest first, or those of another status, newest first",
  request: { query: z.object({ status: proposalStatus.default("proposed"), ...pageQuery }) },
  responses: answers("A page of proposals", proposalListSchema),
});

const accept = createRoute({
  method: "post",
  path: "/memory/{id}/accept",
  summary: "Remember it: it becomes a bullet of its kind's page",
  parameters: [idempotencyParameter],
  request: { params: idParam },
  responses: answers("It is remembered", proposalSchema),
});

const dismiss = createRoute({
  method: "post",
  path: "/memory/{id}/dismiss",
  summary: "Do not remember it, nor anything that says the same",
  parameters: [idempotencyParameter],
  request: { params: idParam },
  responses: answers("It is dismissed", proposalSchema),
});

const consolidate = createRoute({
  method: "post",
  path: "/memory/consolidate",
  summary: "Close the proposals that say what another said before",
  parameters: [idempotencyParameter],
  responses: answers("How many were closed", z.object({ closed: z.int() })),
});

/** Memory: what a person lets agents remember. Only a person decides, as with approvals. */
export function createMemoryRoutes(deps: ServerDependencies) {
  const { sql } = deps;

  /** The proposal after `settle`; refuses where somebody else had settled it, or otherwise. */
  async function settle(tx: Tx, actor: Actor, id: string, status: "accepted" | "dismissed"): Promise<ShownProposal> {
    const { workspaceId, userId } = actor;
    const proposal = await readProposal(tx, actor, id, { isLocked: true });
    if (proposal === undefined) throw noProposal(id);
    requireDecider(actor);
    const settledBy = `user:${userId}`;
    if (status === "accepted") {
      const result = await acceptMemory(tx, actor, proposal);
      if (result.kind === "refused") {
        throw new Problem("wrong_kind", `It cannot be written to its page: ${result.reason} Nothing was changed.`);
      }
    } else {
      await settleProposal(tx, { workspaceId, id, settledBy });
    }
    const now = (await readProposal(tx, actor, id)) ?? proposal;
    const [shown] = await show(tx, workspaceId, [now]);
    if (shown !== undefined && now.status === status && now.settledBy === settledBy) return shown;
    throw new Problem(
      "already_closed",
      `${shown?.settledBy?.name ?? "Somebody"} settled this proposal before: it is ${now.status}. Nothing was changed by you.`,
      {
        settlement: {
          status: now.status,
          answer: null,
          by: shown?.settledBy?.name ?? null,
          at: now.settledAt,
          reason: now.duplicateOf === null ? null : `it says the same as ${now.duplicateOf}`,
        },
      },
    );
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { workspaceId, userId } = c.get("actor");
      const { status, cursor, limit } = c.req.valid("query");
      const name = `memory.${status}`;
      const cursorId = decodeCursor(name, cursor);
      const read = await listProposals(sql, { workspaceId, userId, status, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ proposals: await show(sql, workspaceId, rows), nextCursor }, 200);
    })
    .openapi(consolidate, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Consolidating memory");
      const { workspaceId, userId } = actor;
      const asked = { workspaceId, userId, consolidatedBy: `user:${userId}` };
      return c.json(await transactOnce(c, deps, (tx) => consolidateMemory(tx, asked)), 200);
    })
    .openapi(accept, async (c) => {
      const { id } = c.req.valid("param");
      return c.json(await transactOnce(c, deps, (tx) => settle(tx, c.get("actor"), id, "accepted")), 200);
    })
    .openapi(dismiss, async (c) => {
      const { id } = c.req.valid("param");
      return c.json(await transactOnce(c, deps, (tx) => settle(tx, c.get("actor"), id, "dismissed")), 200);
    });
}

/** What agents read later is for people to decide on: a program, or an agent with its token, would accept its own proposals. */
function requireDecider(actor: Actor): void {
  requireRole(actor, "operator", "Deciding on memory");
  if (actor.mayDecide) return;
  throw new Problem(
    "may_not_decide",
    `This token of ${(actor.via ?? actor).name} was made without the right to decide. Decide with your own token.`,
  );
}

async function show(sql: Queryable, workspaceId: string, proposals: readonly Proposal[]): Promise<ShownProposal[]> {
  const texts = proposals.flatMap(({ proposedBy, settledBy }) => [proposedBy, settledBy]);
  const nameOf = await readActors(sql, workspaceId, texts);
  return proposals.map(({ proposedBy, settledBy, ...proposal }) => ({
    ...proposal,
    proposedBy: nameOf(proposedBy),
    settledBy: settledBy === null ? null : nameOf(settledBy),
  }));
}

function noProposal(id: string): Problem {
  return new Problem("not_found", `There is no proposal ${id} in this workspace. GET /v1/memory lists them.`);
}
