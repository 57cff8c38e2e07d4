import { expect, test } from "vitest";
import { EngineError } from "./engine-error.ts";
import type { Engine } from "./engine.ts";
import type { Message } from "./model.ts";
import type { Scenario } from "./scripted-model.ts";
import { summarizeContext } from "./summarize-context.ts";
import { crash, crashAt, outcomeOf, steer, stopPoint } from "./testing/driver.ts";
import { driveOut, driveRun, makeEngine, readingTool, takeRun, type TestEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["look", "summarize_context"], maxOutputTokens: 100 };
const look = readingTool("look", () => ({ kind: "done", content: "words ".repeat(100) }));

/** Whether a request asks for a summary. */
function isForSummary(messages: readonly Message[]): boolean {
  const last = messages.at(-1)?.content.at(-1);
  return last?.type === "text" && last.text.includes("Answer with the summary only");
}

/** Looks five times as far as it remembers, then says what it was first told. */
const looking: Scenario = ({ request, results, said }) => {
  if (isForSummary(request.messages)) return { say: `seen ${seenSo(said) + results.length} times` };
  const seen = seenSo(said) + results.length;
  return seen < 5 ? { use: [{ tool: "look", args: {} }] } : { say: `${seen}: ${said[0] ?? ""}` };
};

function seenSo(said: readonly string[]): number {
  return Number(/seen (\d+) times/.exec(said[0] ?? "")?.[1] ?? 0);
}

/** An engine whose model takes `contextTokens`; a prompt is some 200 tokens a look. */
function anEngine(contextTokens: number, over: Partial<Engine> = {}): TestEngine {
  return makeEngine(sql, [look, summarizeContext], looking, { contextTokensOf: () => contextTokens, ...over });
}

async function logOf(runId: string): Promise<string[]> {
  const rows = await sql<{ kind: string }[]>`
    select kind from run_log where run_id = ${runId} and kind in ('user', 'assistant', 'summary') order by seq`;
  return rows.map(({ kind }) => kind);
}

test("a summary takes the place of what is older than the last turn, and the run goes on from it", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, spec));
  const prompts: string[] = [];
  const plain = anEngine(1_000);
  const model: Engine["model"] = (request, signal) => {
    if (!isForSummary(request.messages)) prompts.push(JSON.stringify(request.messages));
    return plain.model(request, signal);
  };
  expect(await driveRun({ ...plain, model }, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toMatch(/^completed: 5: \[Summary of the conversation so far.*\nseen 3 times$/s);
  expect(await logOf(runId)).toEqual([
    "user",
    ...Array<string>(4).fill("assistant"),
    "summary",
    "assistant",
    "assistant",
  ]);
  expect(Math.max(...prompts.map((prompt) => prompt.length / 4))).toBeLessThan(1_000);
});

test("where the model's limit is not known nothing is summarized", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, spec));
  await driveRun(anEngine(1_000, { contextTokensOf: () => undefined }), runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: 5: please do");
});

test("a worker that dies while a summary is made leaves nothing; the next one makes it", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, spec));
  const stopped = stopPoint();
  const plain = anEngine(1_000);
  const model: Engine["model"] = async (request, signal) => {
    if (isForSummary(request.messages)) await stopped.stay();
    return await plain.model(request, signal);
  };
  await crashAt({ ...plain, model }, await takeRun(plain, runId), stopped.reached);
  expect(await logOf(runId)).not.toContain("summary");
  // The dead one's answer comes after all, and finds that the run is not its own.
  stopped.letGo();
  expect(await driveRun(plain, runId)).toBe("ended");
  expect((await logOf(runId)).filter((kind) => kind === "summary")).toHaveLength(1);
  expect(await outcomeOf(sql, runId)).toMatch(/^completed: 5: /);
});

