import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { givenQuestionRun } from "@countersign/engine/testing/fixtures.ts";
import { moveDeadlines } from "@countersign/engine/testing/rows.ts";
import { expect, test } from "vitest";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { expectAccessible, givenStage, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("a card is shown whole and open, confirmed in one click, and says who settled it and with what receipt", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await expectAccessible(page);
  await keepPicture(page, "queue-one-card");
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "approved", answer: "approve" });
  await card.getByText("Receipt", { exact: true }).click();
  await card.getByText("approval.decided").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "queue-settled");

  // Whoever may not read receipts is offered none.
  const viewer = await stage.signIn("viewer");
  await viewer.goto(`${stage.url}/tasks/${taskId}`);
  await cardOf(viewer, taskId).getByText("Approved by Abe Approver").waitFor();
  expect(await viewer.getByText("Receipt", { exact: true }).count()).toBe(0);
  await page.context().close();
  await viewer.context().close();
});

test("UI11: a card of a turn with several calls is confirmed at once, each on its own", async () => {
  const { cards } = await givenCard(sql, world, { siblings: 2 });
  const page = await stage.signIn("approver");
  const [first, ...others] = cards;
  const card = await standing(page, first?.taskId ?? "");
  expect(await card.getByRole("button", { name: "Confirm" }).isEnabled()).toBe(true);
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Approved by").waitFor();
  for (const other of others) expect(await decisionOf(sql, other.approvalId)).toMatchObject({ status: "pending" });
  await page.context().close();
});

test("UI05: the keys for next and previous stay within what the filter shows, and go on beyond the first page", async () => {
  await sql`update tasks set status = 'dismissed', resolved_at = clock_timestamp(), resolved_by = ${`user:${world.admin}`} where kind = 'task' and status = 'open'`;
  const questions: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    const { runId } = await givenQuestionRun(sql, world);
    const [task] = await sql<{ id: string }[]>`select id from tasks where run_id = ${runId}`;
    questions.push(task?.id ?? "");
    await givenCard(sql, world);
  }
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks?kind=question`);
  await cardOf(page, questions[0] ?? "").waitFor();
  expect(await page.locator(".card").count()).toBe(questions.length);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("data-task"));
  for (const [key, at] of [
    ["j", 0],
    ["j", 1],
    ["j", 1],
    ["k", 0],
    ["k", 0],
  ] as const) {
    await page.keyboard.press(key);
    await soon(focused).toBe(questions[at]);
  }

  // More than a page of plain tasks: the last of the first page leads to the first of the second.
  await sql`
    insert into tasks (id, workspace_id, kind, status, section, title, created_by)
    select uuidv7(), ${world.workspaceId}, 'task', 'open', 'today', 'errand ' || n, ${`user:${world.operator}`}
      from generate_series(1, 60) n`;
  await page.goto(`${stage.url}/tasks?kind=task`);
  await page.locator(".card").first().waitFor();
  const before = await page.locator(".card").count();
  expect(before).toBeLessThan(60);
  await page.locator(".card").last().focus();
  await page.keyboard.press("j");
  await soon(() => page.locator(".card").count()).toBe(60);
  const index = () =>
    page.evaluate(() => [...document.querySelectorAll(".card")].indexOf(document.activeElement as Element));
  await soon(index).toBe(before);
  // What was read further on is not new.
  expect(await page.locator("[data-new]").count()).toBe(0);
  await sql`delete from tasks where kind = 'task'`;
  await page.context().close();
});

test("UI27: a card that comes is announced with its tool and what for; the focus stays, one key leads to it", async () => {
  await givenCard(sql, world);
  const page = await stage.signIn("approver");
  await page.locator(".card").first().waitFor();
  await soon(() => stage.watching()).toBe(1);
  const skip = page.getByRole("link", { name: "Skip to the page" });
  await skip.focus();
  const { taskId } = await givenCard(sql, world, { title: "mail.send: a letter to ann@example.test" });
  const said = page.locator('[aria-live="polite"]').getByText("New card: mail.send: a letter to ann@example.test");
  await said.waitFor({ state: "attached" });
  expect(await skip.evaluate((element) => element === document.activeElement)).toBe(true);
  const card = cardOf(page, taskId);
  await page.locator(".card").last().waitFor();
  for (let presses = await page.locator(".card").count(); presses > 0; presses -= 1) await page.keyboard.press("j");
  await soon(() => card.evaluate((element) => element === document.activeElement)).toBe(true);
  for (const button of await card.getByRole("button").all()) {
    expect(await button.evaluate((element) => element.textContent?.trim())).not.toBe("");
  }
  await page.context().close();
});

test("UI27: a card that comes is announced on every page, once, and again where another of the same words comes", async () => {
  const asked = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const region = page.locator('[aria-live="polite"]');
  let count = 0;
  for (const path of ["/runs", "/kb", "/admin/account", `/runs/${asked.runId}`, `/tasks/${asked.taskId}`, "/tasks"]) {
    if (path === "/tasks") await page.getByRole("link", { name: "← All tasks" }).click();
    else await page.goto(`${stage.url}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
    await page.locator(".top .count").waitFor();
    expect(await region.count()).toBe(1);
    const brand = page.getByRole("link", { name: "Countersign", exact: true });
    await brand.focus();
    const title = `mail.send: a letter to person ${(count += 1)}`;
    for (const times of [1, 2]) {
      // Each time it is said by an element that is new to the page.
      const before = await region.locator("span").elementHandle();
      await givenCard(sql, world, { title });
      await page.waitForFunction(
        ([element, text]) => element?.isConnected === false && document.body.textContent?.includes(text),
        [before, `New card: ${title}`] as const,
      );
      expect(await region.textContent(), `${path}, the ${times}. time`).toBe(`New card: ${title}`);
    }
    expect(await brand.evaluate((element) => element === document.activeElement)).toBe(true);
  }
  await page.context().close();
});

