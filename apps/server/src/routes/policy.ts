import type { Queryable } from "@countersign/db/connect.ts";
import { appScope, killScope, type Scope } from "@countersign/engine/commits/kill-scope.ts";
import { killTool, type ToolSwitch } from "@countersign/engine/commits/kill-tool.ts";
import { liftScope } from "@countersign/engine/commits/lift-scope.ts";
import { liftTool } from "@countersign/engine/commits/lift-tool.ts";
import { storableText } from "@countersign/gate/storable.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { type Actor, hasRole, requireRole, wayOf } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { once } from "../idempotency.ts";
import { authorOf } from "../policy-scope.ts";
import { Problem } from "../problem.ts";
import { readDefinition } from "../queries/definitions.ts";
import { readRun } from "../queries/runs.ts";
import { listSwitches } from "../queries/switches.ts";
import { isOnlyWorkspace } from "../queries/workspaces.ts";
import { answers, idempotencyParameter, jsonBody, storableLine, uuid } from "../shapes/common.ts";
import { killSwitchListSchema, switchScope } from "../shapes/switches.ts";

const target = {
  scope: switchScope,
  id: uuid.optional().openapi({ description: "Of the definition or the run" }),
  name: storableLine(200).optional().openapi({ description: "Of the tool or the server" }),
};

type Target = Readonly<{
  scope: Scope["scope"] | ToolSwitch["kind"];
  id?: string | undefined;
  name?: string | undefined;
}>;

const switchSchema = z
  .object({
    scope: switchScope,
    id: z.string().openapi({ description: "The scope's; the name of a tool or a server" }),
    waiting: z.int().openapi({
      description: "Open approvals of a killed tool, which workers deny; 1001 stands for more than 1,000",
    }),
    outcome: z.enum(["killed", "lifted", "already"]).openapi({
      description: "`already`: the switch stood so before, and nothing changed",
    }),
  })
  .openapi("Switch");

const list = createRoute({
  method: "get",
  path: "/kill",
  summary: "The kill switches that are on: of what, since when, by whom and why",
  responses: answers("The switches of the workspace and of the installation", killSwitchListSchema),
});

const killRoute = createRoute({
  method: "post",
  path: "/kill",
  summary: "Hold everything in a scope: nothing under it starts, is decided or expires; a tool or a server is denied",
  parameters: [idempotencyParameter],
  request: {
    body: jsonBody(z.strictObject({ ...target, reason: storableText(500) })),
  },
  responses: answers("The switch is on", switchSchema),
});

const liftRoute = createRoute({
  method: "post",
  path: "/lift",
  summary: "Let everything in a scope go on",
  parameters: [idempotencyParameter],
  request: {
    body: jsonBody(
      z.strictObject({
        ...target,
        reason: storableText(500).optional(),
      }),
    ),
  },
  responses: answers("The switch is off", switchSchema),
});

/** The switches that hold everything in a scope. */
export function createPolicyRoutes(deps: ServerDependencies) {
  const { sql, tools, ring } = deps;

  /** A tool or a server of this workspace's calls. One that is not known here may still be lifted. */
  function findToolSwitch(actor: Actor, kind: ToolSwitch["kind"], { name }: Target, isKill: boolean): ToolSwitch {
    if (name === undefined) {
      throw new Problem("invalid_request", `Which ${kind}? Send its name.`, {
        errors: [{ path: "json.name", message: "is missing" }],
      });
    }
    const reached = [...tools.values()].filter(({ tool }) => (kind === "tool" ? tool.name : tool.server) === name);
    if (isKill && reached.length === 0) {
      throw new Problem("not_found", `There is no ${kind} ${JSON.stringify(name)}. GET /v1/tools lists the tools.`);
    }
    return { kind, name, workspaceId: actor.workspaceId, covers: reached.map(({ tool }) => tool.name) };
  }

  async function kill(on: Queryable, actor: Actor, asked: Target, reason: string) {
    requireRole(actor, "admin", "A kill switch");
    if (asked.scope === "tool" || asked.scope === "server") {
      const toolSwitch = findToolSwitch(actor, asked.scope, asked, true);
      const killed = await killTool(on, toolSwitch, authorOf(actor), reason);
      const waiting = killed.kind === "killed" ? killed.waiting : 0;
      return { scope: asked.scope, id: toolSwitch.name, outcome: killed.kind, waiting };
    }
    const scope = await findScope(actor, { scope: asked.scope, id: asked.id });
    const outcome = await killScope(on, scope, actor.userId, reason, wayOf(actor));
    return { scope: scope.scope, id: scope.scopeId, outcome, waiting: 0 };
  }

  async function lift(on: Queryable, actor: Actor, asked: Target, reason: string | undefined) {
    requireRole(actor, "admin", "A kill switch");
    if (asked.scope === "tool" || asked.scope === "server") {
      const toolSwitch = findToolSwitch(actor, asked.scope, asked, false);
      const outcome = await liftTool(on, toolSwitch, authorOf(actor), reason);
      return { scope: asked.scope, id: toolSwitch.name, outcome, waiting: 0 };
    }
    const scope = await findScope(actor, { scope: asked.scope, id: asked.id });
    const outcome = await liftScope(on, scope, actor.userId, { way: wayOf(actor), reason });
    return { scope: scope.scope, id: scope.scopeId, outcome, waiting: 0 };
  }

  async function findScope(actor: Actor, asked: { scope: Scope["scope"]; id?: string | undefined }): Promise<Scope> {
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
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      const switches = await listSwitches(sql, actor.workspaceId);
      const isAdmin = hasRole(actor, "admin");
      const isAppTheirs = isAdmin && (await isOnlyWorkspace(sql, actor.workspaceId));
      const scopes = isAdmin ? switchScope.options.filter((scope) => scope !== "app" || isAppTheirs) : [];
      return c.json({ switches, scopes }, 200);
    })
    .openapi(killRoute, async (c) => {
      const actor = c.get("actor");
      const { reason, ...asked } = c.req.valid("json");
      const done = await once(c, deps, async (work) => await kill(work.sql, actor, asked, reason));
      // Whoever holds a run under the scope looks at it again, and stops.
      ring();
      return c.json(done, 200);
    })
    .openapi(liftRoute, async (c) => {
      const actor = c.get("actor");
      const { reason, ...asked } = c.req.valid("json");
      const done = await once(c, deps, async (work) => await lift(work.sql, actor, asked, reason));
      ring();
      return c.json(done, 200);
    });
}

function noTarget(scope: string, id: string): Problem {
  return new Problem("not_found", `There is no ${scope} ${id} in this workspace.`);
}
