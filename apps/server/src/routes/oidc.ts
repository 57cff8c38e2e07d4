import { transaction } from "@countersign/db/transaction.ts";
import { Hono } from "hono";
import { hashToken } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { findUserOf, type Oidc, SignInRefused } from "../oidc.ts";
import { Problem } from "../problem.ts";
import { appendAudit } from "../queries/audit.ts";
import { readFlowCookie, readSessionCookie, setFlowCookie, setSessionCookie } from "../session-cookie.ts";
import { endSessionBefore, startSession } from "../sessions.ts";

const callbackPath = "/session/oidc/callback";

/**
 * Signing in through an identity provider. For browsers, not for programs: each answer sends the browser on, a refusal to
 * the login page with its reason.
 */
export function createOidcRoutes({ sql, publicUrl, log }: ServerDependencies, oidc: Oidc) {
  return new Hono<AppEnv>()
    .get("/session/oidc", async (c) => {
      try {
        const { url, flow } = await oidc.leave(sql, callbackOf(publicUrl, c.req.url));
        // On the way back from the provider's site the browser does not send its session along.
        const before = readSessionCookie(c, publicUrl);
        setFlowCookie(c, before === undefined ? flow : `${flow}.${hashToken(before)}`, publicUrl);
        return c.redirect(url);
      } catch (error) {
        return c.redirect(loginWith(error, log));
      }
    })
    .get(callbackPath, async (c) => {
      const [flow, before] = readFlowCookie(c, publicUrl)?.split(".") ?? [];
      setFlowCookie(c, undefined, publicUrl);
      try {
        const answer = new URL(c.req.url).searchParams;
        const identity = await oidc.comeBack(sql, callbackOf(publicUrl, c.req.url), flow, answer);
        const userAgent = c.req.header("user-agent");
        const session = await transaction(sql, async (tx) => {
          const user = await findUserOf(tx, oidc.issuer, identity);
          const made = await startSession(tx, { ...user, mayDecide: true, userAgent, createdBy: null });
          const way = `${oidc.issuer} over web, session:${made.id}`;
          await appendAudit(tx, user, "session.started", made.id, { user: user.userId, way });
          await endSessionBefore(tx, before, made);
          return made;
        });
        setSessionCookie(c, session.token, publicUrl);
        // Which leads on to where the person was going.
        return c.redirect("/");
      } catch (error) {
        return c.redirect(loginWith(error, log));
      }
    });
}

function callbackOf(publicUrl: string | undefined, requestUrl: string): string {
  return new URL(callbackPath, publicUrl ?? requestUrl).href;
}

/** The address says why by a name of a closed set, since anybody can write one; whatever else failed is in the log. */
function loginWith(error: unknown, log: ServerDependencies["log"]): string {
  if (!(error instanceof Problem)) log.error({ err: error }, "signing in failed");
  const why = error instanceof SignInRefused ? error.why : error instanceof Problem ? error.code : "failed";
  return `/login?${new URLSearchParams({ refused: why }).toString()}`;
}
