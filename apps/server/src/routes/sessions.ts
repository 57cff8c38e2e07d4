import { transaction } from "@countersign/db/transaction.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { hashToken, requireSelfOrAdmin, wayOf } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { transactOnce } from "../idempotency.ts";
import { findUser } from "../people.ts";
import { invalidField, Problem } from "../problem.ts";
import { appendAudit } from "../queries/audit.ts";
import { readSessionCookie, setSessionCookie } from "../session-cookie.ts";
import { createLoginLink, endSessionBefore, useLoginLink } from "../sessions.ts";
import { answers, idempotencyHeaders, jsonBody, moment, uuid } from "../shapes/common.ts";

const createLink = createRoute({
  method: "post",
  path: "/v1/login-links",
  summary: "Make a link that signs a person in, once, within 15 minutes: yourself, or as an administrator another",
  request: {
    headers: idempotencyHeaders,
    body: {
      ...jsonBody(z.strictObject({ userId: uuid.optional().openapi({ description: "You, unless given" }) })),
      required: false,
    },
  },
  responses: answers(
    "The link",
    z
      .object({
        path: z.string().nullable().openapi({ description: "To open in a browser; null where a key is replayed" }),
        url: z.string().nullable().openapi({
          description: "The same at the server's public address; null where it was given none, or a key is replayed",
        }),
        expiresAt: moment,
      })
      .openapi("LoginLink"),
  ),
});

const waysIn = createRoute({
  method: "get",
  path: "/session",
  summary: "How people sign in here besides login links",
  security: [],
  responses: answers(
    "The ways",
    z
      .object({ provider: z.string().nullable().openapi({ description: "The host of the identity provider" }) })
      .openapi("WaysIn"),
  ),
});

const signIn = createRoute({
  method: "post",
  path: "/session",
  summary: "Use a login link: afterwards the browser holds a session in its cookie, and the one it had has ended",
  security: [],
  request: { body: jsonBody(z.strictObject({ code: z.string().min(1).max(200) })) },
  responses: answers("Signed in", z.object({ userId: z.string() }).openapi("SignedIn")),
});

interface MadeLink {
  readonly path: string | null;
  readonly url: string | null;
  readonly expiresAt: Date;
}

/** Signing in with a browser. Who signs out revokes the session, as any token. */
export function createSessionRoutes(deps: ServerDependencies) {
  const { sql, publicUrl } = deps;
  return new OpenAPIHono<AppEnv>()
    .openapi(createLink, async (c) => {
      const actor = c.get("actor");
      if (actor.isService || actor.via !== undefined) {
        throw new Problem(
          "forbidden",
          "A program works with its token; login links are made by people. Use your own token.",
        );
      }
      const { userId = actor.userId } = c.req.valid("json");
      const made = await transactOnce(
        c,
        deps,
        async (tx): Promise<MadeLink> => {
          const user = await findUser(tx, actor, userId);
          requireSelfOrAdmin(actor, user.id, user.name, "A login link for another");
          if (user.isService) throw invalidField("json.userId", `${user.name} is a program; it uses a token`);
          if (user.disabledAt !== null) throw invalidField("json.userId", `the account of ${user.name} is disabled`);
          const { workspaceId, mayDecide } = actor;
          const link = await createLoginLink(tx, {
            workspaceId,
            userId: user.id,
            mayDecide,
            createdBy: actor.userId,
          });
          await appendAudit(tx, actor, "login_link.created", link.id, { user: user.id, way: wayOf(actor) });
          const url = publicUrl === undefined ? null : new URL(link.path, publicUrl).href;
          return { path: link.path, url, expiresAt: link.expiresAt };
        },
        // Only the code's hash is stored, so a replay cannot show it again.
        (answer) => ({ ...answer, path: null, url: null }),
      );
      return c.json(made, 200);
    })
    .openapi(waysIn, (c) => c.json({ provider: deps.oidc === undefined ? null : new URL(deps.oidc.issuer).host }, 200))
    .openapi(signIn, async (c) => {
      const userAgent = c.req.header("user-agent");
      const before = readSessionCookie(c, publicUrl);
      const session = await transaction(sql, async (tx) => {
        const made = await useLoginLink(tx, c.req.valid("json").code, userAgent);
        const way = `login link over web, session:${made.id}`;
        await appendAudit(tx, made, "session.started", made.id, { user: made.userId, way });
        await endSessionBefore(tx, before === undefined ? undefined : hashToken(before), made);
        return made;
      });
      setSessionCookie(c, session.token, publicUrl);
      return c.json({ userId: session.userId }, 200);
    });
}
