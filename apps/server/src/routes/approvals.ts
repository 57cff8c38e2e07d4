import { createRoute, OpenAPIHono } from "@hono/zod-openapi";
import { z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import { closedRun, showApproval, showApprovals } from "../closed-runs.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { decide } from "../decide.ts";
import { decideEqual, decideTogether } from "../decide-together.ts";
import { extend } from "../extend.ts";
import { once } from "../idempotency.ts";
import { type DecidingDependencies, noApproval } from "../prepare-decision.ts";
import { listApprovals, readApproval } from "../queries/approvals.ts";
import { readReceipt } from "../queries/receipts.ts";
import { readAttention } from "../queries/attention.ts";
import {
  approvalListSchema,
  approvalSchema,
  decidedListSchema,
  decidedSchema,
  decisionHeaders,
  decisionSchema,
  decisionsSchema,
  extensionSchema,
} from "../shapes/approvals.ts";
import { attentionSchema, receiptSchema } from "../shapes/receipts.ts";
import { answers, idempotencyHeaders, idempotencyParameter, idParam, jsonBody, pageQuery } from "../shapes/common.ts";

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

const decisions = createRoute({
  method: "post",
  path: "/approvals/decisions",
  summary: "Decide several approvals, of any runs: all of them, or none where one is refused",
  request: { headers: idempotencyHeaders, body: jsonBody(decisionsSchema) },
  responses: answers("All decisions stand", decidedListSchema),
});

const extension = createRoute({
  method: "post",
  path: "/approvals/{id}/extension",
  summary: "Give an approval more time before it expires",
  parameters: [idempotencyParameter],
  request: { params: idParam, body: jsonBody(extensionSchema) },
  responses: answers("The approval, with its later deadline", approvalSchema),
});

const receipt = createRoute({
  method: "get",
  path: "/approvals/{id}/receipt",
  summary: "What was shown to whom and what they said of it, as the audit has it sealed",
  request: { params: idParam },
  responses: answers("The receipt", receiptSchema),
});

const attention = createRoute({
  method: "get",
  path: "/approvals/attention",
  summary: "What the approvals of late asked of people: how many, how long they took, how they were answered",
  request: { query: z.object({ days: z.coerce.number().int().min(1).max(90).default(7) }) },
  responses: answers("The figures, of up to the newest 10000 approvals", attentionSchema),
});

/** Approvals: what waits for a countersignature, and the decision itself. */
export function createApprovalRoutes(deps: ServerDependencies & DecidingDependencies) {
  const { sql, tools, countDecision } = deps;
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
      return c.json({ approvals: await showApprovals(sql, actor, rows), nextCursor }, 200);
    })
    .openapi(attention, async (c) => {
      const { workspaceId } = c.get("actor");
      return c.json(await readAttention(sql, workspaceId, c.req.valid("query").days), 200);
    })
    .openapi(get, async (c) => {
      const { id } = c.req.valid("param");
      const actor = c.get("actor");
      const approval = await readApproval(sql, actor.workspaceId, id);
      if (approval === undefined) throw noApproval(id);
      c.header("ETag", `"${approval.version}"`);
      return c.json(await showApproval(sql, actor, approval), 200);
    })
    .openapi(decision, async (c) => {
      const actor = c.get("actor");
      const { equal, ...said } = c.req.valid("json");
      const asked = { ...said, approvalId: c.req.valid("param").id, ifMatch: c.req.valid("header")["if-match"] };
      const decided = await once(c, deps, async (work) => {
        const deciding = { ...work, tools, countDecision };
        const done = await (equal === true ? decideEqual(deciding, actor, asked) : decide(deciding, actor, asked));
        return { ...done, approval: await showApproval(work.sql, actor, done.approval) };
      });
      return c.json(decided, 200);
    })
    .openapi(decisions, async (c) => {
      const actor = c.get("actor");
      const decided = await once(c, deps, async (work) => {
        const done = await decideTogether({ ...work, tools, countDecision }, actor, c.req.valid("json").decisions);
        const shown = await showApprovals(
          work.sql,
          actor,
          done.map(({ approval }) => approval),
        );
        return { decided: done.flatMap((one, n) => shown.slice(n, n + 1).map((approval) => ({ ...one, approval }))) };
      });
      return c.json(decided, 200);
    })
    .openapi(extension, async (c) => {
      const actor = c.get("actor");
      const until = new Date(c.req.valid("json").until);
      const extended = await once(c, deps, async (work) =>
        showApproval(work.sql, actor, await extend(work, actor, c.req.valid("param").id, until)),
      );
      return c.json(extended, 200);
    })
    .openapi(receipt, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const found = await readReceipt(sql, actor, id);
      if (found === undefined) throw noApproval(id);
      requireRole(actor, "approver", "Reading a receipt");
      if (found === "closed") throw await closedRun(sql, actor);
      return c.json(found, 200);
    });
}
