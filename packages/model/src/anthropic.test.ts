import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CapabilityRefused } from "@countersign/engine/engine.ts";
import { EngineError } from "@countersign/engine/engine-error.ts";
import type { Block, ModelReply } from "@countersign/engine/model.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { sumOf } from "./testing/count-tokens.ts";
import type { Answer } from "./testing/messages-server.ts";
import { aRequest, aTestModel, assistant, listen, resultOf, testKey, testPrices, text, user } from "./testing/model.ts";

const never = new AbortController().signal;
const ok: Answer = { say: [{ text: "done" }] };

function usesOf(reply: ModelReply): Extract<Block, { type: "tool_use" }>[] {
  return reply.content.filter((block) => block.type === "tool_use");
}

describe("a reply", () => {
  test("comes as it is said, and is whole in the end", async () => {
    const { server, model } = await aTestModel(() => ({
      say: [
        { think: "let me think about it" },
        { text: "I look at both. Ünïcödé 🙂" },
        { use: "kb--read", args: '{"page": 1}' },
      ],
    }));
    const { deltas, onDelta } = listen();
    const reply = await model(aRequest(), never, onDelta);
    expect(reply.content).toEqual([
      { type: "opaque", provider: "anthropic", json: expect.stringContaining('"thinking":"let me think about it"') },
      { type: "text", text: "I look at both. Ünïcödé 🙂" },
      { type: "tool_use", id: expect.stringMatching(/^toolu_/), name: "kb.read", argsText: '{"page": 1}' },
    ]);
    const joined = (kind: "text" | "thinking") =>
      deltas.flatMap((delta) => (delta.kind === kind ? [delta.text] : [])).join("");
    expect(joined("text")).toBe("I look at both. Ünïcödé 🙂");
    expect(joined("thinking")).toBe("let me think about it");
    expect(deltas[0]).toEqual({ kind: "started" });
    expect(deltas.at(-1)).toEqual({ kind: "tool_use", tool: "kb.read" });
    expect(server.rejections).toEqual([]);
  });

  test("keeps arguments as the text they were written in, and gives numbers back as they were spelled", async () => {
    const args = '{ "n": 1.0, "id": 12345678901234567890, "n": 1e400, "s": "\\u0041", "__proto__": [1, {"x": -0}] }';
    const { server, model } = await aTestModel((_request, n) => (n === 0 ? { say: [{ use: "kb--read", args }] } : ok));
    const reply = await model(aRequest(), never);
    const [use] = usesOf(reply);
    expect(use?.argsText).toBe(args);
    await model(
      aRequest({ messages: [user(text("do")), assistant(...reply.content), user(resultOf(use?.id ?? ""))] }),
      never,
    );
    expect(server.bodies[1]).toContain(
      '"input":{"n":1e400,"id":12345678901234567890,"s":"A","__proto__":[1,{"x":-0}]}',
    );
    expect(server.rejections).toEqual([]);
  });

  test.each(['{"page": ', "[1]", "7", '"text"', "null", "no json", '{"a":1}{"b":2}'])(
    "with the arguments %s is given back in a form that the API accepts",
    async (args) => {
      const { server, model } = await aTestModel((_request, n) =>
        n === 0 ? { say: [{ use: "kb--read", args }] } : ok,
      );
      const reply = await model(aRequest(), never);
      const [use] = usesOf(reply);
      expect(use?.argsText).toBe(args);
      await model(
        aRequest({ messages: [user(text("do")), assistant(...reply.content), user(resultOf(use?.id ?? ""))] }),
        never,
      );
      expect(server.rejections).toEqual([]);
      expect(server.bodies[1]).toContain(JSON.stringify({ INVALID_JSON: args }));
    },
  );

  test("that uses a tool without arguments has an empty object of them", async () => {
    const { model } = await aTestModel(() => ({ say: [{ use: "kb--read", args: "" }] }));
    expect(usesOf(await model(aRequest(), never))[0]?.argsText).toBe("{}");
  });

  test("that was cut off before the arguments of its tool use does not use the tool without any", async () => {
    const { model } = await aTestModel(() => ({ say: [{ use: "kb--read", args: "" }], stopReason: "max_tokens" }));
    expect(usesOf(await model(aRequest(), never))[0]?.argsText).toBe("");
  });

  test("that uses a tool nobody told of keeps the name it gave", async () => {
    const { model } = await aTestModel(() => ({
      say: [
        { use: "kb-read", args: "{}" },
        { use: "mail--send", args: "{}" },
      ],
    }));
    expect(usesOf(await model(aRequest(), never)).map(({ name }) => name)).toEqual(["kb-read", "mail.send"]);
  });

  test.each([
    [
      "max_tokens",
      "model_cut_off",
      "The answer of claude-test was cut off at 500 tokens; give the definition a higher maxOutputTokens",
    ],
    [
      "model_context_window_exceeded",
      "prompt_too_long",
      "The conversation and its answer are longer than claude-test takes",
    ],
    ["refusal", "model_refused", /^The model claude-test of 127\.0\.0\.1:\d+ declined to answer this conversation$/],
  ])("that stopped for %s is no answer", async (stopReason, code, message) => {
    const { model } = await aTestModel(() => ({ say: [{ text: "half an" }], stopReason }));
    const error = await model(aRequest(), never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code,
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });
});

describe("thinking", () => {
  test("is given back exactly as it came, before the uses it led to", async () => {
    const { server, model } = await aTestModel((_request, n) =>
      n === 0
        ? {
            say: [
              { think: "first ".repeat(30) },
              { redacted: "b64==" },
              { use: "kb--read", args: "{}" },
              { think: "then" },
              { use: "kb--read", args: "{}" },
            ],
          }
        : ok,
    );
    const reply = await model(aRequest(), never);
    const results = usesOf(reply).map(({ id }) => resultOf(id));
    await model(aRequest({ messages: [user(text("do")), assistant(...reply.content), user(...results)] }), never);
    expect(server.rejections).toEqual([]);
    expect(server.requests[1]?.messages[1]?.content.map(({ type }) => type)).toEqual([
      "thinking",
      "redacted_thinking",
      "tool_use",
      "thinking",
      "tool_use",
    ]);
  });

  test("of another provider's model is left out", async () => {
    const { server, model } = await aTestModel(() => ok);
    const other: Block = { type: "opaque", provider: "other", json: "{}" };
    await model(aRequest({ messages: [user(text("do")), assistant(other, text("well")), user(text("go on"))] }), never);
    expect(server.requests[0]?.messages[1]?.content).toEqual([{ type: "text", text: "well" }]);
  });

  test("whose beginning a summary stands for goes on without: with a budget the API wants the thought it began with", async () => {
    const models = new Map([["claude-test", { thinking: { type: "enabled", budget_tokens: 2_000 } as const }]]);
    const { server, model } = await aTestModel(() => ok, { models });
    const use = (id: string): Block => ({ type: "tool_use", id, name: "kb.read", argsText: "{}" });
    const chain = [assistant(use("a")), user(resultOf("a")), assistant(use("b")), user(resultOf("b"), text("hurry"))];
    await model(aRequest({ messages: [user(text("a summary")), ...chain] }), never);
    expect(server.requests[0]).toMatchObject({ max_tokens: 500, thinking: { type: "disabled" } });
    await model(
      aRequest({ messages: [user(text("a summary")), ...chain, assistant(text("well")), user(text("go on"))] }),
      never,
    );
    expect(server.requests[1]).toMatchObject({ thinking: { type: "enabled" } });
    expect(server.rejections).toEqual([]);
  });

  test("with a budget takes nothing from the room for the answer", async () => {
    const models = new Map([["claude-test", { thinking: { type: "enabled", budget_tokens: 2_000 } as const }]]);
    const { server, model } = await aTestModel(() => ok, { models });
    await model(aRequest(), never);
    expect(server.requests[0]).toMatchObject({
      max_tokens: 2_500,
      thinking: { type: "enabled", budget_tokens: 2_000 },
    });
  });
});

describe("what passes", () => {
  const broken = (how: "break" | "end" | "overloaded_error"): Answer => ({
    say: [{ text: "half of an answer that is never finished" }],
    stopAfter: { events: 5, with: how },
  });

  test.each<[string, Answer]>([
    ["429", { status: 429, type: "rate_limit_error", headers: { "retry-after": "0.01" } }],
    ["500", { status: 500, type: "api_error" }],
    ["529", { status: 529, type: "overloaded_error" }],
    ["409", { status: 409, type: "conflict_error" }],
    ["a 400 that says to try again", { status: 400, type: "odd", headers: { "x-should-retry": "true" } }],
    ["a connection that breaks in mid-stream", broken("break")],
    ["a stream that ends too soon", broken("end")],
    ["an overload in mid-stream", broken("overloaded_error")],
  ])("%s is asked again, and what was said until then is void", async (_what, answer) => {
    const { server, model, events } = await aTestModel((_request, n) => (n < 2 ? answer : ok));
    const { deltas, onDelta } = listen();
    const reply = await model(aRequest(), never, onDelta);
    expect(reply.content).toEqual([{ type: "text", text: "done" }]);
    expect(server.requests).toHaveLength(3);
    const last = deltas.findLastIndex(({ kind }) => kind === "started");
    expect(deltas.slice(last)).toEqual([{ kind: "started" }, { kind: "text", text: "done" }]);
    expect(deltas.filter(({ kind }) => kind === "started")).toHaveLength(3);
    expect(deltas.filter(({ kind }) => kind === "retried")).toEqual([
      { kind: "retried", reason: expect.stringMatching(/; asked once$/) },
      { kind: "retried", reason: expect.stringMatching(/; asked 2 times$/) },
    ]);
    expect(events).toEqual(
      [1, 2].map((attempt) => expect.objectContaining({ kind: "model.retried", runId: "run", attempt })),
    );
  });

  test("a refused connection is tried again", async () => {
    const { model } = await aTestModel(() => ok, {
      baseUrl: "http://127.0.0.1:1",
      retry: { forMs: 30, firstMs: 10, maxMs: 10 },
    });
    await expect(model(aRequest(), never)).rejects.toThrow(
      /^The model provider 127\.0\.0\.1:1 could not be reached or broke off; it was asked \d+ times within 0\.03 s$/,
    );
  });

  test("but not for longer than is allowed, and the error says how often, and the last request's id", async () => {
    const { server, model } = await aTestModel(
      () => ({ status: 529, type: "overloaded_error", message: "secret words" }),
      {
        retry: { forMs: 100, firstMs: 20, maxMs: 20 },
      },
    );
    const error: unknown = await model(aRequest(), never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({
      code: "model_unavailable",
      message: expect.stringMatching(
        /^The model provider 127\.0\.0\.1:\d+ answered status 529 \(overloaded_error\), request req_[\w-]+; it was asked \d+ times within 0\.1 s$/,
      ),
    });
    expect(server.requests.length).toBeGreaterThan(2);
  });

  test.each(["30", new Date(Date.now() + 30_000).toUTCString()])(
    "a provider that asks for %s is given it, up to the longest wait",
    async (retryAfter) => {
      const { model, events } = await aTestModel(
        (_request, n) =>
          n === 0 ? { status: 429, type: "rate_limit_error", headers: { "retry-after": retryAfter } } : ok,
        { retry: { forMs: 5_000, firstMs: 1, maxMs: 60 } },
      );
      await model(aRequest(), never);
      const [event] = events;
      expect(event?.kind === "model.retried" && event.waitMs).toBeGreaterThanOrEqual(60);
      expect(event?.kind === "model.retried" && event.waitMs).toBeLessThanOrEqual(66);
    },
  );

  test("the key is opened anew for every attempt, so one that was rotated meanwhile is used", async () => {
    const keys = ["sk-old", testKey];
    const { model } = await aTestModel(() => ok, {
      withKey: async (_request, body) => {
        const key = keys.shift() ?? "";
        if (key === "sk-old") throw new TypeError("fetch failed");
        return await body(key);
      },
    });
    expect((await model(aRequest(), never)).content).toEqual([{ type: "text", text: "done" }]);
  });
});

describe("a refusal", () => {
  test.each<[Answer, string, RegExp]>([
    [
      { status: 400, type: "invalid_request_error", message: "secret words" },
      "model_refused",
      /answered status 400 \(invalid_request_error\), request req_[\w-]+; the provider's own log says why/,
    ],
    [
      { status: 403, type: "permission_error", message: "secret words" },
      "model_refused",
      /status 403 .*check the key that is stored for llm\.anthropic/,
    ],
    [
      { status: 404, type: "not_found_error", message: "secret words" },
      "model_refused",
      /status 404 .*check the model's name/,
    ],
    [{ status: 503, type: "api_error", headers: { "x-should-retry": "false" } }, "model_refused", /status 503/],
    [{ status: 400, type: "<script>", message: "secret words" }, "model_refused", /answered status 400, request req_/],
    [
      { status: 400, type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" },
      "prompt_too_long",
      /^The conversation is longer than the model takes/,
    ],
    [{ status: 413, type: "request_too_large", message: "secret words" }, "prompt_too_long", /status 413/],
  ])("%j is not asked again and told in our words", async (answer, code, message) => {
    const { server, model, events } = await aTestModel(() => answer);
    const error = await model(aRequest(), never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "EngineError", code, message: expect.stringMatching(message) });
    expect(JSON.stringify([String(error), error, (error as Error).cause])).not.toMatch(/secret words|script/);
    expect(server.requests).toHaveLength(1);
    expect(events).toEqual([]);
  });

  test("of the key names the capability, and neither the key nor what the provider said of it", async () => {
    const { server, model } = await aTestModel(() => ok, { withKey: (_request, body) => body("sk-ant-wrong-key") });
    const error = await model(aRequest(), never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "model_refused",
      message: expect.stringMatching(/status 401 \(authentication_error\).*llm\.anthropic/),
    });
    expect(`${String(error)}${(error as Error).stack}`).not.toContain("sk-ant-wrong-key");
    expect(server.requests).toEqual([]);
  });

  test("of the capability is told in its own words", async () => {
    const withKey = () => Promise.reject(new CapabilityRefused("nobody stored a key for llm.anthropic"));
    const { model } = await aTestModel(() => ok, { withKey });
    await expect(model(aRequest(), never)).rejects.toMatchObject({
      code: "model_refused",
      message: "The model's key cannot be had: nobody stored a key for llm.anthropic",
    });
  });

  test("a fault of our own is not taken for the provider's", async () => {
    const fault = new RangeError("a bug");
    const { model, events } = await aTestModel(() => ok, { withKey: () => Promise.reject(fault) });
    await expect(model(aRequest(), never)).rejects.toBe(fault);
    expect(events).toEqual([]);
  });

  test("a redirect is not followed: nothing reaches whom it names", async () => {
    const { server } = await aTestModel(() => ok);
    const redirecting = createServer((_request, response) =>
      response.writeHead(307, { location: `${server.url}/v1/messages` }).end(),
    );
    await new Promise<void>((resolve) => redirecting.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void redirecting.close());
    const { model } = await aTestModel(() => ok, {
      baseUrl: `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`,
    });
    await expect(model(aRequest(), never)).rejects.toThrow("answered status 307");
    expect(server.requests).toEqual([]);
  });
});

describe("an abort", () => {
  const reason = new Error("the lease is lost");

  test("in mid-stream ends the request at once, and closes the connection", async () => {
    const abort = new AbortController();
    const { server, model } = await aTestModel(() => ({
      say: [{ text: "a long answer" }],
      stopAfter: { events: 4, with: "silence" },
    }));
    const asked = model(aRequest(), abort.signal, ({ kind }) => {
      if (kind === "text") abort.abort(reason);
    });
    await expect(asked).rejects.toBe(reason);
    await expect.poll(server.aborted).toBe(1);
    expect(server.requests).toHaveLength(1);
  });

  test("while waiting for the next attempt ends the wait", async () => {
    const abort = new AbortController();
    const { server, model } = await aTestModel(() => ({ status: 529, type: "overloaded_error" }), {
      retry: { forMs: 600_000, firstMs: 60_000, maxMs: 60_000 },
      report: () => abort.abort(reason),
    });
    await expect(model(aRequest(), abort.signal)).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  test("before the first attempt asks nobody", async () => {
    const { server, model } = await aTestModel(() => ok);
    await expect(model(aRequest(), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(server.requests).toEqual([]);
  });
});

describe("usage", () => {
  test("is what the server counted, with its cost at the model's prices", async () => {
    const { server, model } = await aTestModel(() => ok);
    const { usage } = await model(aRequest({ system: "be brief. ".repeat(100) }), never);
    const charged = sumOf(server.charges);
    expect(usage).toEqual({
      inputTokens: charged.input_tokens + charged.cache_creation_input_tokens + charged.cache_read_input_tokens,
      outputTokens: charged.output_tokens,
      costMicros: Math.round(
        (charged.input_tokens * testPrices.inputMicros +
          charged.output_tokens * testPrices.outputMicros +
          charged.cache_creation_input_tokens * testPrices.cacheWriteMicros +
          charged.cache_read_input_tokens * testPrices.cacheReadMicros) /
          1_000_000,
      ),
    });
    expect(charged.cache_creation_input_tokens).toBeGreaterThan(200);
  });

  test("of a model without prices costs nothing, which is said once", async () => {
    const { model, events } = await aTestModel(() => ok, { models: new Map() });
    for (let turn = 0; turn < 3; turn += 1)
      expect((await model(aRequest(), never)).usage).toMatchObject({ outputTokens: expect.any(Number), costMicros: 0 });
    expect(events).toEqual([{ kind: "model.price_unknown", model: "claude-test" }]);
  });

  test("of the next turn is mostly read from the cache, however many calls lie between", async () => {
    const many = Array.from({ length: 30 }, (_, n) => ({ use: "kb--read", args: `{"page":${n}}` }));
    const { server, model } = await aTestModel((_request, n) => (n === 0 ? { say: many } : ok));
    const first = aRequest({ system: "be brief. ".repeat(1_000) });
    const reply = await model(first, never);
    const before = sumOf(server.charges);
    const results = usesOf(reply).map(({ id }) => resultOf(id));
    await model({ ...first, messages: [...first.messages, assistant(...reply.content), user(...results)] }, never);
    expect(server.rejections).toEqual([]);
    expect(sumOf(server.charges).cache_read_input_tokens).toBe(before.cache_creation_input_tokens);
  });
});

test("another run of the same definition reads its instructions and tools from the cache", async () => {
  const { server, model } = await aTestModel(() => ok);
  const system = "be brief. ".repeat(1_000);
  await model(aRequest({ system }), never);
  await model(aRequest({ system, messages: [user(text("something else"))] }), never);
  expect(server.charges[1]?.cache_read_input_tokens).toBeGreaterThan(2_500);
});

test("text that is no Unicode is made so: the API refuses the whole request for one half of a pair", async () => {
  const { server, model } = await aTestModel(() => ok);
  const use: Block = {
    type: "tool_use",
    id: "toolu_1",
    name: "kb.\ud800",
    argsText: '{"\\ud83d": "\\udc00", "b\\\\ud800": "\\u0000"}',
  };
  const messages = [user(text("half \ud83d, whole \ud83d\ude42")), assistant(use), user(resultOf("toolu_1", "\udfff"))];
  await model(aRequest({ messages, system: "\udc00" }), never);
  expect(server.rejections).toEqual([]);
  expect(server.bodies[0]).toContain("half \ufffd, whole \ud83d\ude42");
  expect(server.bodies[0]).toContain('{"\ufffd":"\ufffd","b\\\\ud800":"\\u0000"}');
});

test("a tool whose arguments are no plain object is told of in words", async () => {
  const { server, model } = await aTestModel(() => ok);
  const schemas = [{ anyOf: [{ type: "object" }] }, { type: "object", oneOf: [] }, { type: "string" }, {}];
  const tools = schemas.map((inputSchema, n) => ({ name: `odd.${n}`, description: "odd", inputSchema }));
  await model(aRequest({ tools }), never);
  expect(server.rejections).toEqual([]);
  expect(server.requests[0]?.tools?.map(({ description }) => description)).toEqual(
    schemas.map((schema) => `odd\nIts arguments, as JSON Schema: ${JSON.stringify(schema)}`),
  );
});

test("a result without a word says what it is", async () => {
  const { server, model } = await aTestModel(() => ok);
  const uses = ["a", "b"].map((id): Block => ({ type: "tool_use", id, name: "kb.read", argsText: "{}" }));
  const results: Block[] = [
    resultOf("a", " "),
    { type: "tool_result", toolUseId: "b", content: "", isError: true, code: "timeout" },
  ];
  await model(aRequest({ messages: [user(text("do")), assistant(...uses), user(...results)] }), never);
  expect(server.requests[0]?.messages[2]?.content).toMatchObject([
    { content: "(no output)" },
    { content: "(timeout)", is_error: true },
  ]);
});

test("without instructions the tools are what is cached, and without tools nothing is refused", async () => {
  const { server, model } = await aTestModel(() => ok);
  await model(aRequest({ system: "  " }), never);
  await model(aRequest({ system: "", tools: [] }), never);
  expect(server.requests[0]).toMatchObject({ tools: [{ cache_control: { type: "ephemeral" } }] });
  expect(server.requests[0]).not.toHaveProperty("system");
  expect(server.rejections).toEqual([]);
});
