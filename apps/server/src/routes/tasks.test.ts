import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aCall, aTurn, claimRun, givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import type { Sql } from "@countersign/db/connect.ts";
import type { World } from "@countersign/engine/testing/fixtures.ts";
import { v7 as newId } from "uuid";
import { afterAll, expect, test } from "vitest";
import { type Answer, givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const seen = { headers: { "if-match": '"1"' }, body: { argsDigest: "hash-of-args" } };

async function givenQuestion(
  on: Sql,
  world: World,
  timeoutMs?: number,
): Promise<{ runId: string; callId: string; taskId: string; questionId: string }> {
  const runId = await givenRun(on, world);
  const hold = await claimRun(on, runId);
  const taskId = newId();
  const questionId = newId();
  const call = aCall({
    tool: "human.ask",
    effect: "question",
    next: {
      kind: "question",
      questionId,
      card: { taskId, title: "Which one?", body: "{}" },
      question: {
        question: "Which one?",
        options: ["left", "right"],
        context: undefined,
        timeoutMs,
        defaultAnswer: undefined,
      },
    },
  });
  await commitWithin(on, recordTurn, aTurn(hold, { calls: [call] }));
  return { runId, callId: call.id, taskId, questionId };
}

async function cardOf(approvalId: string): Promise<string> {
  const [row] = await sql<{ id: string }[]>`select id from tasks where approval_id = ${approvalId}`;
  return row?.id ?? "";
}

const act = async (token: string, taskId: string, verb: string, options = {}): Promise<Answer> =>
  await send(server, token, "POST", `/v1/tasks/${taskId}/${verb}`, options);

test("the queue shows open tasks and cards, oldest first, each card with what it stands for; sections narrow it", async () => {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const { approvalId } = await givenGatedRun(sql, world);
  const question = await givenQuestion(sql, world);
  const plain = await send(server, tokens.operator, "POST", "/v1/tasks", {
    body: { title: "buy paper", section: "errands" },
  });
  const { body } = await send(server, tokens.viewer, "GET", "/v1/tasks");
  expect(body).toMatchObject({
    tasks: [
      {
        kind: "approval",
        section: "needs-confirm",
        approval: { id: approvalId, status: "pending", version: 1, argsDigest: "hash-of-args" },
        question: null,
      },
      {
        id: question.taskId,
        kind: "question",
        approval: null,
        question: { status: "open", question: "Which one?", options: ["left", "right"] },
      },
      { kind: "task", title: "buy paper", run: null, approval: null, question: null },
    ],
    nextCursor: null,
  });
  const section = await send(server, tokens.viewer, "GET", "/v1/tasks?section=errands");
  expect(section.body).toMatchObject({ tasks: [{ id: plain.body["id"] }] });
  const first = await send(server, tokens.viewer, "GET", "/v1/tasks?limit=2");
  const rest = await send(server, tokens.viewer, "GET", `/v1/tasks?limit=2&cursor=${String(first.body["nextCursor"])}`);
  expect(rest.body).toMatchObject({ tasks: [{ title: "buy paper" }], nextCursor: null });
});

test("confirming a card approves, dismissing it denies, both on what was seen", async () => {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const yes = await givenGatedRun(sql, world);
  const no = await givenGatedRun(sql, world);
  const yesCard = await cardOf(yes.approvalId);
  const noCard = await cardOf(no.approvalId);
  for (const verb of ["confirm", "dismiss"]) {
    expect(await act(tokens.approver, yesCard, verb)).toMatchObject({
      status: 428,
      body: { code: "precondition_required" },
    });
    expect(await act(tokens.approver, yesCard, verb, { ...seen, headers: { "if-match": '"7"' } })).toMatchObject({
      status: 412,
      body: { code: "stale" },
    });
    expect(await act(tokens.operator, yesCard, verb, seen)).toMatchObject({
      status: 403,
      body: { code: "not_an_approver" },
    });
  }
  expect(await act(tokens.approver, yesCard, "confirm", seen)).toMatchObject({
    status: 200,
    body: { status: "done", resolution: "approve", approval: { status: "approved" } },
  });
  expect(await act(tokens.approver, yesCard, "confirm", seen)).toMatchObject({ status: 200 });
  expect(await act(tokens.otherApprover, yesCard, "dismiss", seen)).toMatchObject({
    status: 409,
    body: { code: "already_decided", settlement: { by: "Abe Approver", answer: "approve" } },
  });
  expect(
    await act(tokens.approver, noCard, "dismiss", {
      ...seen,
      body: { ...seen.body, feedback: "not now" },
    }),
  ).toMatchObject({ status: 200, body: { resolution: "deny", approval: { feedback: "not now" } } });
});

test("a question is answered or dismissed by an operator; later answers are told who was first", async () => {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const asked = await givenQuestion(sql, world);
  const answer = (token: string, text: string) => act(token, asked.taskId, "answer", { body: { answer: text } });
  expect(await answer(tokens.viewer, "left")).toMatchObject({ status: 403 });
  const rings = server.rings();
  expect(await answer(tokens.operator, "left")).toMatchObject({
    status: 200,
    body: {
      status: "done",
      question: { status: "answered", answer: "left", answeredBy: { name: "Olga Operator" } },
    },
  });
  expect(server.rings()).toBe(rings + 1);
  expect(await answer(tokens.operator, "left")).toMatchObject({ status: 200 });
  expect(await answer(tokens.admin, "right")).toMatchObject({
    status: 409,
    body: { code: "already_decided", settlement: { by: "Olga Operator", answer: "left" } },
  });
  const [call] = await sql`select status, result from tool_calls where id = ${asked.callId}`;
  expect(call).toEqual({ status: "done", result: '"left"' });

  const other = await givenQuestion(sql, world);
  expect(await act(tokens.operator, other.taskId, "dismiss")).toMatchObject({
    status: 200,
    body: { status: "dismissed", question: { status: "dismissed" } },
  });
});

test("a question is refused with 410 from its deadline on, with 423 under a kill, with 409 after its run", async () => {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const late = await givenQuestion(sql, world, 3_600_000);
  await sql`update questions set expires_at = clock_timestamp() - interval '1 second' where id = ${late.questionId}`;
  const body = { answer: "left" };
  expect(await act(tokens.operator, late.taskId, "answer", { body })).toMatchObject({
    status: 410,
    body: { code: "expired", settlement: { status: "expired" } },
  });
  expect((await send(server, tokens.viewer, "GET", `/v1/tasks/${late.taskId}`)).body).toMatchObject({
    status: "expired",
    question: { status: "expired" },
  });

  const held = await givenQuestion(sql, world);
  const scope = { scope: "run", id: held.runId };
  await send(server, tokens.admin, "POST", "/v1/kill", { body: { ...scope, reason: "drill" } });
  expect(await act(tokens.operator, held.taskId, "answer", { body })).toMatchObject({
    status: 423,
    body: {
      code: "killed",
      detail: expect.stringContaining('Ada Admin threw it: "drill". Nothing is answered') as string,
    },
  });
  expect((await send(server, tokens.viewer, "GET", `/v1/tasks/${held.taskId}`)).body).toMatchObject({
    question: { heldBy: { scope: "run", reason: "drill" } },
  });
  await send(server, tokens.admin, "POST", "/v1/lift", { body: scope });
  await send(server, tokens.operator, "POST", `/v1/runs/${held.runId}/cancel`);
  expect(await act(tokens.operator, held.taskId, "answer", { body })).toMatchObject({
    status: 409,
    body: { code: "already_closed", settlement: { status: "canceled" } },
  });
});

test("a plain task is created once per key, done or dismissed by one, and its end is told to the next", async () => {
  const { tokens } = await givenPeople(sql);
  const create = (body: object, key?: string) =>
    send(server, tokens.operator, "POST", "/v1/tasks", {
      body,
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
    });
  const first = await create({ title: "call Bob" }, "t1");
  expect(first).toMatchObject({
    status: 200,
    body: {
      kind: "task",
      status: "open",
      section: "up-next",
      createdBy: { name: "Olga Operator" },
    },
  });
  const again = await create({ title: "call Bob" }, "t1");
  expect(again.body["id"]).toBe(first.body["id"]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await create({ title: "call Eve" }, "t1")).toMatchObject({
    status: 422,
    body: { code: "key_reused" },
  });

  const id = String(first.body["id"]);
  expect(await act(tokens.viewer, id, "done")).toMatchObject({ status: 403 });
  expect(await act(tokens.operator, id, "done")).toMatchObject({
    status: 200,
    body: { status: "done", resolvedBy: { name: "Olga Operator" } },
  });
  expect(await act(tokens.operator, id, "done")).toMatchObject({ status: 200 });
  expect(await act(tokens.admin, id, "dismiss")).toMatchObject({
    status: 409,
    body: { code: "already_closed", settlement: { status: "done", by: "Olga Operator" } },
  });

  const second = await create({ title: "call Ann" });
  expect(await act(tokens.admin, String(second.body["id"]), "dismiss")).toMatchObject({
    status: 200,
    body: { status: "dismissed" },
  });
});

test("tasks are refused to viewers, in the section of cards, and with titles that hide what they say", async () => {
  const { tokens } = await givenPeople(sql);
  const create = (token: string, body: object) => send(server, token, "POST", "/v1/tasks", { body });
  expect(await create(tokens.viewer, { title: "x" })).toMatchObject({ status: 403 });
  for (const body of [
    { title: "x", section: "needs-confirm" },
    { title: "" },
    { title: "  " },
    { title: "two\nlines" },
    { title: "nul\0" },
    { title: "turned \u202e around" },
    { title: "\ud800" },
    { title: "x".repeat(301) },
    { title: "x", kind: "approval" },
  ]) {
    expect(await create(tokens.operator, body)).toMatchObject({
      status: 422,
      body: { code: "invalid_request" },
    });
  }
});

test("a verb that does not fit the kind of a task is refused, saying which does", async () => {
  const world = await givenPeople(sql);
  const { tokens } = world;
  const { approvalId } = await givenGatedRun(sql, world);
  const card = await cardOf(approvalId);
  const question = await givenQuestion(sql, world);
  const plain = await send(server, tokens.operator, "POST", "/v1/tasks", { body: { title: "x" } });
  const plainId = String(plain.body["id"]);
  const body = { answer: "yes" };
  for (const [taskId, verb, options] of [
    [card, "done", {}],
    [card, "answer", { body }],
    [question.taskId, "confirm", seen],
    [question.taskId, "done", {}],
    [plainId, "confirm", seen],
    [plainId, "answer", { body }],
  ] as const) {
    expect(await act(tokens.admin, taskId, verb, options)).toMatchObject({
      status: 422,
      body: { code: "wrong_kind" },
    });
  }
  const open = await send(server, tokens.viewer, "GET", "/v1/tasks");
  expect(open.body["tasks"]).toHaveLength(3);
});
