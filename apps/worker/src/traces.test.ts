import { nothingShown } from "@countersign/engine/shown.ts";
import { traceOf } from "@countersign/engine/run-trace.ts";
import type { Model } from "@countersign/engine/model.ts";
import { ROOT_CONTEXT, type Span, type SpanContext, type TracerProvider, trace } from "@opentelemetry/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { traceCalls, traceModel } from "./traces.ts";

interface Seen {
  readonly name: string;
  readonly parent: SpanContext | undefined;
  readonly attributes: Record<string, unknown>;
  hasEnded: boolean;
  hasFailed: boolean;
}

const seen: Seen[] = [];

/** What an SDK would be: keeps each span. */
const provider: TracerProvider = {
  getTracer: () => ({
    startSpan: (name, options, parent) => startSpan(name, options?.attributes ?? {}, parent),
    startActiveSpan: (name: string, ...rest: unknown[]) => {
      const [options, parent, body] = rest as [{ attributes?: object }, typeof ROOT_CONTEXT, (span: Span) => unknown];
      return body(startSpan(name, options.attributes ?? {}, parent)) as never;
    },
  }),
};

function startSpan(name: string, attributes: object, parent = ROOT_CONTEXT): Span {
  const kept: Seen = {
    name,
    parent: trace.getSpanContext(parent),
    attributes: { ...attributes },
    hasEnded: false,
    hasFailed: false,
  };
  seen.push(kept);
  const nothing = trace.wrapSpanContext({ traceId: "0", spanId: "0", traceFlags: 0 });
  const span: Span = Object.assign(nothing, {
    setAttribute(key: string, value: unknown) {
      kept.attributes[key] = value;
      return span;
    },
    setAttributes(all: object) {
      Object.assign(kept.attributes, all);
      return span;
    },
    setStatus() {
      kept.hasFailed = true;
      return span;
    },
    end() {
      kept.hasEnded = true;
    },
  });
  return span;
}

beforeAll(() => trace.setGlobalTracerProvider(provider));
afterAll(() => trace.disable());

const runId = "0193a5b2-7c1d-7e3f-8a4b-5c6d7e8f9a0b";

test("turns and calls of a run lie in one trace that follows from its id, with counts and no contents", async () => {
  const usage = { inputTokens: 7, outputTokens: 3, costMicros: 42 };
  const model: Model = async () => ({ content: [{ type: "text", text: "a secret word" }], usage });
  const request = {
    workspaceId: "w",
    runId,
    definition: "d",
    model: "m",
    system: "s",
    messages: [],
    tools: [],
    maxOutputTokens: 1,
  };
  await traceModel(model)(request, new AbortController().signal);
  const call = {
    workspaceId: "w",
    runId,
    callId: "c",
    userId: "u",
    idempotencyKey: "k",
    preconditions: [],
    selectedOptionId: undefined,
    signal: new AbortController().signal,
    shown: nothingShown(),
  };
  await traceCalls(async () => ({ kind: "failed", content: "a secret word" }), { name: "mail.send", effect: "once" })(
    {},
    call,
  );

  const of = { traceId: "0193a5b27c1d7e3f8a4b5c6d7e8f9a0b", spanId: "8a4b5c6d7e8f9a0b" };
  expect(traceOf(runId)).toEqual(of);
  expect(seen.map(({ name, parent, hasEnded, hasFailed }) => ({ name, ...parent, hasEnded, hasFailed }))).toMatchObject(
    [
      { name: "model.turn", ...of, hasEnded: true, hasFailed: false },
      { name: "tool.call", ...of, hasEnded: true, hasFailed: true },
    ],
  );
  expect(seen[0]?.attributes).toMatchObject({ "gen_ai.usage.input_tokens": 7, "countersign.cost_micros": 42 });
  expect(JSON.stringify(seen)).not.toContain("secret");
});

test("a turn that fails ends its span and fails as it would have", async () => {
  const broken: Model = () => Promise.reject(new Error("overloaded"));
  const request = {
    workspaceId: "w",
    runId,
    definition: "d",
    model: "m",
    system: "s",
    messages: [],
    tools: [],
    maxOutputTokens: 1,
  };
  await expect(traceModel(broken)(request, new AbortController().signal)).rejects.toThrow("overloaded");
  expect(seen.at(-1)).toMatchObject({ name: "model.turn", hasEnded: true, hasFailed: true });
});
