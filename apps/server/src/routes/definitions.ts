import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { applyVersion, createDefinition, findDefinition, planNew, planVersion, readSpec } from "../apply-definition.ts";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageBy, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { readVersion } from "../if-match.ts";
import { Problem } from "../problem.ts";
import { listDefinitions, listVersions, readDefinition } from "../queries/definitions.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery, storableLine } from "../shapes/common.ts";
import {
  appliedSchema,
  definitionListSchema,
  definitionSchema,
  dryRunQuery,
  specBody,
  versionListSchema,
} from "../shapes/definitions.ts";

const latest = 2_147_483_647;

const list = createRoute({
  method: "get",
  path: "/definitions",
  summary: "The definitions of the workspace in their current version, by name",
  request: {
    query: z.object({ name: storableLine(100).optional().openapi({ description: "Only this one" }), ...pageQuery }),
  },
  responses: answers("A page of definitions", definitionListSchema),
});

const get = createRoute({
  method: "get",
  path: "/definitions/{id}",
  summary: "One definition in its current version, with that as ETag",
  request: { params: idParam },
  responses: answers("The definition", definitionSchema),
});

const history = createRoute({
  method: "get",
  path: "/definitions/{id}/versions",
  summary: "Every version of a definition, newest first",
  request: { params: idParam, query: z.object(pageQuery) },
  responses: answers("A page of versions", versionListSchema),
});

const create = createRoute({
  method: "post",
  path: "/definitions",
  summary: "Make a definition, or see what would be made",
  request: { headers: idempotencyHeaders, query: dryRunQuery, body: jsonBody(specBody) },
  responses: answers("The definition, in its first version", appliedSchema),
});

const addVersion = createRoute({
  method: "post",
  path: "/definitions/{id}/versions",
  summary: "Make the next version of a definition, or see the difference first",
  request: {
    params: idParam,
    headers: idempotencyHeaders.extend({
      "if-match": z.string().optional().openapi({
        description: '`"<version>"` of the definition you saw; required but for a dry run',
      }),
    }),
    query: dryRunQuery,
    body: jsonBody(specBody),
  },
  responses: answers("What has changed", appliedSchema),
});

/** Definitions: what agents are, version by version. A version is never edited. */
export function createDefinitionRoutes(deps: ServerDependencies) {
  const { sql, tools } = deps;

  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { name, cursor, limit } = c.req.valid("query");
      const { workspaceId } = c.get("actor");
      if (name !== undefined) {
        const found = await readDefinition(sql, workspaceId, { name });
        return c.json({ definitions: found === undefined ? [] : [found], nextCursor: null }, 200);
      }
      const cursorId = decodeCursor("definitions", cursor);
      const read = await listDefinitions(sql, { workspaceId, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, "definitions", read, limit);
      return c.json({ definitions: rows, nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const definition = await findDefinition(sql, c.get("actor"), c.req.valid("param").id);
      c.header("ETag", `"${definition.version}"`);
      return c.json(definition, 200);
    })
    .openapi(history, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const { cursor, limit } = c.req.valid("query");
      await findDefinition(sql, actor, id);
      const name = `versions.${id}`;
      const before = Math.min(latest, Number(decodeCursor(name, cursor, "number") ?? latest));
      const read = await listVersions(sql, { workspaceId: actor.workspaceId, id, before, limit });
      const { rows, nextCursor } = pageBy(c, name, read, limit, (row) => String(row.version));
      return c.json({ versions: rows, nextCursor }, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Making a definition");
      const read = () => readSpec(c.req.valid("json").spec, tools);
      if (c.req.valid("query").dryRun === "true") return c.json(await planNew(sql, actor, read(), tools), 200);
      return c.json(await transactOnce(c, deps, (tx) => createDefinition(tx, actor, read(), tools)), 200);
    })
    .openapi(addVersion, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      const current = await findDefinition(sql, actor, id);
      requireRole(actor, "admin", "Changing a definition");
      const read = () => readSpec(c.req.valid("json").spec, tools);
      if (c.req.valid("query").dryRun === "true")
        return c.json(await planVersion(sql, actor, current, read(), tools), 200);
      const ifMatch = c.req.valid("header")["if-match"];
      if (ifMatch === undefined) {
        throw new Problem(
          "precondition_required",
          `A new version says which one it was made on: send the header If-Match with it, such as "${current.version}", as GET /v1/definitions/${id} shows it; with ?dryRun=true the difference is shown first.`,
        );
      }
      const seenVersion = readVersion(ifMatch);
      return c.json(
        await transactOnce(c, deps, (tx) => applyVersion(tx, actor, { id, seenVersion, spec: read() }, tools)),
        200,
      );
    });
}