test("a worker that dies after the summary was recorded does not have it made again", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, spec));
  let summaries = 0;
  const stopped = stopPoint();
  const plain = anEngine(1_000);
  const counting: Engine["model"] = async (request, signal) => {
    if (isForSummary(request.messages)) summaries += 1;
    else if (summaries > 0) await stopped.stay();
    return await plain.model(request, signal);
  };
  const held = await takeRun(plain, runId);
  await crashAt({ ...plain, model: counting }, held, stopped.reached);
  held.abort.abort();
  stopped.letGo();
  expect(await driveRun({ ...plain, model: counting }, runId)).toBe("ended");
  expect(summaries).toBe(1);
  expect(await outcomeOf(sql, runId)).toMatch(/^completed: 5: /);
});

test("a steer that comes while a summary is made is in the next prompt, after the summary", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const heard: string[] = [];
  const plain = anEngine(1_000);
  let isSummarized = false;
  const model: Engine["model"] = async (request, signal) => {
    if (isForSummary(request.messages)) {
      await steer(sql, world, runId, "be quick");
      isSummarized = true;
    } else if (isSummarized && heard.length === 0) {
      heard.push(
        ...request.messages.flatMap(({ content }) =>
          content.map((block) => (block.type === "text" ? block.text : block.type)),
        ),
      );
    }
    return await plain.model(request, signal);
  };
  expect(await driveRun({ ...plain, model }, runId)).toBe("ended");
  expect(heard).toEqual([expect.stringContaining("seen 3 times"), "tool_use", "tool_result", "be quick"]);
});

test("a lost lease ends it: nothing is recorded, and the run is not asked about again", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, spec));
  const plain = anEngine(1_000);
  const model: Engine["model"] = async (request, signal) => {
    if (isForSummary(request.messages)) await crash(sql, runId);
    return await plain.model(request, signal);
  };
  expect(await driveOut({ ...plain, model }, await takeRun(plain, runId))).toBe("lost");
  expect(await logOf(runId)).not.toContain("summary");
});

test("a model that gives no text for a summary fails the run, and the reason says what it was asked", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, spec));
  const plain = anEngine(1_000);
  const model: Engine["model"] = async (request, signal) =>
    isForSummary(request.messages)
      ? { content: [], usage: { inputTokens: 1, outputTokens: 1, costMicros: 0 } }
      : await plain.model(request, signal);
  await driveRun({ ...plain, model }, runId);
  expect(await outcomeOf(sql, runId)).toBe(
    "failed: error: The model was asked to summarize the conversation so far, to make room, and gave no text",
  );
});

test("what a summary cost counts towards the run's limits", async () => {
  const runId = await givenRun(sql, await makeWorld(sql, { ...spec, limits: { costMicros: 1_000 } }));
  const plain = anEngine(1_000);
  const model: Engine["model"] = async (request, signal) => {
    const reply = await plain.model(request, signal);
    return isForSummary(request.messages) ? { ...reply, usage: { ...reply.usage, costMicros: 5_000 } } : reply;
  };
  await driveRun({ ...plain, model }, runId);
  expect(await outcomeOf(sql, runId)).toBe("failed: limit:costMicros");
});

test("a turn whose results together are longer than the model takes is shown to it shortened, and the run goes on", async () => {
  const world = await makeWorld(sql, spec);
  const words = readingTool("look", () => ({ kind: "done", content: "words ".repeat(5_000) }));
  const uses = (count: number) => ({ use: Array.from({ length: count }, () => ({ tool: "look", args: {} })) });
  const scenario: Scenario = ({ request, results, said }) => {
    if (isForSummary(request.messages)) return { say: "looked at much" };
    if (results.length === 30) return uses(1);
    return results.length === 1 ? { say: said.join("|") } : uses(30);
  };
  const plain = makeEngine(sql, [words], scenario, { contextTokensOf: () => 200_000 });
  const model: Engine["model"] = async (request, signal) => {
    if (JSON.stringify(request.messages).length / 4 > 200_000)
      throw new EngineError("prompt_too_long", "the prompt is too long");
    return await plain.model(request, signal);
  };
  const runId = await givenRun(sql, world);
  expect(await driveRun({ ...plain, model }, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toMatch(/^completed: .*looked at much$/s);
});
