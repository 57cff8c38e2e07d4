import { isOutcomeUnknown } from "@countersign/db/connection-errors.ts";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { authenticate } from "./auth.ts";
import type { AppEnv, ServerDependencies } from "./context.ts";
import { logRequests } from "./log-requests.ts";
import { Problem, problemBody, problems } from "./problem.ts";
import { guardRequests } from "./request-guard.ts";
import { createApprovalRoutes } from "./routes/approvals.ts";
import { createHealthRoutes } from "./routes/health.ts";
import { createPolicyRoutes } from "./routes/policy.ts";
import { createRunRoutes } from "./routes/runs.ts";
import { createTaskRoutes } from "./routes/tasks.ts";

/** The largest body that is read, in bytes. */
const maxBodyBytes = 1024 * 1024;

/**
 * The HTTP interface as an app that any server can serve. Everything a route refuses, and everything that fails, leaves
 * as problem+json with the request's id; what failed is in the log, never in the answer.
 */
export function createApp(deps: ServerDependencies) {
  const app = new OpenAPIHono<AppEnv>();
  app.use(logRequests(deps.log));
  app.use(guardRequests(deps.publicUrl));
  app.use(async (c, next) => {
    await next();
    // A connection kept alive would hold up the end of the server.
    if (deps.closing.aborted) c.header("Connection", "close");
  });
  app.use("/v1/*", authenticate(deps.sql));
  app.use(bodyLimit({ maxSize: maxBodyBytes, onError: () => refuseBody() }));

  app.onError((error, c) => refuse(c, problemOf(error, c, deps)));
  app.notFound((c) =>
    refuse(
      c,
      new Problem(
        "no_such_route",
        `There is no ${c.req.method} ${c.req.path.slice(0, 200)}. GET /openapi.json lists all routes.`,
      ),
    ),
  );
  app.openAPIRegistry.registerComponent("securitySchemes", "token", {
    type: "http",
    scheme: "bearer",
  });
  app.doc31("/openapi.json", {
    openapi: "3.1.0",
    info: {
      title: "Countersign",
      version: "1",
      description: "Runs of AI agents, and the countersignatures they wait for.",
    },
    security: [{ token: [] }],
  });

  app.defaultHook = (result) => {
    if (result.success) return;
    const errors = result.error.issues.map((issue) => ({
      path: [result.target, ...issue.path].map(String).join("."),
      message: issue.message,
    }));
    const first = errors[0];
    throw new Problem("invalid_request", first ? `${first.path}: ${first.message}` : "", { errors });
  };

  const routes = app
    .route("/", createHealthRoutes(deps))
    .route("/v1", createRunRoutes(deps))
    .route("/v1", createApprovalRoutes(deps))
    .route("/v1", createTaskRoutes(deps))
    .route("/v1", createPolicyRoutes(deps));
  return routes;
}

/** For a typed client: `hc<App>(url)`. */
export type App = ReturnType<typeof createApp>;

function refuseBody(): never {
  throw new Problem("too_large", `The body is over ${maxBodyBytes} bytes. Send less.`);
}

function problemOf(error: unknown, c: Context<AppEnv>, deps: ServerDependencies): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException) {
    // Thrown by the framework's own validators, before a route is entered.
    if (error.status === 415) {
      return new Problem("unsupported_media_type", "Send the body as Content-Type: application/json.");
    }
    if (error.status === 400) {
      return new Problem("malformed_json", "The body could not be read as JSON. Send valid JSON in UTF-8.");
    }
  }
  const requestId = c.get("requestId");
  if (isOutcomeUnknown(error)) {
    deps.log.error({ requestId, err: error }, "the database does not answer");
    return new Problem(
      "database_unavailable",
      "The database did not answer, so it is not known whether the request took effect. Send it again; a decision or a keyed request happens once.",
    );
  }
  deps.log.error({ requestId, err: error }, "a request failed");
  return new Problem(
    "internal",
    `Something failed that should not. The server's log has it under the request id ${requestId}.`,
  );
}

function refuse(c: Context<AppEnv>, problem: Problem): Response {
  const { status } = problems[problem.code];
  if (status === 401) c.header("WWW-Authenticate", "Bearer");
  // The rest of the body is not read, so the connection is of no further use.
  if (status === 413) c.header("Connection", "close");
  if (status === 503) c.header("Retry-After", "1");
  return c.body(JSON.stringify(problemBody(problem, c.get("requestId"))), status, {
    "Content-Type": "application/problem+json",
  });
}
