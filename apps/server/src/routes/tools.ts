import type { RegisteredTool } from "@countersign/engine/tools.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { Problem } from "../problem.ts";
import { answers } from "../shapes/common.ts";
import { toolListSchema, toolSchema, type ToolShape } from "../shapes/tools.ts";

const list = createRoute({
  method: "get",
  path: "/tools",
  summary: "Every tool that definitions may offer, by name",
  responses: answers("The tools", toolListSchema),
});

const get = createRoute({
  method: "get",
  path: "/tools/{name}",
  summary: "One tool",
  request: { params: z.object({ name: z.string().min(1).max(200) }) },
  responses: answers("The tool", toolSchema),
});

/** Tools: what an agent may be given, and what the gate reads of each. */
export function createToolRoutes({ tools }: Pick<ServerDependencies, "tools">) {
  // What is registered does not change while the process runs.
  const shown = new Map([...tools].map(([name, registered]) => [name, shapeOf(registered)]));
  const inOrder = [...shown.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));

  return new OpenAPIHono<AppEnv>()
    .openapi(list, (c) => c.json({ tools: inOrder }, 200))
    .openapi(get, (c) => {
      const { name } = c.req.valid("param");
      const tool = shown.get(name);
      if (tool === undefined) {
        throw new Problem("not_found", `There is no tool ${JSON.stringify(name)}. GET /v1/tools lists them.`);
      }
      return c.json(tool, 200);
    });
}

function shapeOf({ tool, definitionHash }: RegisteredTool): ToolShape {
  const { name, description, effect, tier = "exec", risk, alwaysGate = false } = tool;
  const staticTier = typeof tier === "function" ? "by-arguments" : tier;
  return {
    name,
    description,
    inputSchema: z.toJSONSchema(tool.schema, { unrepresentable: "any" }),
    requires: [...(tool.requires ?? [])],
    effect,
    tier: staticTier,
    risk: typeof risk === "function" ? "by-arguments" : (risk ?? riskOfTier[staticTier]),
    needsApproval: approvalOf(tool),
    alwaysGates: alwaysGate,
    timeoutMs: tool.timeoutMs ?? null,
    definitionHash,
  };
}

/** As the gate takes a tool that says nothing of its risk. */
const riskOfTier = { read: "read-only", write: "high", exec: "unknown", "by-arguments": "by-arguments" } as const;

function approvalOf({ neverGated, needsApproval }: RegisteredTool["tool"]): ToolShape["needsApproval"] {
  if (neverGated === true) return "question";
  if (needsApproval === undefined) return "by-policy";
  if (typeof needsApproval === "function") return "by-arguments";
  return needsApproval ? "always" : "never";
}
