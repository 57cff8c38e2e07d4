import { createRoute, OpenAPIHono } from "@hono/zod-openapi";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { explainCall } from "../explain-call.ts";
import { findPolicyScope } from "../policy-scope.ts";
import { answers, jsonBody } from "../shapes/common.ts";
import {
  explainBody,
  explanationSchema,
  simulateBody,
  simulationSchema,
  suggestionsQuery,
  suggestionsSchema,
} from "../shapes/explain.ts";
import { simulateDocument } from "../simulate-rules.ts";
import { suggestForScope } from "../suggest-rules.ts";

const explain = createRoute({
  method: "post",
  path: "/explain",
  summary: "Why the gate decides as it does on a call, row by row; nothing is run",
  request: { body: jsonBody(explainBody) },
  responses: answers("Every row of the table, and the first that matches", explanationSchema),
});

const simulate = createRoute({
  method: "post",
  path: "/simulate",
  summary: "What the calls of the last days would have come to under other rules; nothing is changed",
  request: { body: jsonBody(simulateBody) },
  responses: answers("What would be allowed, asked and denied", simulationSchema),
});

const suggestions = createRoute({
  method: "get",
  path: "/suggestions",
  summary: "Rules that would have saved prompts of the last days, and would have let run nothing that was denied",
  request: { query: suggestionsQuery },
  responses: answers("The rules, each tried on those calls", suggestionsSchema),
});

/** Questions to the gate that change nothing. */
export function createExplainRoutes({ sql, tools }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(explain, async (c) => {
      return c.json(await explainCall(sql, c.get("actor"), c.req.valid("json"), tools), 200);
    })
    .openapi(simulate, async (c) => {
      const { document, days, ...asked } = c.req.valid("json");
      const actor = c.get("actor");
      const { workspaceId, userId } = actor;
      const scope = await findPolicyScope(sql, actor, asked);
      return c.json(await simulateDocument(sql, scope, { document, days, workspaceId, userId }, tools), 200);
    })
    .openapi(suggestions, async (c) => {
      const { days, least, ...asked } = c.req.valid("query");
      const actor = c.get("actor");
      const { workspaceId, userId } = actor;
      const scope = await findPolicyScope(sql, actor, asked);
      return c.json(await suggestForScope(sql, scope, { days, least, workspaceId, userId }, tools), 200);
    });
}
