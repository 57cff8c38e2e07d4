import { isOutcomeUnknown } from "@countersign/db/connection-errors.ts";
import { locateJson } from "@countersign/gate/locate-json.ts";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { actForHeader, authenticate } from "./auth.ts";
import type { AppEnv, ServerDependencies } from "./context.ts";
import { discardRest } from "./discard-rest.ts";
import { createEvents } from "./events/events.ts";
import { logRequests } from "./log-requests.ts";
import { createMetrics } from "./metrics.ts";
import { Problem, problemBody, problems } from "./problem.ts";
import { servePages } from "./pages.ts";
import { guardRequests } from "./request-guard.ts";
import { limitRate } from "./rate-limit.ts";
import { createAccessRuleRoutes } from "./routes/access-rules.ts";
import { createApprovalRoutes } from "./routes/approvals.ts";
import { createAuditRoutes } from "./routes/audit.ts";
import { createCalendarRoutes } from "./routes/calendar.ts";
import { createCaptureRoutes } from "./routes/captures.ts";
import { createDefinitionRoutes } from "./routes/definitions.ts";
import { createDelegationRoutes } from "./routes/delegations.ts";
import { createEventRoutes } from "./routes/events.ts";
import { createFileSpaceRoutes } from "./routes/file-space.ts";
import { createFileRoutes, isUpload } from "./routes/files.ts";
import { createGrantRoutes } from "./routes/grants.ts";
import { createHealthRoutes } from "./routes/health.ts";
import { createMemoryRoutes } from "./routes/memory.ts";
import { createKnowledgeRoutes } from "./routes/knowledge.ts";
import { createMetricsRoutes } from "./routes/metrics.ts";
import { createPageCommandRoutes } from "./routes/page-commands.ts";
import { createPageFileRoutes } from "./routes/page-files.ts";
import { createPageRoutes } from "./routes/pages.ts";
import { createOidcRoutes } from "./routes/oidc.ts";
import { createPeopleRoutes } from "./routes/people.ts";
import { createPolicyRoutes } from "./routes/policy.ts";
import { createExplainRoutes } from "./routes/explain.ts";
import { createPolicyToolRoutes } from "./routes/policy-tools.ts";
import { createRuleRoutes } from "./routes/rules.ts";
import { createReminderRoutes } from "./routes/reminders.ts";
import { createResultRoutes } from "./routes/results.ts";
import { createRunRoutes } from "./routes/runs.ts";
import { createSecretRoutes } from "./routes/secrets.ts";
import { createSessionRoutes } from "./routes/sessions.ts";
import { createTaskLogRoutes } from "./routes/task-log.ts";
import { createTaskRoutes } from "./routes/tasks.ts";
import { createTokenRoutes } from "./routes/tokens.ts";
import { createToolRoutes } from "./routes/tools.ts";
import { createWebhookRoutes } from "./routes/webhooks.ts";

const description = `Runs of AI agents, and the countersignatures they wait for.

Lists go on with \`nextCursor\`, also sent as \`Link\`. A refusal is a problem+json whose \`code\` says why, with the request's
id. A POST may carry an \`Idempotency-Key\`: it then takes effect once, and the same request again gets the same answer,
marked \`Idempotency-Replayed\`; while the first is worked on the answer is 409 \`in_flight\`, to another request under the key
422 \`key_reused\`. What is decided or changed on sight of a version names it in \`If-Match\`. An account that sends too much
gets 429 with \`Retry-After\`.`;

/** The largest body that is read, in bytes. */
const maxBodyBytes = 1024 * 1024;

/**
 * The HTTP interface as an app that any server can serve. Everything a route refuses, and everything that fails, leaves
 * as problem+json with the request's id; what failed is in the log, never in the answer.
 */
