import { exportAudit } from "@countersign/broker/export-audit.ts";
import { instant } from "@countersign/gate/storable.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { listAudit } from "../queries/audit.ts";
import { askForAuditCheck, listAuditChecks } from "../queries/audit-checks.ts";
import { auditCheckListSchema, auditCheckSchema, auditListSchema } from "../shapes/audit.ts";
import { answers, idempotencyHeaders, pageQuery, storableLine, uuid } from "../shapes/common.ts";

const list = createRoute({
  method: "get",
  path: "/audit",
  summary: "What was done in the workspace, by whom, newest first",
  request: {
    query: z.object({
      actor: storableLine(100).optional().openapi({ description: "Such as `user:<id>`" }),
      action: storableLine(100).optional().openapi({ description: "Such as `approval.decided`" }),
      subject: storableLine(200).optional(),
      run: uuid.optional(),
      since: instant.optional(),
      until: instant.optional(),
      ...pageQuery,
    }),
  },
  responses: answers("A page of the audit", auditListSchema),
});

const exportRoute = createRoute({
  method: "get",
  path: "/audit/export",
  summary: "The whole audit as lines of JSON, sealed rows with their number and hash",
  responses: {
    ...answers("", z.object({})),
    200: {
      description: "A row a line, in the order of the chain, then what is not sealed yet",
      content: { "application/x-ndjson": { schema: z.string() } },
    },
  },
});

const listChecks = createRoute({
  method: "get",
  path: "/audit/checks",
  summary: "What the checks of the audit found, newest first",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of checks", auditCheckListSchema),
});

const askCheck = createRoute({
  method: "post",
  path: "/audit/checks",
  summary: "Have every row of the audit compared with what was sealed; a worker does it, which alone holds the key",
  request: { headers: idempotencyHeaders },
  responses: answers("The check, or the one that is under way", auditCheckSchema),
});

/** The audit: read, checked, and taken elsewhere; nothing here writes it. */
export function createAuditRoutes(deps: ServerDependencies) {
  const { sql, log } = deps;
  const routes = new OpenAPIHono<AppEnv>();
  // Described here and handled as a plain route: the types of described routes know no streams.
  routes.openAPIRegistry.registerPath(exportRoute);
  return routes
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Reading the audit");
      const { cursor, limit, ...filter } = c.req.valid("query");
      const cursorKey = decodeCursor("audit", cursor, "number");
      const read = await listAudit(sql, { workspaceId: actor.workspaceId, cursorKey, limit, filter });
      const { rows, nextCursor } = pageOf(c, "audit", read, limit);
      return c.json({ rows, nextCursor }, 200);
    })
    .openapi(listChecks, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Reading checks of the audit");
      const { cursor, limit } = c.req.valid("query");
      const { workspaceId } = actor;
      const read = await listAuditChecks(sql, { workspaceId, cursorId: decodeCursor("audit.checks", cursor), limit });
      const { rows, nextCursor } = pageOf(c, "audit.checks", read, limit);
      return c.json({ checks: rows, nextCursor }, 200);
    })
    .openapi(askCheck, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Having the audit checked");
      return c.json(await transactOnce(c, deps, (tx) => askForAuditCheck(tx, actor)), 200);
    })
    .get(exportRoute.path, (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Exporting the audit");
      const lines = exportAudit(sql, actor.workspaceId);
      const requestId = c.get("requestId");
      const body = streamOf(lines, (error) => log.error({ requestId, err: error }, "an export broke off"));
      return c.newResponse(body, 200, { "Content-Type": "application/x-ndjson" });
    });
}

/** Asks for the next line when the reader has taken the last; a reader that leaves ends it. An error breaks the answer off. */
function streamOf(lines: AsyncGenerator<string>, onError: (error: unknown) => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await lines.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(`${value}\n`));
      } catch (error) {
        onError(error);
        controller.error(error);
      }
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}
