import { expect, test } from "vitest";
import { z } from "zod";
import { commitWithin } from "./commit.ts";
import { answerQuestion, type AnswerOutcome } from "./commits/answer-question.ts";
import { expireWaits } from "./commits/expire-waits.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, outcomeOf } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { countRows, moveDeadlines, runRow } from "./testing/rows.ts";
import { defineTool, type Question } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["ask", "look", "send"] };

/** A question with what the test gives it. */
const ask = defineTool<Partial<Question>>({
  name: "ask",
  description: "asks a person",
  schema: z.looseObject({}),
  neverGated: true,
  effect: "question",
  question: (asked) => ({
    question: "which one?",
    options: [],
    context: undefined,
    timeoutMs: undefined,
    defaultAnswer: undefined,
    ...asked,
  }),
});
const tools = [
  ask,
  readingTool("look", () => ({ kind: "done", content: "seen" })),
  sendingTool("send", () => ({ kind: "done", content: "sent" })),
];

const askOnce =
  (asked: Partial<Question>): Scenario =>
  ({ results }) =>
    results.length === 0
      ? { use: [{ tool: "ask", args: asked }] }
      : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

async function givenQuestion(asked: Partial<Question>, specOver: object = {}) {
  const world = await makeWorld(sql, { ...spec, ...specOver });
  const engine = makeEngine(sql, tools, askOnce(asked));
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  const [question] = await sql<{ id: string }[]>`select id from questions where run_id = ${runId}`;
  return { world, engine, runId, questionId: question?.id ?? "" };
}

async function reply(
  world: World,
  runId: string,
  questionId: string,
  answer: string | undefined,
): Promise<AnswerOutcome> {
  const { workspaceId, operator: userId } = world;
  return await commitWithin(sql, answerQuestion, { runId, questionId, workspaceId, userId, answer });
}

test("a question stands in the queue with its options, and the answer is the call's result", async () => {
  const { world, engine, runId, questionId } = await givenQuestion({
    options: ["red", "blue"],
    context: "the new logo",
  });
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "question", is_leased: false });
  const [card] = await sql`
    select q.question, q.options, q.context, t.kind, t.title, t.status from questions q join tasks t on t.id = q.task_id where q.run_id = ${runId}`;
  expect(card).toEqual({
    question: "which one?",
    options: ["red", "blue"],
    context: "the new logo",
    kind: "question",
    title: "which one?",
    status: "open",
  });
  expect((await reply(world, runId, questionId, "blue")).kind).toBe("answered");
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toBe("completed: ok blue");
});

test("a dismissed question has the text for that as its result", async () => {
  const { world, engine, runId, questionId } = await givenQuestion({});
  expect((await reply(world, runId, questionId, undefined)).kind).toBe("answered");
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok dismissed without an answer");
  const [card] = await sql`select status from tasks where run_id = ${runId}`;
  expect(card).toEqual({ status: "dismissed" });
});

test.each([
  ["its default", { defaultAnswer: "grey" }, "completed: ok grey", "expired; the default was used: grey"],
  ["the text for that", {}, "completed: ok nobody answered in time", "expired; the default was used: none"],
])(
  "a question that nobody answered in time has %s as its result, and its card says expired",
  async (_what, over, outcome, resolution) => {
    const { world, engine, runId, questionId } = await givenQuestion({ timeoutMs: 60_000, ...over });
    await moveDeadlines(sql, runId, -1);
    expect(await expireWaits(sql, 100)).toContain(runId);
    expect((await reply(world, runId, questionId, "too late")).kind).toBe("expired");
    await driveRun(engine, runId);
    expect(await outcomeOf(sql, runId)).toBe(outcome);
    const [card] = await sql`select status, resolution from tasks where run_id = ${runId}`;
    expect(card).toEqual({ status: "expired", resolution });
  },
);

test("a question is asked under every approval policy without an approval of its own, and its answer permits nothing", async () => {
  const { world, engine, runId, questionId } = await givenQuestion(
    { question: "may I send it? yes = approved" },
    { approvalPolicy: "all" },
  );
  expect(await countRows(sql, "approvals", runId)).toBe(0);
  await reply(world, runId, questionId, "yes, approved");
  const asking = makeEngine(sql, tools, ({ results }) =>
    results.length < 2 ? { use: [{ tool: "send", args: {} }] } : { say: "ok" },
  );
  expect(await driveRun(asking, runId)).toBe("parked");
  expect(await runRow(sql, runId)).toMatchObject({ waits_on: "approval" });
  expect(engine.events).toEqual([]);
});

test("a question is shown without what people's eyes or Postgres cannot take, and what is stored exactly is the call", async () => {
  const { runId } = await givenQuestion({
    question: "a\u0000b\ud800",
    options: ["\u0000"],
    context: "\udc00",
    defaultAnswer: "c\u0000",
  });
  const [shown] = await sql`select question, options, context, default_answer from questions where run_id = ${runId}`;
  expect(shown).toEqual({
    question: "a\u2400b\ufffd",
    options: ["\u2400"],
    context: "\ufffd",
    default_answer: "c\u2400",
  });
  const [call] = await sql<{ args: string }[]>`select args from tool_calls where run_id = ${runId}`;
  expect(JSON.parse(call?.args ?? "")).toMatchObject({ question: "a\u0000b\ud800" });
});

test("AZ52: parallel calls that come to nothing for different reasons have different codes, and each its result", async () => {
  const world = await makeWorld(sql, { ...spec, toolset: ["look", "send"] });
  const engine = makeEngine(
    sql,
    [...tools, sendingTool("post", () => ({ kind: "done", content: "" }))],
    ({ results }) =>
      results.length === 0
        ? {
            use: [
              { tool: "look", args: "not an object" },
              { tool: "post", args: {} },
              { tool: "nothing", args: {} },
              { tool: "look", args: {} },
            ],
          }
        : { say: results.map(({ code }) => code ?? "ok").join(" ") },
  );
  const runId = await givenRun(sql, world, { grants: [] });
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: invalid_args tool_not_available tool_not_available ok");
  expect((await callsOf(sql, runId)).every(({ result }) => result !== null)).toBe(true);
});
