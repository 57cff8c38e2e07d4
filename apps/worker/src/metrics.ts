import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { EngineEvent } from "@countersign/engine/engine.ts";
import type { ToolAttempt } from "@countersign/tools/decorators.ts";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { DeliveryOutcome } from "./webhooks/deliver.ts";

/** What a worker counts. Labels hold names of tools and kinds, and nothing of anybody. */
export interface WorkerMetrics {
  event(event: EngineEvent): void;
  attempt(attempt: ToolAttempt): void;
  delivery(outcome: DeliveryOutcome): void;
  render(): Promise<string>;
}

/** Counters of one worker; `inHand` says how many runs it drives. */
export function createWorkerMetrics(inHand: () => number): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const events = new Counter({
    name: "countersign_worker_events_total",
    help: "What an operator should know of, by kind, as in the log.",
    labelNames: ["kind"],
    registers,
  });
  const fenced = new Counter({
    name: "countersign_fenced_writes_total",
    help: "Writes that changed nothing, since the run had been lost to another worker.",
    registers,
  });
  const unknown = new Counter({
    name: "countersign_unknown_effects_total",
    help: "Attempts of which the tool could not tell whether their effect happened.",
    labelNames: ["tool"],
    registers,
  });
  const attempts = new Histogram({
    name: "countersign_tool_attempt_duration_seconds",
    help: "How long attempts of tools took, by what came of them.",
    labelNames: ["tool", "outcome"],
    buckets: [0.01, 0.1, 1, 10, 60, 180],
    registers,
  });
  const deliveries = new Counter({
    name: "countersign_webhook_attempts_total",
    help: "Attempts to deliver to webhooks, by what came of them.",
    labelNames: ["outcome"],
    registers,
  });
  const runs: Gauge = new Gauge({
    name: "countersign_runs_in_hand",
    help: "Runs that this worker drives.",
    registers,
    collect(): void {
      runs.set(inHand());
    },
  });
  return {
    event({ kind }) {
      events.inc({ kind });
      if (kind === "lease.lost") fenced.inc();
    },
    attempt({ tool, outcome, tookMs }) {
      attempts.observe({ tool, outcome }, tookMs / 1_000);
      if (outcome === "unknown") unknown.inc({ tool });
    },
    delivery: (outcome) => deliveries.inc({ outcome }),
    render: async () => await registry.metrics(),
  };
}

/** Serves the metrics, and nothing else, on this machine alone. */
export async function serveMetrics(
  metrics: WorkerMetrics,
  port: number,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.method !== "GET" || request.url !== "/metrics") {
      response.writeHead(404).end();
      return;
    }
    metrics.render().then(
      (text) => response.writeHead(200, { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
