import { revokeGrant } from "@countersign/engine/commits/revoke-grant.ts";
import { createRoute, OpenAPIHono } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { once } from "../idempotency.ts";
import { noRun, Problem } from "../problem.ts";
import { readGrants } from "../queries/grants.ts";
import { readRun } from "../queries/runs.ts";
import { answers, idempotencyParameter, idParam } from "../shapes/common.ts";
import { grantListSchema, revokedSchema } from "../shapes/grants.ts";
import { capabilityName } from "../shapes/secrets.ts";

const list = createRoute({
  method: "get",
  path: "/runs/{id}/grants",
  summary: "The capabilities a run may acquire, and those that were taken back",
  request: { params: idParam },
  responses: answers("The grants", grantListSchema),
});

const revoke = createRoute({
  method: "post",
  path: "/runs/{id}/grants/{capability}/revoke",
  summary: "Take a capability back from a run; an open credential fails at its next use",
  parameters: [idempotencyParameter],
  request: { params: idParam.extend({ capability: capabilityName }) },
  responses: answers("The run no longer has it", revokedSchema),
});

/** Grants: a run's right to acquire a credential. */
export function createGrantRoutes(deps: ServerDependencies) {
  const { sql } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const { id } = c.req.valid("param");
      const run = await readRun(sql, c.get("actor").workspaceId, id);
      if (run === undefined) throw noRun(id);
      return c.json({ runId: id, grants: await readGrants(sql, id) }, 200);
    })
    .openapi(revoke, async (c) => {
      const actor = c.get("actor");
      const { id, capability } = c.req.valid("param");
      const { workspaceId, userId } = actor;
      const revoked = await once(c, deps, async ({ sql, commit }) => {
        if ((await readRun(sql, workspaceId, id)) === undefined) throw noRun(id);
        requireRole(actor, "admin", "Taking back a grant");
        const outcome = await commit(revokeGrant, { runId: id, workspaceId, userId, capability });
        switch (outcome.kind) {
          case "revoked":
            return { capability, outcome: "revoked" as const, runs: outcome.runs };
          case "already":
            return { capability, outcome: "already" as const, runs: 0 };
          case "ended":
            throw new Problem("run_ended", `The run ${id} has ended, so nothing of it uses ${capability} any more.`);
          case "not_granted":
            throw new Problem("not_found", `The run ${id} was never granted ${capability}.`);
          case "not_found":
            throw noRun(id);
        }
      });
      return c.json(revoked, 200);
    });
}
