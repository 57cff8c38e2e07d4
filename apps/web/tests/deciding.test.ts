import { killScope } from "@countersign/engine/commits/kill-scope.ts";
import { liftScope } from "@countersign/engine/commits/lift-scope.ts";
import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { moveDeadlines } from "@countersign/engine/testing/rows.ts";
import type { Route } from "playwright-core";
import { expect, test } from "vitest";
import { decisionOf, givenCard, standing } from "./cards.ts";
import { expectAccessible, givenStage, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("UI01, UI04: keys decide only with the focus on the card itself, alone and pressed once", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await card.getByText("Add words…").click();
  const words = card.getByLabel("To the agent");
  await words.pressSequentially("1 4 y \n");
  expect(await words.inputValue()).toBe("1 4 y \n");
  await standing(page, taskId);
  for (const key of ["Control+1", "Alt+1", "Meta+1", "Shift+1", "Control+4", "Alt+4"]) {
    await card.focus();
    await page.keyboard.press(key);
  }
  // Held down, or part of composing a character.
  for (const init of [{ repeat: true }, { isComposing: true }, { keyCode: 229 }]) {
    await card.evaluate((element, given) => {
      element.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true, cancelable: true, ...given }));
    }, init);
  }
  // With the focus within the card, or on nothing.
  for (const place of [card.getByRole("link").first(), page.locator("body")]) {
    await place.focus();
    await page.keyboard.press("1");
    await page.keyboard.press("4");
  }
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await card.focus();
  await page.keyboard.press("1");
  await card.getByText(/Approved by/).waitFor();
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "approved", feedback: "1 4 y \n" });
  await page.context().close();
});

test("a key means the same wherever the card is: what allows for the run on its page does nothing in the queue, and the key of a denial is one", async () => {
  const page = await stage.signIn("approver");
  const { taskId, approvalId } = await givenCard(sql, world);
  await page.goto(stage.url);
  const card = await standing(page, taskId);
  await card.focus();
  await page.keyboard.press("2");
  await page.keyboard.press("3");
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  const digits = async () => await card.locator(".buttons kbd").allInnerTexts();
  expect(await digits()).toEqual(["1", "4"]);
  await page.goto(`${stage.url}/tasks/${taskId}`);
  await standing(page, taskId);
  expect(await digits()).toEqual(["1", "2", "3", "4"]);
  await page.goto(stage.url);
  await standing(page, taskId);
  await card.focus();
  await page.keyboard.press("4");
  await card.getByText("Denied by Abe Approver").waitFor();
  await page.context().close();
});

test("keys do nothing until a card has stood for half a second, nor while they are turned off", async () => {
  const page = await stage.signIn("approver");
  await page.clock.install();
  const { taskId, approvalId } = await givenCard(sql, world);
  const card = page.locator(`[data-task="${taskId}"]`);
  await page.goto(`${stage.url}/tasks/${taskId}`);
  await card.waitFor();
  await card.focus();
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.clock.runFor(600);
  await page.keyboard.press("?");
  await page.getByLabel("Keys decide in this browser").uncheck();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await card.focus();
  await page.clock.runFor(600);
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await page.evaluate(() => localStorage.removeItem("countersign.keys"));
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.keyboard.press("4");
  await card.getByText("Denied by Abe Approver").waitFor();
  await page.context().close();
});

test("UI03: Escape in a menu, a dialog or a text closes only that; on the card it denies", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByRole("button", { name: "Always allow…" }).click();
  await page.getByRole("dialog").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "always-dialog");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await card.getByText("Add words…").click();
  await card.getByLabel("Private note").press("Escape");
  await page.goto(`${stage.url}/kb`);
  await page.getByRole("searchbox").press("Escape");
  await page.goBack();
  await standing(page, taskId);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await card.focus();
  await page.keyboard.press("Escape");
  await card.getByText("Denied by Abe Approver").waitFor();
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "denied" });
  await page.context().close();
});

