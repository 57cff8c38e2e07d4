import { randomUUID } from "node:crypto";
import { createMiddleware } from "hono/factory";
import type { Logger } from "pino";
import type { AppEnv } from "./context.ts";

/**
 * Gives every request an id, the caller's where it sent a usable one, and writes one line when it is answered. The line
 * holds no header, no query and no body: those may hold secrets.
 */
export function logRequests(log: Logger) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const given = c.req.header("x-request-id");
    const requestId = given !== undefined && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
    c.set("requestId", requestId);
    c.header("X-Request-Id", requestId);
    const startedAt = performance.now();
    await next();
    log.info(
      {
        requestId,
        method: c.req.method,
        path: c.req.path.slice(0, 300),
        status: c.res.status,
        durationMs: Math.round(performance.now() - startedAt),
        userId: c.get("actor")?.userId,
      },
      "request",
    );
  });
}
