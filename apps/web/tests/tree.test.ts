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
import { standing } from "./cards.ts";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, noteLongTasks, soon } from "./stage.ts";

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

/** A run of so many turns after the one that asked, each with a call that is done, and at last a card. */
async function givenLongRun(count: number): Promise<{ runId: string; from: number; taskId: string }> {
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
    select run_id, ${from} + n, kind, content, at from run_log, generate_series(1, ${count}::int) n
     where run_id = ${runId} and seq = ${from}`;
  await sql`
    insert into tool_calls
    select (jsonb_populate_record(c, jsonb_build_object(
             'id', uuidv7(), 'turn_seq', ${from} + n, 'provider_id', 'p' || n, 'status', 'done', 'result', '"read"',
             'started_at', clock_timestamp(), 'finished_at', clock_timestamp()))).*
      from tool_calls c, generate_series(1, ${count}::int) n where c.run_id = ${runId} and c.position = 0`;
  await sql`update runs set last_seq = greatest(last_seq, ${from + count}) where id = ${runId}`;
  await sql`update tool_calls set turn_seq = ${from + count} where run_id = ${runId} and position = 1`;
  const [task] = await sql<{ id: string }[]>`select id from tasks where run_id = ${runId}`;
  return { runId, from, taskId: task?.id ?? "" };
}

test("UI17: a run of a thousand steps is there within a second, answers a hand at once, and keys reach its last card", async () => {
  const { runId, from } = await givenLongRun(990);
  // One of them in the middle is somebody's to find.
  const content = JSON.stringify([{ type: "text", text: `the needle ${hostile}` }]);
  await sql`update run_log set content = ${content} where run_id = ${runId} and seq = ${from + 500}`;
  const [meant] = await sql<{ id: string }[]>`
    select id from tool_calls where run_id = ${runId} and turn_seq = ${from + 700}`;

  const page = await stage.signIn("operator");
  const longestTask = await noteLongTasks(page);
  const entries = page.locator(".tree > .entry");
  const drawn = page.locator(".call-node");
  const began = Date.now();
  await page.goto(`${stage.url}/runs/${runId}`);
  await entries.nth(900).waitFor({ state: "attached" });
  const loadedMs = Date.now() - began;
  expect(await drawn.count()).toBeLessThan(200);
  const tookMs = await page.evaluate(async () => {
    const start = performance.now();
    scrollTo(0, document.body.scrollHeight);
    const step = (): HTMLElement | null => document.querySelector(".tree > .entry:nth-last-child(5) summary");
    while (step() === null) await new Promise((done) => requestAnimationFrame(done));
    step()?.click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - start;
  });
  const taskMs = await longestTask();
  console.log(
    `1,000 steps: shown after ${loadedMs} ms; at the end, with a step opened, after ${Math.round(tookMs)} ms more; never busy for longer than ${taskMs} ms.`,
  );
  expect(taskMs).toBeLessThan(1_000);
  await page.keyboard.press("j");
  const isOnCard = () => page.evaluate(() => document.activeElement?.classList.contains("card"));
  await soon(isOnCard).toBe(true);
  await page.getByLabel("Steer this run…").fill("still here");
  await page.screenshot({ path: ".test-data/screens/run-thousand.png" });
  expect(await drawn.count()).toBeLessThan(400);

  // Of what is not drawn the text is there to be looked for, with nothing hidden in it; it is drawn as one comes to it.
  await page.evaluate(() => scrollTo(0, 0));
  const needle = page.locator(`#step-${from + 500}`);
  expect(await needle.locator(".call-node").count()).toBe(0);
  expect(await needle.textContent()).toContain("⟨U+202E⟩");
  await needle.evaluate((element) => element.scrollIntoView());
  await needle.locator(".call-node").waitFor();
  expect(await needle.evaluate((element) => element.getBoundingClientRect().top < innerHeight)).toBe(true);
  await expectClean(page);

  // A link to a step leads to it, wherever it is, at first and later.
  const target = page.locator(`#call-${meant?.id}`);
  const isShown = () => target.evaluate((element) => element.getBoundingClientRect().top < innerHeight);
  await page.evaluate((id) => (location.hash = `#call-${id}`), meant?.id);
  await target.getByRole("link", { name: "Link to this step" }).waitFor();
  await soon(isShown).toBe(true);
  await page.evaluate(() => scrollTo(0, 0));
  await page.reload();
  await target.getByRole("link", { name: "Link to this step" }).waitFor();
  await soon(isShown).toBe(true);
  expect(await drawn.count()).toBeLessThan(200);

  // From the keyboard one gets from step to step without end.
  await target.locator("summary").focus();
  const inTree = () => page.evaluate(() => document.activeElement?.closest(".entry")?.id);
  for (let n = 0; n < 60; n += 1) await page.keyboard.press("Tab");
  expect(Number((await inTree())?.replace("step-", ""))).toBeGreaterThan(from + 730);

  const smaller = await givenLongRun(120);
  await page.goto(`${stage.url}/runs/${smaller.runId}`);
  await entries.nth(100).waitFor({ state: "attached" });
  expect(await drawn.count()).toBeLessThan(100);
  await expectAccessible(page);
  await page.context().close();
});

test("of a run of more steps than are read at once the latest are there with what waits, earlier ones on demand, and any by its link", async () => {
  const { runId, from, taskId } = await givenLongRun(2_400);
  const page = await stage.signIn("approver");
  const parts: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.endsWith("/tree")) parts.push(search);
  });
  await page.goto(`${stage.url}/runs/${runId}`);
  const entries = page.locator(".tree > .entry");
  await standing(page, taskId);
  expect(await entries.count()).toBe(1_000);
  // The one part; read once more where the stream began while it was being read.
  expect(new Set(parts).size).toBe(1);
  await page.getByRole("button", { name: "Show what came before" }).click();
  await soon(() => entries.count()).toBe(2_000);
  await page.getByRole("button", { name: "Show what came before" }).click();
  await page.locator("#step-1").waitFor();
  const seqs = await entries.evaluateAll((found) => found.map(({ id }) => Number(id.replace("step-", ""))));
  expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, n) => n + 1).filter((seq) => seqs.includes(seq)));
  expect(seqs.length).toBeGreaterThan(2_400);
  expect(await page.getByRole("button", { name: "Show what came before" }).count()).toBe(0);

  const [meant] = await sql<{ id: string }[]>`
    select id from tool_calls where run_id = ${runId} and turn_seq = ${from + 300}`;
  const other = await stage.signIn("approver");
  await other.goto(`${stage.url}/runs/${runId}#call-${meant?.id}`);
  const target = other.locator(`#call-${meant?.id}`);
  await target.getByRole("link", { name: "Link to this step" }).waitFor();
  await soon(() => target.evaluate((element) => element.getBoundingClientRect().top < innerHeight)).toBe(true);
  await other.getByRole("button", { name: "Show what came after" }).click();
  await soon(() => other.locator(".tree > .entry").count()).toBeGreaterThan(1_000);
  // An address of nothing shows the run.
  for (const nothing of ["call-00000000-0000-0000-0000-000000000000", "step-999999"]) {
    await other.goto("about:blank");
    await other.goto(`${stage.url}/runs/${runId}#${nothing}`);
    await standing(other, taskId);
  }
  await page.context().close();
  await other.context().close();
});
