import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./context.ts";
import { Problem } from "./problem.ts";

const loopback = new Set(["127.0.0.1", "localhost", "[::1]"]);
const safeMethods = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Refuses, before any route is looked at, what no client of ours sends: a host name that is not the server's (a page of
 * another name that resolves here), a path that is not in its plain form, and on a method that changes things anything
 * that a page of another origin sent. Bearer tokens need none of it; whatever else may authenticate later does.
 */
export function guardRequests(publicUrl: string | undefined) {
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl);
  const names = new Set(publicOrigin === undefined ? loopback : [...loopback, publicOrigin.hostname]);

  return createMiddleware<AppEnv>(async (c, next) => {
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    if (!names.has(nameOf(host))) {
      throw new Problem(
        "host_not_allowed",
        `This server is not reached as ${JSON.stringify(host.slice(0, 100))}. Use 127.0.0.1 or localhost, or set PUBLIC_URL to the address it is known by.`,
      );
    }
    // As it came over the wire: a URL object would have resolved the dots away.
    const path = (c.env?.incoming?.url ?? new URL(c.req.url).pathname).split("?", 1)[0] ?? "";
    if (!isPlain(path)) {
      throw new Problem(
        "path_not_allowed",
        "The path holds dot segments, empty segments, backslashes or encoded separators. Send it in its plain form.",
      );
    }
    if (!safeMethods.has(c.req.method) && isFromElsewhere(c.req.raw.headers, host, publicOrigin)) {
      throw new Problem(
        "cross_site",
        "A page of another origin sent this request. Only this server's own pages and programs without an origin change anything.",
      );
    }
    await next();
  });
}

function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d{1,5}$/, "");
}

function isPlain(path: string): boolean {
  if (!path.startsWith("/") || path.includes("\\") || path.includes("//")) return false;
  if (/%(2f|5c|00)/i.test(path)) return false;
  return !path.split("/").some((segment) => /^(\.|%2e){1,2}$/i.test(segment));
}

function isFromElsewhere(headers: Headers, host: string, publicOrigin: URL | undefined): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") return true;
  const origin = headers.get("origin");
  if (origin === null) return false;
  return origin !== publicOrigin?.origin && origin !== `http://${host}` && origin !== `https://${host}`;
}
