import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { hasRole, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { changeUser, createUser, findUser } from "../people.ts";
import { listPeople, listUsers, readWorkspace } from "../queries/people.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery } from "../shapes/common.ts";
import {
  meSchema,
  newUserSchema,
  peopleListSchema,
  userChangeSchema,
  userListSchema,
  userSchema,
  workspaceSchema,
} from "../shapes/people.ts";

const me = createRoute({
  method: "get",
  path: "/me",
  summary: "Whom the token stands for, and what it may",
  responses: answers("You", meSchema),
});

const workspaces = createRoute({
  method: "get",
  path: "/workspaces",
  summary: "The workspaces that the token reaches: one",
  responses: answers("The workspaces", z.object({ workspaces: z.array(workspaceSchema) })),
});

const list = createRoute({
  method: "get",
  path: "/users",
  summary: "The accounts of the workspace, people's and programs'",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of accounts", userListSchema),
});

const colleagues = createRoute({
  method: "get",
  path: "/people",
  summary: "The people of the workspace by name, for whoever has to name one, such as to hand a decision over",
  request: { query: z.object(pageQuery) },
  responses: answers("A page of people", peopleListSchema),
});

const get = createRoute({
  method: "get",
  path: "/users/{id}",
  summary: "One account",
  request: { params: idParam },
  responses: answers("The account", userSchema),
});

const create = createRoute({
  method: "post",
  path: "/users",
  summary: "Make an account for a person or a program; tokens come after",
  request: { headers: idempotencyHeaders, body: jsonBody(newUserSchema) },
  responses: answers("The account", userSchema),
});

const change = createRoute({
  method: "patch",
  path: "/users/{id}",
  summary: "Change an account's name or role, disable or enable it",
  request: { params: idParam, body: jsonBody(userChangeSchema) },
  responses: answers("The account as it is now", userSchema),
});

/** Who there is: the workspace, people, and the accounts of programs. */
export function createPeopleRoutes(deps: ServerDependencies) {
  const { sql } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(me, async (c) => {
      const actor = c.get("actor");
      const { userId, name, role, isService, workspaceId, tokenId, via } = actor;
      return c.json(
        {
          id: userId,
          name,
          role,
          isService: isService && via === undefined,
          workspace: await readWorkspace(sql, workspaceId),
          tokenId,
          mayDecide: actor.mayDecide && hasRole(actor, "approver"),
          via: via === undefined ? null : { id: via.userId, name: via.name },
        },
        200,
      );
    })
    .openapi(workspaces, async (c) => {
      return c.json({ workspaces: [await readWorkspace(sql, c.get("actor").workspaceId)] }, 200);
    })
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Listing accounts");
      const { cursor, limit } = c.req.valid("query");
      const cursorId = decodeCursor("users", cursor);
      const read = await listUsers(sql, { workspaceId: actor.workspaceId, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, "users", read, limit);
      return c.json({ users: rows, nextCursor }, 200);
    })
    .openapi(colleagues, async (c) => {
      const { workspaceId } = c.get("actor");
      const { cursor, limit } = c.req.valid("query");
      const read = await listPeople(sql, { workspaceId, cursorId: decodeCursor("people", cursor), limit });
      const { rows, nextCursor } = pageOf(c, "people", read, limit);
      return c.json({ people: rows, nextCursor }, 200);
    })
    .openapi(get, async (c) => {
      const actor = c.get("actor");
      const user = await findUser(sql, actor, c.req.valid("param").id);
      if (user.id !== actor.userId) requireRole(actor, "admin", "Looking at another's account");
      return c.json(user, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Making an account");
      return c.json(await transactOnce(c, deps, (tx) => createUser(tx, actor, c.req.valid("json"))), 200);
    })
    .openapi(change, async (c) => {
      const actor = c.get("actor");
      const { id } = c.req.valid("param");
      await findUser(sql, actor, id);
      requireRole(actor, "admin", "Changing an account");
      return c.json(await transactOnce(c, deps, (tx) => changeUser(tx, actor, id, c.req.valid("json"))), 200);
    });
}
