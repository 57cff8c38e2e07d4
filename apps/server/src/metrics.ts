import type { MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { AppEnv } from "./context.ts";
import type { Events } from "./events/events.ts";
import { Problem } from "./problem.ts";
import { readStanding, type Standing } from "./queries/standing.ts";
import type { Queryable } from "@countersign/db/connect.ts";

/** What the server counts. */
export interface Metrics {
  /** Counts every request by its route, never by its path: that holds ids. */
  readonly count: MiddlewareHandler<AppEnv>;
  /** Counts how long an approval had waited when it was decided. */
  readonly countDecision: (answer: string, seconds: number) => void;
  /** Everything as Prometheus reads it, with the standing of the database as of now. */
  render(): Promise<string>;
  readonly contentType: string;
}

/** Routes that decide, and what an accepted one is counted as. */
const deciding = new Set([
  "/v1/approvals/:id/decision",
  "/v1/approvals/decisions",
  "/v1/tasks/:id/confirm",
  "/v1/tasks/:id/dismiss",
  "/v1/tasks/:id/answer",
]);

/** Counters of one server. They hold names of routes and codes, and nothing of anybody. */
export function createMetrics(sql: Queryable, events: Pick<Events, "watching">): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: "countersign_http_request_duration_seconds",
    help: "How long requests took until they were answered; a stream until it began.",
    labelNames: ["method", "route", "status"],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 30],
    registers,
  });
  const decisions = new Counter({
    name: "countersign_decisions_total",
    help: "Decisions that people sent, by what became of them.",
    labelNames: ["route", "outcome"],
    registers,
  });
  const waits = new Histogram({
    name: "countersign_time_to_decide_seconds",
    help: "How long approvals had waited when this server took their decision, by the answer.",
    labelNames: ["answer"],
    buckets: [1, 5, 15, 60, 300, 1_800, 7_200, 43_200, 172_800],
    registers,
  });
  const streams: Gauge = new Gauge({
    name: "countersign_open_streams",
    help: "Streams of events that are open.",
    registers,
    collect(): void {
      streams.set(events.watching());
    },
  });
  const gauges = describeStanding(registers);

  return {
    async count(c, next) {
      const startedAt = performance.now();
      await next();
      const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"))?.path ?? "none";
      const seconds = (performance.now() - startedAt) / 1_000;
      requests.observe({ method: c.req.method, route, status: String(c.res.status) }, seconds);
      if (!deciding.has(route) || c.req.method !== "POST") return;
      const outcome = c.error instanceof Problem ? c.error.code : c.error === undefined ? "accepted" : "failed";
      decisions.inc({ route, outcome });
    },
    countDecision(answer, seconds) {
      waits.observe({ answer }, seconds);
    },
    async render() {
      const standing = await readStanding(sql);
      for (const { gauge, of } of gauges) gauge.set(of(standing));
      return await registry.metrics();
    },
    contentType: registry.contentType,
  };
}

function describeStanding(registers: Registry[]): { gauge: Gauge; of: (standing: Standing) => number }[] {
  const gauge = (name: string, help: string, of: (standing: Standing) => number) => ({
    gauge: new Gauge({ name: `countersign_${name}`, help, registers }),
    of,
  });
  return [
    gauge(
      "oldest_pending_approval_age_seconds",
      "For how long the oldest approval that is pending has waited; 0 where none is.",
      ({ oldestApprovalSeconds }) => oldestApprovalSeconds,
    ),
    gauge(
      "oldest_ready_run_age_seconds",
      "For how long the oldest run that is ready has waited for a worker; 0 where none does.",
      ({ oldestReadySeconds }) => oldestReadySeconds,
    ),
    gauge("ready_runs", "Runs that wait for a worker, counted up to 10000.", ({ readyRuns }) => readyRuns),
    gauge("leased_runs", "Runs that a worker has in hand, counted up to 10000.", ({ leasedRuns }) => leasedRuns),
    gauge(
      "open_unknown_effects",
      "Effects of which nobody knows whether they happened and a person is asked, counted up to 10000.",
      ({ unknownEffects }) => unknownEffects,
    ),
    gauge(
      "late_results",
      "Results that workers had for calls of runs they had lost: what was fenced off, ever.",
      ({ lateResults }) => lateResults,
    ),
    gauge(
      "prompts_per_run",
      "How many calls asked a person in each run that asked at all, of the newest 1000 approvals.",
      ({ promptsPerRun }) => promptsPerRun,
    ),
    gauge(
      "approval_rate",
      "Which share of those that were decided was approved, of the newest 1000 approvals.",
      ({ approvalRate }) => approvalRate,
    ),
    gauge(
      "pending_webhook_deliveries",
      "Messages to webhooks that were not received yet, counted up to 10000.",
      ({ pendingDeliveries }) => pendingDeliveries,
    ),
  ];
}