test("UI06: a card that stood open for long is decided after a reload; one that closed meanwhile says why", async () => {
  const open = await givenCard(sql, world);
  const closed = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  await standing(page, open.taskId);
  await page.clock.install();
  await page.reload();
  const card = page.locator(`[data-task="${open.taskId}"]`);
  await card.waitFor();
  await page.clock.runFor(5 * 60_000);
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  expect(await decisionOf(sql, open.approvalId)).toMatchObject({ status: "approved" });

  await page.goto(`${stage.url}/tasks/${closed.taskId}`);
  await moveDeadlines(sql, closed.runId, 1);
  const { workspaceId, admin } = world;
  await commitWithin(sql, cancelRun, {
    runId: closed.runId,
    workspaceId,
    userId: admin,
    reason: "not needed any more",
  });
  await page.reload();
  await page.getByText("Canceled").waitFor();
  expect(await page.locator(".card").getByRole("button").count()).toBe(0);
  await page.context().close();
});

test("UI09: a run that ends closes its card, also for who only comes back after a restart", async () => {
  const { taskId, approvalId, runId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  const count = async () => Number((await page.title()).match(/\d+/)?.[0] ?? 0);
  await soon(count).toBeGreaterThan(0);
  const before = await count();
  await stage.stopServer();
  const { workspaceId, admin } = world;
  await commitWithin(sql, cancelRun, { runId, workspaceId, userId: admin, reason: "killed" });
  // The card still stands, and what is said of it does not reach anybody.
  await card.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("The server does not answer").first().waitFor();
  await keepPicture(page, "queue-offline");
  await expectAccessible(page);
  await stage.startServer();
  await card.getByText("Canceled").waitFor({ timeout: 20_000 });
  expect(await card.getByRole("button").count()).toBe(0);
  await soon(count).toBe(before - 1);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "canceled", answer: null });
  await page.context().close();
});

test("UI08: only a final answer settles the card; after every other it stands as before, with what was typed", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await card.getByText("Add words…").click();
  const words = card.getByLabel("To the agent");
  await words.fill("not like this");
  const problem = (status: number, code: string) => ({
    status,
    contentType: "application/problem+json",
    body: JSON.stringify({ code, title: code, detail: `It was answered ${code}.`, status, requestId: "r1" }),
  });
  const answers: readonly { readonly with: (route: Route) => Promise<void>; readonly shown: string }[] = [
    { with: (route) => route.fulfill(problem(409, "in_flight")), shown: "It was answered in_flight." },
    { with: (route) => route.fulfill(problem(412, "stale")), shown: "It was answered stale." },
    { with: (route) => route.fulfill(problem(500, "internal")), shown: "It was answered internal." },
    { with: (route) => route.abort(), shown: "The server does not answer." },
    { with: (route) => route.fulfill({ status: 502, body: "<html>" }), shown: "The server answered 502 with" },
  ];
  for (const answer of answers) {
    await page.route("**/decision", answer.with);
    await standing(page, taskId);
    await card.getByRole("button", { name: "Dismiss" }).click();
    // What was shown of the answer before stands for a moment yet, and some are asked for again.
    await card.getByRole("alert").filter({ hasText: answer.shown }).waitFor({ timeout: 20_000 });
    expect(await words.inputValue()).toBe("not like this");
    await soon(() => card.getByRole("button", { name: "Dismiss" }).isEnabled()).toBe(true);
    await page.unroute("**/decision");
  }
  await expectAccessible(page);
  await keepPicture(page, "queue-refused");
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending", feedback: null });

  // Somebody else was faster, and this page has not heard of it.
  await standing(page, taskId);
  await page.route("**/decision", async (route) => {
    await sql`select 1`;
    const other = await stage.signIn("otherApprover");
    await other.unroute("**/decision");
    const theirs = await standing(other, taskId);
    await theirs.getByRole("button", { name: "Confirm" }).click();
    await theirs.getByText("Approved by Ann Approver").waitFor();
    await other.context().close();
    await route.continue();
  });
  await card.getByRole("button", { name: "Dismiss" }).click();
  await card.getByText("Approved by Ann Approver").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  await page.context().close();
});

