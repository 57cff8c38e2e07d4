import { expect, test } from "vitest";
import { createWorkerMetrics, serveMetrics } from "./metrics.ts";

test("a worker's figures are served under one address and tell what happened", async () => {
  const metrics = createWorkerMetrics(() => 3);
  const runId = "0193a5b2-7c1d-7e3f-8a4b-5c6d7e8f9a0b";
  metrics.event({ kind: "lease.lost", runId });
  metrics.attempt({ tool: "mail.send", workspaceId: "w", runId, callId: "c", outcome: "unknown", tookMs: 1_500 });
  metrics.delivery("delivered");
  const served = await serveMetrics(metrics, 0);
  const answer = await fetch(served.url);
  const text = await answer.text();
  expect(answer.status).toBe(200);
  expect(text).toContain("countersign_fenced_writes_total 1");
  expect(text).toContain('countersign_unknown_effects_total{tool="mail.send"} 1');
  expect(text).toContain('countersign_webhook_attempts_total{outcome="delivered"} 1');
  expect(text).toContain("countersign_runs_in_hand 3");
  expect(text).not.toContain(runId);
  expect((await fetch(new URL("/", served.url))).status).toBe(404);
  expect((await fetch(served.url, { method: "POST" })).status).toBe(404);
  await served.stop();
});