export function createApp(deps: ServerDependencies) {
  const app = new OpenAPIHono<AppEnv>();
  const events = deps.events ?? createEvents(deps);
  const metrics = createMetrics(deps.sql, events);
  app.use(logRequests(deps.log));
  app.use(metrics.count);
  app.use(guardRequests(deps.publicUrl));
  app.use(async (c, next) => {
    await next();
    // A connection kept alive would hold up the end of the server.
    if (deps.closing.aborted) c.header("Connection", "close");
    // What one account was answered is no browser's to keep, or to take for anything but what it is.
    if (!c.res.headers.has("Cache-Control")) c.header("Cache-Control", "no-store");
    c.header("X-Content-Type-Options", "nosniff");
  });
  if (deps.pages !== undefined) app.use(servePages(deps.pages));
  app.use("/v1/*", authenticate(deps.sql, deps.publicUrl));
  if (deps.rateLimit !== undefined) app.use("/v1/*", limitRate(deps.rateLimit));
  const limitBody = bodyLimit({ maxSize: maxBodyBytes, onError: () => refuseBody() });
  app.use(async (c, next) => await (isUpload(c.req.method, c.req.path) ? next() : limitBody(c, next)));

  if (deps.oidc !== undefined) app.route("/", createOidcRoutes(deps, deps.oidc));

  app.onError(async (error, c) => {
    const problem = await problemOf(error, c, deps);
    await discardRest(c.env ?? {});
    return refuse(c, problem);
  });
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
  app.openAPIRegistry.registerComponent("parameters", "ActFor", {
    name: actForHeader,
    in: "header",
    description:
      "The id of the user a service acts for; on every route under /v1, where the token was made with the right",
    schema: { type: "string", format: "uuid" },
  });
  app.doc31("/openapi.json", (c) => ({
    openapi: "3.1.0",
    servers: [{ url: new URL(deps.publicUrl ?? c.req.url).origin }],
    info: {
      title: "Countersign",
      version: "1",
      description,
    },
    security: [{ token: [] }],
  }));

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
    .route("/", createMetricsRoutes(deps, metrics))
    .route("/", createSessionRoutes(deps))
    .route("/v1", createRunRoutes(deps))
    .route("/v1", createResultRoutes(deps))
    .route("/v1", createApprovalRoutes({ ...deps, countDecision: metrics.countDecision }))
    .route("/v1", createDelegationRoutes(deps))
    .route("/v1", createEventRoutes({ ...deps, events }))
    .route("/v1", createTaskLogRoutes(deps))
    .route("/v1", createTaskRoutes({ ...deps, countDecision: metrics.countDecision }))
    .route("/v1", createFileRoutes(deps))
    .route("/v1", createFileSpaceRoutes(deps))
    .route("/v1", createMemoryRoutes(deps))
    .route("/v1", createCaptureRoutes(deps))
    .route("/v1", createReminderRoutes(deps))
    .route("/v1", createPageRoutes(deps))
    .route("/v1", createKnowledgeRoutes(deps))
    .route("/v1", createPageCommandRoutes(deps))
    .route("/v1", createPageFileRoutes(deps))
    .route("/v1", createAccessRuleRoutes(deps))
    .route("/v1", createCalendarRoutes(deps))
    .route("/v1", createPolicyRoutes(deps))
    .route("/v1", createRuleRoutes(deps))
    .route("/v1", createPolicyToolRoutes(deps))
    .route("/v1", createExplainRoutes(deps))
    .route("/v1", createDefinitionRoutes(deps))
    .route("/v1", createToolRoutes(deps))
    .route("/v1", createSecretRoutes(deps))
    .route("/v1", createGrantRoutes(deps))
    .route("/v1", createAuditRoutes(deps))
    .route("/v1", createPeopleRoutes(deps))
    .route("/v1", createTokenRoutes(deps))
    .route("/v1", createWebhookRoutes(deps));
  return routes;
}

/** For a typed client: `hc<App>(url)`. */
export type App = ReturnType<typeof createApp>;

function refuseBody(): never {
  throw new Problem("too_large", `The body is over ${maxBodyBytes} bytes. Send less.`);
}

async function problemOf(error: unknown, c: Context<AppEnv>, deps: ServerDependencies): Promise<Problem> {
  if (error instanceof Problem) return error;
  if (error instanceof HTTPException) {
    // Thrown by the framework's own validators, before a route is entered.
    if (error.status === 415) {
      return new Problem("unsupported_media_type", "Send the body as Content-Type: application/json.");
    }
    if (error.status === 400) return notJson(await c.req.text());
  }
  const requestId = c.get("requestId");
  const { incoming } = c.env ?? {};
  // The error of a body that its client cut off looks like that of a lost connection to the database.
  if (incoming !== undefined && incoming.destroyed && !incoming.complete) {
    deps.log.info({ requestId, err: error }, "a request broke off");
    return new Problem("malformed_request", "The request broke off before the end of its body. Send it again.");
  }
  if (isOutcomeUnknown(error)) {
    deps.log.error({ requestId, err: error }, "the database does not answer");
    return new Problem(
      "database_unavailable",
      "The database did not answer, so it is not known whether the request took effect. Send it again; a decision or a keyed request happens once.",
    );
  }
  if (isHeldUp(error)) {
    return new Problem("busy", "Others hold what this would change, so nothing was done. Send it again.", {
      retryAfterSeconds: 1,
    });
  }
  deps.log.error({ requestId, err: error }, "a request failed");
  return new Problem(
    "internal",
    `Something failed that should not. The server's log has it under the request id ${requestId}.`,
  );
}

/** That a body is not JSON, and the line where that shows. */
function notJson(text: string): Problem {
  const places = locateJson(text);
  if (places.kind !== "broken")
    return new Problem("malformed_json", "The body could not be read as JSON. Send valid JSON in UTF-8.");
  const { line } = places;
  return new Problem("malformed_json", `The body could not be read as JSON: line ${line} is none. Send valid JSON.`, {
    errors: [{ path: "json", line, message: "is not JSON" }],
  });
}

/** SQLSTATE 55P03: the lock was not to be had in time; 40P01: the database broke a deadlock by ending this one. */
function isHeldUp(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "55P03" || error.code === "40P01");
}

function refuse(c: Context<AppEnv>, problem: Problem): Response {
  const { status } = problems[problem.code];
  if (status === 401) c.header("WWW-Authenticate", "Bearer");
  // The rest of the body is not read, so the connection is of no further use.
  if (status === 413) c.header("Connection", "close");
  const retryAfter = problem.details.retryAfterSeconds ?? (status === 503 ? 1 : undefined);
  if (retryAfter !== undefined) c.header("Retry-After", String(retryAfter));
  return c.body(JSON.stringify(problemBody(problem, c.get("requestId"))), status, {
    "Content-Type": "application/problem+json",
  });
}
