import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { hasRole, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { decodeCursor, pageOf } from "../cursor.ts";
import { transactOnce } from "../idempotency.ts";
import { makeToken, revokeToken } from "../manage-tokens.ts";
import { findUser } from "../people.ts";
import { listTokens } from "../queries/people.ts";
import { clearSessionCookie } from "../session-cookie.ts";
import { answers, idempotencyHeaders, idParam, jsonBody, pageQuery, uuid } from "../shapes/common.ts";
import { madeTokenSchema, newTokenSchema, tokenListSchema, tokenSchema } from "../shapes/people.ts";

const list = createRoute({
  method: "get",
  path: "/tokens",
  summary: "Tokens without their values: your own, for an administrator all of the workspace",
  request: {
    query: z.object({
      user: uuid.optional(),
      standing: z.enum(["live"]).optional().openapi({ description: "Only those that are neither revoked nor expired" }),
      ...pageQuery,
    }),
  },
  responses: answers("A page of tokens", tokenListSchema),
});

const create = createRoute({
  method: "post",
  path: "/tokens",
  summary: "Make a token for a person or a program; its value is shown this once",
  request: { headers: idempotencyHeaders, body: jsonBody(newTokenSchema) },
  responses: answers("The token", madeTokenSchema),
});

const revoke = createRoute({
  method: "delete",
  path: "/tokens/{id}",
  summary: "Revoke a token, or end a session: it is refused from then on",
  request: { params: idParam },
  responses: answers("The token is revoked", tokenSchema),
});

/** Tokens: what programs and people authenticate with. */
export function createTokenRoutes(deps: ServerDependencies) {
  const { sql } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(list, async (c) => {
      const actor = c.get("actor");
      const { user, standing, cursor, limit } = c.req.valid("query");
      if (user !== undefined && user !== actor.userId) {
        await findUser(sql, actor, user);
        requireRole(actor, "admin", "Listing another's tokens");
      }
      const userId = hasRole(actor, "admin") ? user : actor.userId;
      const isLive = standing === "live";
      const name = `tokens.${userId ?? "all"}${isLive ? ".live" : ""}`;
      const cursorId = decodeCursor(name, cursor);
      const read = await listTokens(sql, { workspaceId: actor.workspaceId, userId, isLive, cursorId, limit });
      const { rows, nextCursor } = pageOf(c, name, read, limit);
      return c.json({ tokens: rows, nextCursor }, 200);
    })
    .openapi(create, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "admin", "Making a token");
      const made = await transactOnce(
        c,
        deps,
        (tx) => makeToken(tx, actor, c.req.valid("json")),
        // A token is stored as its hash alone, so a replay cannot show it again.
        (answer) => ({ ...answer, token: null }),
      );
      return c.json(made, 200);
    })
    .openapi(revoke, async (c) => {
      const actor = c.get("actor");
      const revoked = await transactOnce(c, deps, (tx) => revokeToken(tx, actor, c.req.valid("param").id));
      if (actor.isSession && revoked.id === actor.tokenId) clearSessionCookie(c, deps.publicUrl);
      return c.json(revoked, 200);
    });
}
