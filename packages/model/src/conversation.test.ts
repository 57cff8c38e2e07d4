import type { Engine } from "@countersign/engine/engine.ts";
import { summarizeContext } from "@countersign/engine/summarize-context.ts";
import { callsOf, crashAt, decidePending, outcomeOf, steer } from "@countersign/engine/testing/driver.ts";
import { driveRun, makeEngine, readingTool, sendingTool, takeRun } from "@countersign/engine/testing/engine.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { countRows } from "@countersign/engine/testing/rows.ts";
import { expect, test } from "vitest";
import { costMicrosOf } from "./model-facts.ts";
import type { RequestBody } from "./testing/check-request.ts";
import { blocksOf } from "./testing/check-request.ts";
import { type Counted, sumOf } from "./testing/count-tokens.ts";
import type { Answer, Said } from "./testing/messages-server.ts";
import { aTestModel, testPrices } from "./testing/model.ts";

const { sql } = await engineDatabase();

const spec = {
  name: "agent",
  model: "claude-test",
  toolset: ["kb.look", "mail.post", "summarize_context"],
  instructions: "look, then write",
};

/** How often the model has spoken in a conversation. */
function turnOf({ messages }: RequestBody): number {
  return messages.filter(({ role }) => role === "assistant").length;
}

/** The texts of a person in a request, and of a summary. */
function textsOf({ messages }: RequestBody): string[] {
  const users = messages.filter(({ role }) => role === "user");
  return blocksOf(users).flatMap((block) => (block.type === "text" ? [block.text] : []));
}

async function usageOf(runId: string): Promise<object> {
  const [row] = await sql`select input_tokens, output_tokens, cost_micros from runs where id = ${runId}`;
  return { ...row };
}

/** What a run must have recorded where these are all the answers it got. */
function recordedOf(charges: readonly Counted[]): object {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = sumOf(charges);
  const costs = charges.map((charge) =>
    costMicrosOf(
      {
        input: charge.input_tokens,
        output: charge.output_tokens,
        cacheWrite: charge.cache_creation_input_tokens,
        cacheRead: charge.cache_read_input_tokens,
      },
      testPrices,
    ),
  );
  return {
    input_tokens: input_tokens + cache_creation_input_tokens + cache_read_input_tokens,
    output_tokens,
    cost_micros: costs.reduce((sum, cost) => sum + cost, 0),
  };
}

test("a conversation with parallel calls, a gate, a steer, a denial, a crash in mid-stream, a rate limit and overloads is never refused, and costs what the server counted", async () => {
  const world = await makeWorld(sql, spec);
  const silent = { events: 6, with: "silence" } as const;
  let isCrashed = false;
  let broken = 0;
  const turns: Said[][] = [
    [
      { think: "two pages, and I write at once" },
      { text: "I look at both pages." },
      { use: "kb--look", args: '{"page": 1}' },
      { use: "mail--post", args: '{"to": "ann@example.com"}' },
      { use: "kb--look", args: '{"page": 2, ' },
    ],
    [{ redacted: "bm90aGluZw==" }, { think: "now to Ben" }, { use: "mail--post", args: '{"to": "ben@example.com"}' }],
    [{ think: "denied; I look once more" }, { text: "One more look." }, { use: "kb--look", args: '{"page": 3}' }],
    [{ text: "Ann has mail, Ben has not." }],
  ];
  const { server, model, events } = await aTestModel((request, n): Answer => {
    if (n === 0) return { status: 429, type: "rate_limit_error", headers: { "retry-after": "0.02" } };
    if (n === 1) return { status: 529, type: "overloaded_error" };
    const turn = turnOf(request);
    const say = turns[turn] ?? [];
    if (turn === 2 && !isCrashed) return { say, stopAfter: silent };
    if (turn === 3 && broken < 2) {
      broken += 1;
      return { say, stopAfter: { events: 5, with: broken === 1 ? "break" : "overloaded_error" } };
    }
    return { say };
  });
  const posted: unknown[] = [];
  const look = readingTool("kb.look", () => ({ kind: "done", content: "seen" }));
  const post = sendingTool("mail.post", (args) => {
    posted.push(args["to"]);
    return { kind: "done", content: "posted" };
  });
  const heard = Promise.withResolvers<void>();
  const listening: Engine["model"] = (request, signal, onDelta) =>
    model(request, signal, (delta) => {
      onDelta?.(delta);
      if (delta.kind === "thinking" && server.requests.length === 5) heard.resolve();
    });
  const engine = makeEngine(sql, [look, post, summarizeContext], () => ({}), { model: listening });

  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  await steer(sql, world, runId, "and be quick");
  await decidePending(sql, world, runId, "approve");
  expect(await driveRun(engine, runId)).toBe("parked");
  await decidePending(sql, world, runId, "deny", { feedback: "not to Ben" });

  const held = await takeRun(engine, runId);
  await crashAt(engine, held, heard.promise);
  held.abort.abort();
  isCrashed = true;
  expect(await driveRun(engine, runId)).toBe("ended");

  expect(await outcomeOf(sql, runId)).toBe("completed: Ann has mail, Ben has not.");
  expect(server.rejections).toEqual([]);
  expect(posted).toEqual(["ann@example.com"]);
  expect((await callsOf(sql, runId)).map(({ status, code }) => code ?? status)).toEqual([
    "done",
    "done",
    "invalid_args",
    "user_denied",
    "done",
  ]);
  const last = server.requests.at(-1);
  expect(last?.messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
    ["text"],
    ["thinking", "text", "tool_use", "tool_use", "tool_use"],
    ["tool_result", "tool_result", "tool_result", "text"],
    ["redacted_thinking", "thinking", "tool_use"],
    ["tool_result"],
    ["thinking", "text", "tool_use"],
    ["tool_result"],
  ]);
  expect(JSON.stringify(last?.messages[4])).toContain("not to Ben");
  expect(events.filter(({ kind }) => kind === "model.retried")).toHaveLength(4);
  expect(await usageOf(runId)).toEqual(recordedOf(server.charges));
  expect(sumOf(server.charges).cache_read_input_tokens).toBeGreaterThan(0);
  expect(await countRows(sql, "deltas", runId)).toBe(0);
});

