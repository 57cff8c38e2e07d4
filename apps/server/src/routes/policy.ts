import { appScope, killScope, type Scope } from "@countersign/engine/commits/kill-scope.ts";
import { liftScope } from "@countersign/engine/commits/lift-scope.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Actor, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { once } from "../idempotency.ts";
import { Problem } from "../problem.ts";
import { readDefinition } from "../queries/definitions.ts";
import { readRun } from "../queries/runs.ts";
import { isOnlyWorkspace } from "../queries/workspaces.ts";
import { answers, idempotencyParameter, jsonBody, storableText, uuid } from "../shapes/common.ts";

const target = {
  scope: z.enum(["app", "workspace", "definition", "run"]),
  id: uuid.optional().openapi({ description: "Of the definition or the run" }),
};

const switchSchema = z
  .object({
    scope: z.string(),
    id: z.string(),
    outcome: z.enum(["killed", "lifted", "already"]).openapi({
      description: "`already`: the switch stood so before, and nothing changed",
    }),
  })
  .openapi("Switch");

const kill = createRoute({
  method: "post",
  path: "/kill",
  summary: "Hold everything in a scope: nothing under it starts, is decided or expires",
  parameters: [idempotencyParameter],
  request: {
    body: jsonBody(z.strictObject({ ...target, reason: storableText(500) })),
  },
  responses: answers("The switch is on", switchSchema),
});

const lift = createRoute({
  method: "post",
  path: "/lift",
  summary: "Let everything in a scope go on",
  parameters: [idempotencyParameter],
  request: {
    body: jsonBody(
      z.strictObject({
        ...target,
        reason: storableText(500).optional().openapi({ description: "Goes to the server's log" }),
      }),
    ),
  },
  responses: answers("The switch is off", switchSchema),
});

/** The switches that hold everything in a scope. */
export function createPolicyRoutes(deps: ServerDependencies) {
  const { sql, ring, log } = deps;

  async function findScope(actor: Actor, asked: { scope: Scope["scope"]; id?: string | undefined }): Promise<Scope> {
    requireRole(actor, "admin", "A kill switch");
    const { scope, id } = asked;
    const { workspaceId } = actor;
    switch (scope) {
      case "app":
        if (await isOnlyWorkspace(sql, workspaceId)) return appScope;
        throw new Problem(
          "forbidden",
          "The switch of the whole installation holds other workspaces too, so none of their administrators has it. Use the scope workspace.",
        );
      case "workspace":
        if (id === undefined || id === workspaceId) return { scope, scopeId: workspaceId, workspaceId };
        throw noTarget(scope, id);
      case "definition":
      case "run": {
        if (id === undefined) {
          throw new Problem("invalid_request", `Which ${scope}? Send its id.`, {
            errors: [{ path: "json.id", message: "is missing" }],
          });
        }
        const found =
          scope === "run" ? await readRun(sql, workspaceId, id) : await readDefinition(sql, workspaceId, { id });
        if (found === undefined) throw noTarget(scope, id);
        return { scope, scopeId: id, workspaceId };
      }
    }
  }

  return new OpenAPIHono<AppEnv>()
    .openapi(kill, async (c) => {
      const actor = c.get("actor");
      const { reason, ...asked } = c.req.valid("json");
      const scope = await findScope(actor, asked);
      const done = await once(c, deps, async (work) => {
        const outcome = await killScope(work.sql, scope, actor.userId, reason);
        return { scope: scope.scope, id: scope.scopeId, outcome };
      });
      // Whoever holds a run under the scope looks at it again, and stops.
      ring();
      return c.json(done, 200);
    })
    .openapi(lift, async (c) => {
      const actor = c.get("actor");
      const { reason, ...asked } = c.req.valid("json");
      const scope = await findScope(actor, asked);
      const done = await once(c, deps, async (work) => {
        const outcome = await liftScope(work.sql, scope, actor.userId);
        return { scope: scope.scope, id: scope.scopeId, outcome };
      });
      log.info(
        { requestId: c.get("requestId"), userId: actor.userId, ...scope, reason, outcome: done.outcome },
        "lift",
      );
      ring();
      return c.json(done, 200);
    });
}

function noTarget(scope: string, id: string): Problem {
  return new Problem("not_found", `There is no ${scope} ${id} in this workspace.`);
}
