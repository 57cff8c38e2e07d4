import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { revokeGrant } from "@countersign/engine/commits/revoke-grant.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import { type Span, type SpanContext, type Tracer, trace } from "@opentelemetry/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observeCommits } from "./observe-commits.ts";

const seen: { name: string; parent: SpanContext | undefined; outcome?: unknown; hasEnded: boolean }[] = [];

beforeAll(() => {
  const startSpan: Tracer["startSpan"] = (name, _options, parent) => {
    const kept: (typeof seen)[number] = {
      name,
      parent: parent === undefined ? undefined : trace.getSpanContext(parent),
      hasEnded: false,
    };
    seen.push(kept);
    return {
      setAttribute: (_key: string, value: unknown) => (kept.outcome = value),
      setStatus: () => undefined,
      end: () => (kept.hasEnded = true),
    } as unknown as Span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as unknown as Tracer });
});
afterAll(() => trace.disable());

const runId = "0193a5b2-7c1d-7e3f-8a4b-5c6d7e8f9a0b";

test("what a person asked for leaves a span in the run's trace, with its outcome; every commit is told of", async () => {
  const told: string[] = [];
  const commit = (async () => ({ kind: "canceled" })) as unknown as Committer;
  const observed = observeCommits(commit, ({ name }) => void told.push(name));
  await observed(cancelRun, { runId, workspaceId: "w", userId: "u", reason: "enough" });
  await observed(revokeGrant, { runId, workspaceId: "w", capability: "mail.send", userId: "u" });
  expect(told).toEqual(["cancel_run", "revoke_grant"]);
  expect(seen).toMatchObject([
    {
      name: "run.cancel",
      parent: { traceId: runId.replaceAll("-", ""), isRemote: true },
      outcome: "canceled",
      hasEnded: true,
    },
  ]);
});

test("a commit that fails ends its span and fails as it would have", async () => {
  const commit: Committer = () => Promise.reject(new Error("gone"));
  const observed = observeCommits(commit, () => undefined);
  await expect(observed(cancelRun, { runId, workspaceId: "w", userId: "u", reason: "enough" })).rejects.toThrow("gone");
  expect(seen.at(-1)).toMatchObject({ name: "run.cancel", hasEnded: true });
});