test("a long conversation is summarized before it is too long, goes on from there without one refusal, and its log stays whole", async () => {
  const world = await makeWorld(sql, { ...spec, maxOutputTokens: 500 });
  const pages = 24;
  const { server, model } = await aTestModel((request): Answer => {
    const texts = textsOf(request);
    if (texts.at(-1)?.includes("Answer with the summary only") === true)
      return { say: [{ think: "what matters" }, { text: `seen up to page ${lastPageOf(request)}` }] };
    const seen = lastPageOf(request);
    if (seen === pages) return { say: [{ text: `all ${seen} pages seen` }] };
    return { say: [{ think: `page ${seen + 1}` }, { use: "kb--look", args: JSON.stringify({ page: seen + 1 }) }] };
  });
  const look = readingTool("kb.look", () => ({ kind: "done", content: "words of a page. ".repeat(60) }));
  const engine = makeEngine(sql, [look, summarizeContext], () => ({}), { model, contextTokensOf: () => 3_000 });

  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toBe(`completed: all ${pages} pages seen`);
  expect(server.rejections).toEqual([]);
  const prompts = server.charges.map(
    (charge) => charge.input_tokens + charge.cache_read_input_tokens + charge.cache_creation_input_tokens,
  );
  expect(Math.max(...prompts)).toBeLessThan(3_000);
  expect(await usageOf(runId)).toEqual(recordedOf(server.charges));
  const kinds = await sql<{ kind: string; n: number }[]>`
    select kind, count(*)::int as n from run_log where run_id = ${runId} group by kind order by kind`;
  expect(kinds.find(({ kind }) => kind === "assistant")?.n).toBe(pages + 1);
  expect(kinds.find(({ kind }) => kind === "summary")?.n).toBeGreaterThan(2);
});

test("a model that finds the conversation too long gets a summary instead, however little was expected of it", async () => {
  const world = await makeWorld(sql, spec);
  const tooLong: Answer = { status: 400, type: "invalid_request_error", message: "prompt is too long: 201 > 200" };
  let refused = 0;
  const { server, model } = await aTestModel((request): Answer => {
    if (textsOf(request).at(-1)?.includes("Answer with the summary only") === true) {
      const isShort = blocksOf(request.messages).every((block) => JSON.stringify(block).length < 4_000);
      return isShort ? { say: [{ text: "seen up to page 2" }] } : tooLong;
    }
    const seen = lastPageOf(request);
    if (seen === 3 && turnOf(request) === 3) {
      refused += 1;
      return tooLong;
    }
    return seen === 3
      ? { say: [{ text: "done" }] }
      : { say: [{ use: "kb--look", args: JSON.stringify({ page: seen + 1 }) }] };
  });
  const look = readingTool("kb.look", () => ({ kind: "done", content: "word ".repeat(2_000) }));
  const engine = makeEngine(sql, [look, summarizeContext], () => ({}), { model });
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: done");
  expect(refused).toBe(1);
  expect(server.rejections).toEqual([]);
});

test("an agent that asks for a summary goes on from it in its next turn, with what it asked to keep", async () => {
  const world = await makeWorld(sql, spec);
  const { server, model } = await aTestModel((request): Answer => {
    const texts = textsOf(request);
    if (texts.at(-1)?.includes("Above all, keep: page one") === true) return { say: [{ text: "one was read" }] };
    if (texts.some((said) => said.includes("one was read"))) return { say: [{ text: "I remember" }] };
    return turnOf(request) === 0
      ? { say: [{ think: "a" }, { use: "kb--look", args: '{"page":1}' }] }
      : { say: [{ think: "b" }, { use: "summarize_context", args: '{"focus":"page one"}' }] };
  });
  const look = readingTool("kb.look", () => ({ kind: "done", content: "seen" }));
  const engine = makeEngine(sql, [look, summarizeContext], () => ({}), { model });
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: I remember");
  expect(server.rejections).toEqual([]);
  expect(server.requests.at(-1)?.messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
    ["text"],
    ["thinking", "tool_use"],
    ["tool_result"],
  ]);
});

/** The last page that was looked at, as a request shows or its summary says. */
function lastPageOf({ messages }: RequestBody): number {
  const shown = blocksOf(messages).flatMap((block) => {
    if (block.type === "tool_use") return [Number(block.input["page"] ?? 0)];
    return block.type === "text"
      ? [...block.text.matchAll(/seen up to page (\d+)/g)].map((found) => Number(found[1]))
      : [];
  });
  return Math.max(0, ...shown);
}