test("a kill switch holds a card: it says so, and nothing on it can be pressed", async () => {
  const { taskId, approvalId, runId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  const { workspaceId, admin } = world;
  await killScope(sql, { scope: "workspace", scopeId: workspaceId, workspaceId }, admin, "stop everything");
  await card
    .getByText(/A kill switch holds this workspace\. Nothing is decided .* Ada Admin threw it .*: stop everything/)
    .waitFor();
  expect(await card.getByRole("button", { name: "Confirm" }).isDisabled()).toBe(true);
  await card.focus();
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await keepPicture(page, "queue-held");
  await expectAccessible(page);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  const small = await stage.signIn("viewer", phone);
  await small.goto(`${stage.url}/runs/${runId}`);
  await small
    .getByText(/A kill switch holds this workspace\. Ada Admin threw it .*: stop everything/)
    .first()
    .waitFor();
  await keepPicture(small, "run-held-phone");
  await small.context().close();
  await liftScope(sql, { scope: "workspace", scopeId: workspaceId, workspaceId }, admin);
  await card.getByText("A kill switch holds this workspace").waitFor({ state: "detached" });
  expect(await card.getByRole("button", { name: "Confirm" }).isEnabled()).toBe(true);
  await page.context().close();
});

test("an approver gives a card more time and hands it over; who was named decides on their say", async () => {
  const { taskId, approvalId, runId } = await givenCard(sql, world, { expiresMs: 60_000 });
  await sql`update definition_versions set spec = ${JSON.stringify({
    name: "agent",
    model: "scripted",
    toolset: ["mail.send", "human.ask"],
    approvers: { delegation: "allow" },
  })}::text::json where definition_id = ${world.definitionId}`;
  const page = await stage.signIn("admin");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByText("Add words…").click();
  await card.getByRole("button", { name: "More time…" }).click();
  await page.getByLabel("It expires no earlier than:").selectOption("in a week");
  await expectAccessible(page);
  await page.getByRole("button", { name: "More time to decide" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const [extended] = await sql`
    select expires_at > clock_timestamp() + interval '6 days' as "isLater" from approvals where run_id = ${runId}`;
  expect(extended).toEqual({ isLater: true });
  await card.getByRole("button", { name: "Hand over…" }).click();
  await page.getByLabel("Who").selectOption("Ann Approver");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Hand over", exact: true }).click();
  const answer = page.getByRole("dialog").locator('[role="status"], [role="alert"]');
  await answer.waitFor();
  await keepPicture(page, "hand-over");
  await page.keyboard.press("Escape");
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.context().close();
});

test("UI08: where the browser has no network a decision fails at once, says so, and is not sent by itself later", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  const told = page.getByText("What you see may be old");
  await page.context().setOffline(true);
  await told.waitFor();
  await standing(page, taskId);
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByRole("alert").getByText("The server does not answer.").waitFor();
  await soon(() => card.getByRole("button", { name: "Dismiss" }).isEnabled()).toBe(true);
  await page.context().setOffline(false);
  await told.waitFor({ state: "detached" });
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await standing(page, taskId);
  await card.getByRole("button", { name: "Dismiss" }).click();
  await soon(async () => (await decisionOf(sql, approvalId))?.["status"]).toBe("denied");
  await page.context().close();
});

test("over http on a network one decides and steers as well: what browsers keep for https alone is not needed", async () => {
  const { taskId, approvalId, runId } = await givenCard(sql, world);
  const page = await stage.signIn("admin");
  await page.addInitScript(() => {
    Object.defineProperty(Crypto.prototype, "randomUUID", { value: undefined });
    Object.defineProperty(Crypto.prototype, "subtle", { value: undefined });
  });
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByLabel("Steer this run…").fill("be brief");
  await page.keyboard.press("Enter");
  await soon(async () => (await sql`select from steers where run_id = ${runId}`).length).toBe(1);
  const card = await standing(page, taskId);
  await card.getByRole("button", { name: "Allow once" }).click();
  await soon(async () => (await decisionOf(sql, approvalId))?.["status"]).toBe("approved");
  await page.context().close();
});

test("a card offers to remember an answer only where one can be remembered, and says why not", async () => {
  const { taskId, runId, approvalId } = await givenCard(sql, world);
  await sql`update approvals set gate_row = '10' where id = ${approvalId}`;
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/runs/${runId}`);
  const card = await standing(page, taskId);
  await card
    .getByText("An answer to this cannot be remembered: the tool asks each time, under every policy.")
    .waitFor();
  const buttons = await card.locator(".buttons button").allInnerTexts();
  expect(buttons.map((text) => text.replace(/\s*\d$/, ""))).toEqual(["Allow once", "Deny"]);
  await expectAccessible(page);
  await card.focus();
  await page.keyboard.press("4");
  await soon(async () => (await decisionOf(sql, approvalId))?.["status"]).toBe("denied");
  await page.context().close();
});
