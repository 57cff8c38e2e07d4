import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { answerContent } from "../answer-content.ts";
import { closedRun } from "../closed-runs.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { noRun, Problem } from "../problem.ts";
import { readResult } from "../queries/results.ts";
import { answers, uuid } from "../shapes/common.ts";

const params = z.object({ id: uuid, callId: uuid });

const result = createRoute({
  method: "get",
  path: "/runs/{id}/calls/{callId}/result",
  summary: "The result of a call, whole: a tree shows of a long one only as much as the model was given",
  request: { params },
  responses: {
    ...answers("", z.object({})),
    200: {
      description: "The result as text",
      content: { "text/plain": { schema: z.string() } },
    },
  },
});

/** Results of calls as files, for whoever may read the run. */
export function createResultRoutes({ sql, log }: ServerDependencies) {
  const routes = new OpenAPIHono<AppEnv>();
  // Described here and handled as a plain route: the types of described routes know no streams.
  routes.openAPIRegistry.registerPath(result);
  return routes.get("/runs/:id/calls/:callId/result", async (c) => {
    const asked = params.safeParse({ id: c.req.param("id"), callId: c.req.param("callId") });
    if (!asked.success) {
      const errors = asked.error.issues.map(({ path, message }) => ({ path: `param.${String(path[0])}`, message }));
      throw new Problem("invalid_request", `${errors[0]?.path}: ${errors[0]?.message}`, { errors });
    }
    const { id: runId, callId } = asked.data;
    const { workspaceId, userId } = c.get("actor");
    const found = await readResult(sql, { workspaceId, userId, runId, callId });
    switch (found.kind) {
      case "no_run":
        throw noRun(runId);
      case "closed":
        throw await closedRun(sql, { workspaceId });
      case "no_call":
        throw new Problem("not_found", `The run ${runId} has no call ${callId}.`);
      case "none_yet":
        throw new Problem("not_found", `The call ${callId} has no result yet; it is ${found.status}.`);
      case "text":
        return c.newResponse(found.text, 200, {
          "Content-Type": "text/plain; charset=utf-8",
          "Content-Disposition": 'attachment; filename="result.txt"',
          "Content-Security-Policy": "default-src 'none'; sandbox",
          "X-Content-Type-Options": "nosniff",
          "Cache-Control": "private, no-store",
        });
      case "stored":
        return await answerContent(c, { sql, log }, { workspaceId, name: "result.txt", ...found });
    }
  });
}