test("a decision made elsewhere reaches the card at once, and nothing moves when five cards arrive", async () => {
  const first = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const other = await stage.signIn("admin", phone);
  const card = await standing(page, first.taskId);
  const before = await card.boundingBox();
  const more = [];
  for (let n = 0; n < 5; n += 1) more.push(await givenCard(sql, world));
  await cardOf(page, more.at(-1)?.taskId ?? "").waitFor();
  expect(await card.boundingBox()).toEqual(before);
  const title = /^\(\d+\) Tasks · Countersign$/;
  await soon(() => page.title()).toMatch(title);
  expect((await page.title()).match(/\d+/)?.[0]).toBe(String(await page.locator(".card.waits").count()));

  const theirs = await standing(other, first.taskId);
  await theirs.scrollIntoViewIfNeeded();
  await keepPicture(other, "queue-phone");
  await expectAccessible(other);
  await standing(other, first.taskId);
  await theirs.getByRole("button", { name: "Dismiss" }).click();
  const clicked = performance.now();
  await card.getByText("Denied by Ada Admin").waitFor();
  console.log(`What was decided elsewhere was shown after ${Math.round(performance.now() - clicked)} ms.`);
  expect(await card.getByRole("button").count()).toBe(0);
  await page.context().close();
  await other.context().close();
});

test("on a phone as well no card moves as time passes", async () => {
  const cards = [await givenCard(sql, world), await givenCard(sql, world)];
  const page = await stage.signIn("approver", phone);
  await page.clock.install();
  await page.reload();
  const card = await standing(page, cards[1]?.taskId ?? "");
  const place = () => card.evaluate((element) => element.getBoundingClientRect().top + scrollY);
  const before = await place();
  const said = card.locator(".card-link");
  // The server's time goes on as the page's does.
  let passedMs = 0;
  await page.route("**/v1/**", async (route) => {
    const response = await route.fetch();
    const date = new Date(Date.now() + passedMs).toUTCString();
    await route.fulfill({ response, headers: { ...response.headers(), date } });
  });
  for (const [ms, says] of [
    [45_000, /\d\d seconds ago/],
    [45 * 60_000, /\d\d minutes ago/],
  ] as const) {
    passedMs += ms;
    await page.clock.fastForward(ms);
    await said.getByText(says).waitFor();
    expect(await place()).toBe(before);
  }
  await page.unrouteAll({ behavior: "wait" });
  await page.context().close();
});

