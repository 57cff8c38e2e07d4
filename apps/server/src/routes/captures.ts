import type { Queryable } from "@countersign/db/connect.ts";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { type Capture, listCaptures, putCapture, readCapture } from "@countersign/ops/captures.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Actor, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { invalidField, Problem } from "../problem.ts";
import { readActors } from "../queries/actors.ts";
import { captureListSchema, captureSchema, newCaptureSchema, type ShownCapture } from "../shapes/captures.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery } from "../shapes/common.ts";

const create = createRoute({
  method: "post",
  path: "/captures",
  summary: "File text that was read elsewhere; a worker makes a page of it. The same text of an address is filed once",
  request: { headers: idempotencyHeaders, body: jsonBody(newCaptureSchema) },
  responses: answers("The capture", captureSchema),
});

const list = createRoute({
  method: "get",
  path: "/captures",
  summary: "What was captured, newest first, and the pages that came of it",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of captures", captureListSchema),
});

const get = createRoute({
  method: "get",
  path: "/captures/{id}",
  summary: "One capture",
  request: { params: idParam },
  responses: answers("The capture", captureSchema),
});

/** Captured text on its way to pages. */
export function createCaptureRoutes(deps: ServerDependencies) {
  const { sql } = deps;

  return new OpenAPIHono<AppEnv>()
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Capturing");
      const { workspaceId, userId } = actor;
      const { markdown, title, ...asked } = c.req.valid("json");
      const captured = await transactOnce(c, deps, async (tx) => {
        const hash = await storeBlob(tx, workspaceId, Buffer.from(markdown, "utf8"), "text/markdown; charset=utf-8");
        const put = await putCapture(tx, { workspaceId, userId, hash, title: title.trim(), ...asked });
        if (put.kind === "refused") throw invalidField("json", put.reason);
        return await findCapture(tx, actor, put.id);
      });
      return c.json(captured, 200);
    })
    .openapi(list, async (c) => {
      const { workspaceId, userId } = c.get("actor");
      const { cursor, limit } = c.req.valid("query");
      const cursorId = decodeCursor("captures", cursor);
      const read = await listCaptures(sql, { workspaceId, userId, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, "captures", read, limit);
      return c.json({ captures: await show(sql, workspaceId, rows), nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      return c.json(await findCapture(sql, c.get("actor"), c.req.valid("param").id), 200);
    });
}

async function findCapture(sql: Queryable, actor: Actor, id: string): Promise<ShownCapture> {
  const capture = await readCapture(sql, actor, id);
  const [shown] = capture === undefined ? [] : await show(sql, actor.workspaceId, [capture]);
  if (shown !== undefined) return shown;
  throw new Problem("not_found", `There is no capture ${id} in this workspace. GET /v1/captures lists them.`);
}

async function show(sql: Queryable, workspaceId: string, captures: readonly Capture[]): Promise<ShownCapture[]> {
  const nameOf = await readActors(
    sql,
    workspaceId,
    captures.map(({ userId }) => `user:${userId}`),
  );
  return captures.map(({ hash, userId, attempts: _attempts, ...capture }) => ({
    ...capture,
    handle: `sha256:${hash}`,
    capturedFor: nameOf(`user:${userId}`),
  }));
}
