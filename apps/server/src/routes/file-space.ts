import { transaction } from "@countersign/db/transaction.ts";
import { readFileSpace, setFileQuota } from "@countersign/ops/file-space.ts";
import { createRoute, OpenAPIHono } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { appendAudit } from "../queries/audit.ts";
import { answers, jsonBody } from "../shapes/common.ts";
import { fileSpaceSchema, newFileQuotaSchema } from "../shapes/files.ts";

const get = createRoute({
  method: "get",
  path: "/file-space",
  summary: "How much the workspace stores as files, and may",
  request: {},
  responses: answers("The space", fileSpaceSchema),
});

const put = createRoute({
  method: "put",
  path: "/file-space",
  summary: "Set how much the workspace may store as files; what is stored stays",
  request: { body: jsonBody(newFileQuotaSchema) },
  responses: answers("The space", fileSpaceSchema),
});

/** The room that a workspace has for files. */
export function createFileSpaceRoutes({ sql }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(get, async (c) => c.json(await readFileSpace(sql, c.get("actor").workspaceId), 200))
    .openapi(put, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Setting the quota of files");
      const { quotaBytes } = c.req.valid("json");
      const space = await transaction(sql, async (tx) => {
        const set = await setFileQuota(tx, actor.workspaceId, quotaBytes);
        await appendAudit(tx, actor, "file_quota.set", actor.workspaceId, { quotaBytes });
        return set;
      });
      return c.json(space, 200);
    });
}
