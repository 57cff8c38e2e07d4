import type { Context } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import type { AppEnv } from "./context.ts";

/** How long a browser stays signed in. */
export const sessionMs = 30 * 86_400_000;

/**
 * Cookies know no ports: two servers on one machine would sign each other's people out. Over HTTPS the name makes sure that
 * no sibling of this host has set it.
 */
function nameOf(c: Context<AppEnv>, publicUrl: string | undefined): string {
  const port = /:(\d+)$/.exec(c.req.header("host") ?? "")?.[1];
  return `${isSecure(publicUrl) ? "__Host-" : ""}countersign${port === undefined ? "" : `_${port}`}`;
}

/** The token of the browser's session; undefined where it has none. */
export function readSessionCookie(c: Context<AppEnv>, publicUrl: string | undefined): string | undefined {
  const value = getCookie(c, nameOf(c, publicUrl));
  return value !== undefined && /^[\x21-\x7e]{1,200}$/.test(value) ? value : undefined;
}

/** Hands the session to the browser: no script reads it, and no other site's page sends it. */
export function setSessionCookie(c: Context<AppEnv>, token: string, publicUrl: string | undefined): void {
  setCookie(c, nameOf(c, publicUrl), token, { ...attributes(publicUrl), maxAge: sessionMs / 1_000 });
}

/** Afterwards the browser has no session. */
export function clearSessionCookie(c: Context<AppEnv>, publicUrl: string | undefined): void {
  setCookie(c, nameOf(c, publicUrl), "", { ...attributes(publicUrl), maxAge: 0 });
}

const flowMs = 10 * 60_000;

/** What the browser keeps while its person is at the identity provider; sent along when the provider sends it back. */
export function setFlowCookie(c: Context<AppEnv>, flow: string | undefined, publicUrl: string | undefined): void {
  const maxAge = flow === undefined ? 0 : flowMs / 1_000;
  setCookie(c, `${nameOf(c, publicUrl)}_sign_in`, flow ?? "", { ...attributes(publicUrl), sameSite: "Lax", maxAge });
}

/** Undefined where this browser has begun nothing. */
export function readFlowCookie(c: Context<AppEnv>, publicUrl: string | undefined): string | undefined {
  return getCookie(c, `${nameOf(c, publicUrl)}_sign_in`);
}

function attributes(publicUrl: string | undefined) {
  return { path: "/", httpOnly: true, sameSite: "Strict", secure: isSecure(publicUrl) } as const;
}

function isSecure(publicUrl: string | undefined): boolean {
  return publicUrl?.startsWith("https:") === true;
}
