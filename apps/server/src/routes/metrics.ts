import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { authenticate, requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import type { Metrics } from "../metrics.ts";
import { answers } from "../shapes/common.ts";

const { "4XX": refused, "5XX": failed } = answers("", z.object({}));

const metricsRoute = createRoute({
  method: "get",
  path: "/metrics",
  summary: "What an operator watches, as Prometheus reads it; for administrators, and for this machine itself",
  responses: {
    200: { description: "All figures", content: { "text/plain": { schema: z.string() } } },
    "4XX": refused,
    "5XX": failed,
  },
});

/** Figures about the service. Without a token only a program on this machine that asks directly gets them. */
export function createMetricsRoutes(
  { sql, publicUrl }: Pick<ServerDependencies, "sql" | "publicUrl">,
  metrics: Metrics,
) {
  const withToken = authenticate(sql, publicUrl);
  const app = new OpenAPIHono<AppEnv>();
  app.use("/metrics", async (c, next) => {
    if (isFromHere(c)) return await next();
    return await withToken(c, async () => {
      requireRole(c.get("actor"), "admin", "Reading the metrics");
      await next();
    });
  });
  return app.openapi(metricsRoute, async (c) =>
    c.text(await metrics.render(), 200, { "Content-Type": metrics.contentType }),
  );
}

const loopback = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;

/** A proxy on this machine passes on what others ask: it shows in a header of its own, or in the name that was asked for. */
function isFromHere(c: Context<AppEnv>): boolean {
  const address = c.env?.incoming?.socket.remoteAddress;
  const isPassedOn = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"].some(
    (name) => c.req.header(name) !== undefined,
  );
  const name = (c.req.header("host") ?? "").replace(/:\d+$/, "").toLowerCase();
  const isOurName = name === "localhost" || name === "127.0.0.1" || name === "[::1]";
  return address !== undefined && loopback.test(address) && isOurName && !isPassedOn;
}