test("UI07: a card that expires says so without a reload", async () => {
  const { taskId, approvalId, runId } = await givenCard(sql, world, { expiresMs: 3_600_000 });
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await card.getByText("then it is denied").waitFor();
  await moveDeadlines(sql, runId, -1);
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Expired").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ answer: null });

  const unseen = await givenCard(sql, world, { expiresMs: 3_600_000 });
  const other = await standing(page, unseen.taskId);
  await moveDeadlines(sql, unseen.runId, -1);
  await expireWaits(sql, 10);
  await other.getByText("Expired").waitFor();
  expect(await other.getByRole("button").count()).toBe(0);
  await page.context().close();
});

test("a question is answered by an option, by one's own words, or not at all, and expiry shows what was used", async () => {
  const page = await stage.signIn("operator");
  const tasks: string[] = [];
  const runs: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    const { runId } = await givenQuestionRun(sql, world, {
      options: ["the left one", "the right one"],
      ...(n === 3 ? { timeoutMs: 3_600_000, defaultAnswer: "neither of them" } : {}),
    });
    const [task] = await sql<{ id: string }[]>`select id from tasks where run_id = ${runId}`;
    tasks.push(task?.id ?? "");
    runs.push(runId);
  }
  await page.goto(`${stage.url}/tasks?kind=question`);
  const [first, second, third, fourth] = tasks.map((id) => cardOf(page, id));
  await standing(page, tasks[3] ?? "");
  await keepPicture(page, "questions");
  await expectAccessible(page);
  await second?.getByLabel("Your answer").fill("In our own words");
  await second?.getByRole("button", { name: "Answer", exact: true }).click();
  await second?.getByText("Answered by Olga Operator").waitFor();
  await standing(page, tasks[2] ?? "");
  await third?.getByRole("button", { name: "Dismiss without an answer" }).click();
  await third?.getByText("Dismissed by Olga Operator").waitFor();
  await standing(page, tasks[0] ?? "");
  await first?.getByRole("button").first().click();
  await first?.getByText("Answered by Olga Operator").waitFor();
  await moveDeadlines(sql, runs[3] ?? "", -1);
  await expireWaits(sql, 10);
  await fourth?.getByText("the default was used").waitFor();
  await fourth?.getByText("neither of them").waitFor();
  const answers = await sql`select answer from questions where run_id = any(${runs}::uuid[]) order by asked_at`;
  expect(answers.map((row) => row["answer"])).toEqual(["the left one", "In our own words", null, "neither of them"]);
  await page.context().close();
});

test("tasks of one's own are put into the queue, done, and found under done", async () => {
  const page = await stage.signIn("operator", phone);
  await page.getByRole("button", { name: "New task…" }).click();
  await page.getByLabel("What is to be done").fill("Water the plants");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const [task] = await soon(async () => [
    ...(await sql<{ id: string }[]>`select id from tasks where title = 'Water the plants'`),
  ])
    .toHaveLength(1)
    .then(() => sql<{ id: string }[]>`select id from tasks where title = 'Water the plants'`);
  const card = await standing(page, task?.id ?? "");
  await card.getByRole("button", { name: "Done" }).click();
  await card.getByText("Done by Olga Operator").waitFor();
  await page.getByLabel("Status").selectOption("done");
  await cardOf(page, task?.id ?? "").waitFor();
  expect(page.url()).toContain("status=done");
  await page.context().close();
});
