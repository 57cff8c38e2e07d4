import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { Problem } from "../problem.ts";
import { findMissingMigrations, listMigrations } from "../queries/readiness.ts";
import { answers } from "../shapes/common.ts";

const live = createRoute({
  method: "get",
  path: "/health/live",
  summary: "The process answers",
  security: [],
  responses: answers("It does", z.object({ status: z.literal("live") })),
});

const ready = createRoute({
  method: "get",
  path: "/health/ready",
  summary: "The database answers and has what this version needs",
  security: [],
  responses: answers("It does", z.object({ status: z.literal("ready") })),
});

/** For supervisors and load balancers; no token, and nothing about anybody. */
export function createHealthRoutes({ sql, closing }: Pick<ServerDependencies, "sql" | "closing">) {
  const needed = listMigrations();
  return new OpenAPIHono<AppEnv>()
    .openapi(live, (c) => c.json({ status: "live" as const }, 200))
    .openapi(ready, async (c) => {
      if (closing.aborted) throw new Problem("not_ready", "The server is stopping.");
      const missing = await findMissingMigrations(sql, needed);
      if (missing.length > 0) {
        throw new Problem(
          "not_ready",
          `The database lacks the migrations ${missing.join(", ")}. Run \`./countersign migrate\`.`,
        );
      }
      return c.json({ status: "ready" as const }, 200);
    });
}
