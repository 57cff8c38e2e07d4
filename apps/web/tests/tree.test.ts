import { commitWithin } from "@countersign/engine/commit.ts";
import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import {
  aCall,
  aGatedCall,
  aTurn,
  claimRun,
  givenQuestionRun,
  givenRun,
} from "@countersign/engine/testing/fixtures.ts";
import { moveDeadlines } from "@countersign/engine/testing/rows.ts";
import { streamDeltas } from "@countersign/engine/stream-deltas.ts";
import { expect, test } from "vitest";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("a question stands on its node with options and free text; its expiry shows the answer that was used", async () => {
  const answered = await givenQuestionRun(sql, world, { options: ["left", "right"] });
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/runs/${answered.runId}`);
  await page.getByText("paused, waiting for an answer").waitFor();
  const card = page.locator(".card.question");
  await expectAccessible(page);
  await keepPicture(page, "run-question");
  await card.getByLabel("Your answer").fill("straight on");
  await card.getByRole("button", { name: "Answer", exact: true }).click();
  await card.getByText("Answered by Olga Operator").waitFor();
  const [question] = await sql`select answer from questions where run_id = ${answered.runId}`;
  expect(question).toEqual({ answer: "straight on" });

  const expired = await givenQuestionRun(sql, world, { timeoutMs: 3_600_000, defaultAnswer: "the middle" });
  await page.goto(`${stage.url}/runs/${expired.runId}`);
  await card.getByText("then the answer is “the middle”").waitFor();
  await moveDeadlines(sql, expired.runId, -1);
  await expireWaits(sql, 10);
  await card.getByText("the default was used").waitFor();
  await card.getByText("the middle").waitFor();
  await page.context().close();
});

test("what the model of a running run says is shown while it says it, and the recorded turn takes its place", async () => {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId, 600_000);
  const page = await stage.signIn("viewer");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("running", { exact: true }).waitFor();
  const told = streamDeltas({ sql, hold, turn: 0 });
  told.push({ kind: "started" });
  told.push({ kind: "text", text: `I look **it** up. ${hostile}` });
  const saying = page.getByRole("region", { name: "The agent is saying" });
  await saying.getByText("I look it up.").waitFor();
  told.push({ kind: "text", text: " And then I write." });
  await saying.getByText("And then I write.").waitFor();
  await expectClean(page);
  await expectAccessible(page);
  await keepPicture(page, "run-saying");
  await told.end();
  await commitWithin(sql, recordTurn, aTurn(hold, { content: JSON.stringify([{ type: "text", text: "recorded" }]) }));
  await page.locator(".entry").getByText("recorded").waitFor();
  await saying.waitFor({ state: "detached" });
  await page.context().close();
});

test("UI17: a run of a thousand steps is there within a second, answers a hand at once, and keys reach its last card", async () => {
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const hold = await claimRun(sql, runId, 600_000);
  await commitWithin(
    sql,
    recordTurn,
    aTurn(hold, { calls: [aCall({ args: '{"page":"notes"}' }), aGatedCall({ position: 1 })] }),
  );
  const [turn] = await sql<{ seq: number }[]>`select turn_seq as seq from tool_calls where run_id = ${runId}`;
  const from = turn?.seq ?? 0;
  // The same turn and call again and again, before the one that waits.
  await sql`
    insert into run_log (run_id, seq, kind, content, at)
    select run_id, ${from} + n, kind, content, at from run_log, generate_series(1, 990) n where run_id = ${runId} and seq = ${from}`;
  await sql`
    insert into tool_calls
    select (jsonb_populate_record(c, jsonb_build_object(
             'id', uuidv7(), 'turn_seq', ${from} + n, 'provider_id', 'p' || n, 'status', 'done', 'result', '"read"',
             'started_at', clock_timestamp(), 'finished_at', clock_timestamp()))).*
      from tool_calls c, generate_series(1, 990) n where c.run_id = ${runId} and c.position = 0`;
  await sql`update runs set last_seq = greatest(last_seq, ${from + 990}) where id = ${runId}`;
  await sql`update tool_calls set turn_seq = ${from + 990} where run_id = ${runId} and position = 1`;

  const page = await stage.signIn("operator");
  const began = Date.now();
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.locator(".tree > .entry").nth(900).waitFor({ state: "attached" });
  const loadedMs = Date.now() - began;
  const tookMs = await page.evaluate(async () => {
    const start = performance.now();
    scrollTo(0, document.body.scrollHeight);
    document.querySelector<HTMLElement>(".tree > .entry:nth-last-child(5) summary")?.click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
  });
  console.log(
    `1,000 steps: shown after ${loadedMs} ms; at the end, with a step opened, after ${Math.round(tookMs)} ms more.`,
  );
  expect(tookMs).toBeLessThan(1_000);
  await page.keyboard.press("j");
  const isOnCard = () => page.evaluate(() => document.activeElement?.classList.contains("card"));
  await soon(isOnCard).toBe(true);
  await page.getByLabel("Steer this run…").fill("still here");
  await page.screenshot({ path: ".test-data/screens/run-thousand.png" });
  await page.context().close();
});
