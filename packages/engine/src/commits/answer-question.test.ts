import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { anAnswer, aSteer, claimRun, givenQuestionRun, makeWorld } from "../testing/fixtures.ts";
import { callRow, moveDeadlines, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { type AnswerQuestion, answerQuestion } from "./answer-question.ts";
import { cancelRun } from "./cancel-run.ts";
import { expireWaits } from "./expire-waits.ts";
import { killScope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

async function answer(what: AnswerQuestion) {
  return await commitWithin(sql, answerQuestion, what);
}

test("an answer is its call's result, resolves the card and makes the run ready", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world);
  expect(await answer(anAnswer(world, given, { answer: 'the "second"' }))).toMatchObject({
    kind: "answered",
    status: "answered",
    answer: 'the "second"',
    answeredBy: "Olga Operator",
    answeredAt: expect.any(Date),
  });
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: "done",
    result: '"the \\"second\\""',
    waits_on: null,
  });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "running", is_ready: true });
  const [card] =
    await sql`select t.status, t.resolution, t.resolved_by from tasks t where t.question_id = ${given.questionId}`;
  expect(card).toEqual({ status: "done", resolution: 'the "second"', resolved_by: `user:${world.operator}` });
});

test("a dismissed question says so to the model", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world);
  expect(await answer(anAnswer(world, given, { answer: undefined }))).toMatchObject({
    kind: "answered",
    status: "dismissed",
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "done", result: '"dismissed without an answer"' });
  expect(await answer(anAnswer(world, given, { answer: undefined }))).toMatchObject({ kind: "repeated" });
});

test("an answer is data and never a permission, and a message to the run is no answer", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world);
  await commitWithin(sql, steerRun, aSteer(world, given.runId));
  expect(await runRow(sql, given.runId)).toMatchObject({
    status: "paused",
    waits_on: "question",
    is_ready: false,
    unread: 1,
  });
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "waiting" });
});

describe("an answer is refused and changes nothing", () => {
  test("AZ56: by a viewer, a disabled user, or one of another workspace", async () => {
    const world = await makeWorld(sql);
    const neighbor = await makeWorld(sql);
    const given = await givenQuestionRun(sql, world);
    await sql`update users set disabled_at = clock_timestamp() where id = ${world.admin}`;
    const before = await allRows(sql);
    for (const userId of [world.viewer, world.admin, neighbor.operator, uuidv7()])
      expect(await answer(anAnswer(world, given, { userId }))).toMatchObject({ kind: "forbidden" });
    for (const strange of [anAnswer(neighbor, given), anAnswer(world, given, { questionId: uuidv7() })])
      expect(await answer(strange)).toMatchObject({ kind: "not_found", status: null, answer: null });
    expect(await allRows(sql)).toBe(before);
  });

  test("AZ39: past its deadline, swept or not", async () => {
    const world = await makeWorld(sql);
    const given = await givenQuestionRun(sql, world, { timeoutMs: 60_000 });
    await moveDeadlines(sql, given.runId, -1);
    expect(await answer(anAnswer(world, given))).toMatchObject({ kind: "expired", status: "open" });
    await expireWaits(sql, 10);
    expect(await answer(anAnswer(world, given))).toMatchObject({ kind: "expired", answeredBy: "system:timeout" });
    expect(await callRow(sql, given.callId)).toMatchObject({ result: '"nobody answered in time"' });
  });

  test("under a kill switch, until it is lifted", async () => {
    const world = await makeWorld(sql);
    const given = await givenQuestionRun(sql, world);
    const scope = { scope: "workspace", scopeId: world.workspaceId, workspaceId: world.workspaceId } as const;
    await killScope(sql, scope, world.admin, "stop");
    expect(await answer(anAnswer(world, given))).toMatchObject({ kind: "killed" });
    await liftScope(sql, scope, world.admin);
    expect(await answer(anAnswer(world, given))).toMatchObject({ kind: "answered" });
  });

  test("on a run that was canceled, whose question closed with it", async () => {
    const world = await makeWorld(sql);
    const given = await givenQuestionRun(sql, world);
    await commitWithin(sql, cancelRun, {
      runId: given.runId,
      workspaceId: world.workspaceId,
      userId: world.operator,
      reason: "no",
    });
    expect(await answer(anAnswer(world, given))).toMatchObject({ kind: "settled", status: "canceled" });
  });
});

test("DU27: the same answer by the same person returns the first; any other is told who answered what", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world);
  const first = await answer(anAnswer(world, given));
  const before = await allRows(sql);
  expect(await answer(anAnswer(world, given))).toEqual({ ...first, kind: "repeated" });
  for (const over of [{ answer: "the first" }, { answer: undefined }, { userId: world.admin }])
    expect(await answer(anAnswer(world, given, over))).toEqual({ ...first, kind: "settled" });
  expect(await allRows(sql)).toBe(before);
  await claimRun(sql, given.runId);
  expect(await answer(anAnswer(world, given))).toEqual({ ...first, kind: "repeated" });
});

test("of two answers behind one lock, one wins and the other is told", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world);
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, answerQuestion, anAnswer(world, given, { answer: "one" })),
      () => commitWithin(elsewhere, answerQuestion, anAnswer(world, given, { answer: "two", userId: world.admin })),
    ],
  });
  const winner = waiting.find((outcome) => outcome.kind === "answered");
  expect(waiting.find((outcome) => outcome !== winner)).toEqual({ ...winner, kind: "settled" });
});

test("DU05: an answer that fails at any write leaves nothing", async () => {
  const world = await makeWorld(sql);
  const given = await givenQuestionRun(sql, world);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, answerQuestion, anAnswer(world, given)),
  );
  expect(outcome.kind).toBe("answered");
  expect(written).toEqual(["questions", "tasks", "tool_calls", "run_log", "runs"]);
});
