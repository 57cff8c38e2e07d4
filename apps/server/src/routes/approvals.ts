import { createRoute, OpenAPIHono } from "@hono/zod-openapi";
import { z } from "@hono/zod-openapi";
import { type Actor, hasRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { decide } from "../decide.ts";
import { once } from "../idempotency.ts";
import { Problem } from "../problem.ts";
import { listApprovals, readApproval } from "../queries/approvals.ts";
import {
  type Approval,
  approvalListSchema,
  approvalSchema,
  decidedSchema,
  decisionHeaders,
  decisionSchema,
} from "../shapes/approvals.ts";
import { answers, idParam, jsonBody, pageQuery } from "../shapes/common.ts";

const list = createRoute({
  method: "get",
  path: "/approvals",
  summary: "The approvals that wait, oldest first, or those of another status, newest first",
  request: {
    query: z.object({ status: approvalSchema.shape.status.default("pending"), ...pageQuery }),
  },
  responses: answers("A page of approvals", approvalListSchema),
});

const get = createRoute({
  method: "get",
  path: "/approvals/{id}",
  summary: "One approval, with its version as ETag",
  request: { params: idParam },
  responses: answers("The approval", approvalSchema),
});

const decision = createRoute({
  method: "post",
  path: "/approvals/{id}/decision",
  summary: "Decide an approval, on what you saw of it",
  request: { params: idParam, headers: decisionHeaders, body: jsonBody(decisionSchema) },
  responses: answers("The decision stands", decidedSchema),
});

/** Approvals: what waits for a countersignature, and the decision itself. */
export function createApprovalRoutes(deps: ServerDependencies) {
  const { sql } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { status, cursor, limit } = c.req.valid("query");
      const actor = c.get("actor");
      const name = `approvals.${status}`;
      const read = await listApprovals(sql, {
        workspaceId: actor.workspaceId,
        status,
        cursorId: decodeCursor(name, cursor),
        limit,
      });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ approvals: rows.map((row) => shownTo(actor, row)), nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const { id } = c.req.valid("param");
      const actor = c.get("actor");
      const approval = await readApproval(sql, actor.workspaceId, id);
      if (approval === undefined) {
        throw new Problem("not_found", `There is no approval ${id} in this workspace.`);
      }
      c.header("ETag", `"${approval.version}"`);
      return c.json(shownTo(actor, approval), 200);
    })
    .openapi(decision, async (c) => {
      const actor = c.get("actor");
      const { answer, argsDigest, feedback, note } = c.req.valid("json");
      const decided = await once(c, deps, async (work) => {
        const { outcome, approval } = await decide(work, actor, {
          approvalId: c.req.valid("param").id,
          answer,
          ifMatch: c.req.valid("header")["if-match"],
          argsDigest,
          feedback,
          note,
        });
        return { outcome, approval: shownTo(actor, approval) };
      });
      return c.json(decided, 200);
    });
}

/** The approval as this person may see it: the private note is for approvers. */
export function shownTo(actor: Actor, approval: Approval): Approval {
  return hasRole(actor, "approver") ? approval : { ...approval, note: null };
}
