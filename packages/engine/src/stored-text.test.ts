import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { answerQuestion } from "./commits/answer-question.ts";
import { completeCall } from "./commits/complete-call.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { recordLateResult } from "./commits/record-late-result.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { steerRun } from "./commits/steer-run.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import {
  aCall,
  aDecision,
  aGatedCall,
  anAnswer,
  aSteer,
  aTurn,
  claimRun,
  givenGatedRun,
  givenQuestionRun,
  givenRun,
  makeWorld,
} from "./testing/fixtures.ts";

const { sql } = await engineDatabase();

/** JSON text as a model or a tool may give it, and some that only looks like it: its spelling is to come back as it was. */
const exactTexts: readonly string[] = [
  '"10.5"',
  '"null"',
  '"{}"',
  "10.5",
  "10.50",
  "1e400",
  "-0",
  "null",
  "{}",
  String.raw`"\u0000"`,
  String.raw`{"\u0000":"a\u0000b"}`,
  String.raw`"\ud800"`,
  String.raw`"\udc00\ud800"`,
  '{"b":1,"a":2,"a":3}',
  ' { "spaced" : [ 1 , 2 ] } ',
  '"{a,b}"',
  '"NULL"',
  "NULL",
  "",
  String.raw`"a\"b\\c"`,
  String.raw`{"a",'b',\}`,
  '"emoji 😀 and ﷽"',
  String.raw`"tab\tnewline\n"`,
  '"a real\ttab,\r\na real line"',
  "[".repeat(10_000) + "]".repeat(10_000),
  JSON.stringify("x".repeat(300_000)),
];

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Stores each text in every column of a run that holds JSON text, and reads it back with SQL and in the snapshot. */
async function storeEverywhere(texts: readonly string[]): Promise<void> {
  const world = await makeWorld(sql);
  for (const text of texts) {
    const runId = await givenRun(sql, world, { input: text });
    const hold = await claimRun(sql, runId);
    await commitWithin(sql, steerRun, aSteer(world, runId, { content: text }));
    const gated = aGatedCall({ args: text });
    const settled = aCall({
      position: 1,
      args: text,
      next: { kind: "settled", status: "failed", result: text, code: "invalid_args" },
    });
    const read = aCall({ position: 2, args: text });
    if (gated.next.kind !== "approval") throw new Error("not gated");
    const approvalId = gated.next.approvalId;
    const body = isJson(text) ? text : "{}";
    const calls = [{ ...gated, next: { ...gated.next, card: { ...gated.next.card, body } } }, settled, read];
    await commitWithin(sql, recordTurn, aTurn(hold, { content: text, steersRead: 1, calls }));
    await commitWithin(sql, completeCall, { ...hold, callId: read.id, status: "done", result: text });
    await commitWithin(sql, recordLateResult, { runId, callId: read.id, epoch: 1, status: "done", result: text });
    const [stored] = await sql`
      select array(select l.content from run_log l where l.run_id = ${runId} and l.kind in ('user', 'assistant') order by l.seq) as log,
             (select s.content from steers s where s.run_id = ${runId}) as steer,
             array(select c.args from tool_calls c where c.run_id = ${runId} order by c.position) as args,
             (select json_agg(c.result order by c.position) from tool_calls c where c.run_id = ${runId}) as results,
             (select a.card from approvals a where a.run_id = ${runId}) as card,
             (select t.result from late_results t where t.run_id = ${runId}) as late`;
    expect(stored).toEqual({
      log: [text, text, text],
      steer: text,
      args: [text, text, text],
      results: [null, text, text],
      card: body,
      late: text,
    });

    await commitWithin(sql, decideApproval, aDecision(world, { runId, approvalId }, { answer: "deny" }));
    const again = await claimRun(sql, runId);
    expect(again.snapshot.messages.map((message) => message.content)).toEqual([text, text, text]);
    expect(again.snapshot.calls.map((call) => call.args)).toEqual([text, text, text]);
    expect(again.snapshot.calls.map((call) => call.result)).toEqual(['"denied by user"', text, text]);
    await commitWithin(sql, recordTurn, aTurn(again, { turn: 1, content: text, output: text }));
    const [ended] = await sql`select output from runs where id = ${runId}`;
    expect(ended?.output).toBe(text);
  }
}

test("DU32, DU34: what a model, a tool or a person gives as JSON is stored and given back exactly, in every place", async () => {
  await storeEverywhere(exactTexts);
});

test("DU32: so is any text that Postgres can hold", async () => {
  const words = fc.string({ unit: "binary" }).map((some) => JSON.stringify(some.replaceAll("\u0000", "")));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.json(), words), { minLength: 1, maxLength: 3 }), storeEverywhere),
    { numRuns: 15 },
  );
});

test("DU32: a card with odd characters shows its reasons to the worker, and never keeps the run from being claimed", async () => {
  const world = await makeWorld(sql);
  const call = aGatedCall();
  if (call.next.kind !== "approval") throw new Error("not gated");
  const odd = String.raw`"a\\u0000\u0000b\\\\\u0001\ud800","\\"`;
  const body = `{"details":[${odd}],"floorReasons":["safety:outside_root",${String.raw`"b\\c"`}]}`;
  expect(isJson(body)).toBe(true);
  const next = { ...call.next, card: { ...call.next.card, body } };
  const hold = await claimRun(sql, await givenRun(sql, world));
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [{ ...call, next }] }));
  const asked = { runId: hold.runId, approvalId: next.approvalId };
  await commitWithin(sql, decideApproval, aDecision(world, asked));
  const [claimed] = (await claimRun(sql, hold.runId)).snapshot.calls;
  expect(claimed?.approval?.shownReasons).toEqual(["safety:outside_root", String.raw`b\c`]);
});

describe("DU32: plain words of people and of questions", () => {
  test.each(["NULL", "{a,b}", '"quoted"', "back\\slash", "", "10.5", "line\nbreak", "😀", "'; drop table runs; --"])(
    "are stored as they are: %j",
    async (words) => {
      const world = await makeWorld(sql);
      const given = await givenGatedRun(sql, world);
      const denial = aDecision(world, given, { answer: "deny", feedback: words, note: words });
      await commitWithin(sql, decideApproval, denial);
      const [approval] = await sql`
        select a.feedback, a.note, c.result from approvals a join tool_calls c on c.id = a.call_id where a.id = ${given.approvalId}`;
      expect(approval).toMatchObject({ feedback: words, note: words });
      expect(JSON.parse(approval?.result)).toBe(`denied by user: ${words}`);

      const asked = await givenQuestionRun(sql, world, { defaultAnswer: words, options: [words, "other", words] });
      await commitWithin(sql, answerQuestion, anAnswer(world, asked, { answer: words }));
      const [question] = await sql`
        select q.options, q.default_answer, q.answer, c.result from questions q join tool_calls c on c.id = q.call_id where q.id = ${asked.questionId}`;
      expect(question).toMatchObject({ options: [words, "other", words], default_answer: words, answer: words });
      expect(JSON.parse(question?.result)).toBe(words);
    },
  );

  test("that Postgres cannot hold are refused, and their run takes others", async () => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    await expect(commitWithin(sql, decideApproval, aDecision(world, given, { feedback: "a\u0000b" }))).rejects.toThrow(
      "0x00",
    );
    const outcome = await commitWithin(sql, decideApproval, aDecision(world, given, { feedback: "ab" }));
    expect(outcome).toMatchObject({ kind: "decided" });
  });
});
