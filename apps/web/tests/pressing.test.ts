import { givenQuestionRun } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { expectAccessible, givenStage, keepPicture, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("a dialog gives the focus back to what opened it, by whatever it is closed, and else to the card it was opened on", async () => {
  const { taskId, approvalId } = await givenCard(sql, world, { body: { units: ["one", "two"] } });
  const page = await stage.signIn("approver");
  const opener = page.getByRole("button", { name: "New task…" });
  for (const close of [
    () => page.keyboard.press("Escape"),
    () => page.getByRole("button", { name: "Cancel" }).click(),
  ]) {
    await opener.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await close();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.textContent === "New task…");
  }
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.focus();
  await page.keyboard.press("3");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForFunction((id) => (document.activeElement as HTMLElement).dataset["task"] === id, taskId);
  // The button that opened it cannot be pressed any more once the card is decided.
  await page.route("**/decision", (route) =>
    route.fulfill({
      status: 503,
      json: { code: "cannot_seal", detail: "Not now.", status: 503, title: "", requestId: "r" },
    }),
  );
  await standing(page, taskId);
  await card.getByRole("button", { name: "Always allow…" }).click();
  await page.getByRole("button", { name: "Allow, and remember" }).click();
  await card.getByText("Not now.").waitFor();
  await page.waitForFunction((id) => document.activeElement?.closest(`[data-task="${id}"]`) !== null, taskId);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.context().close();
});

test("a card that is decided by a key keeps the focus where it was", async () => {
  const { taskId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await card.focus();
  await page.keyboard.press("1");
  await card.getByText("Approved by Abe Approver").waitFor();
  await page.locator(".list-note").waitFor();
  expect(await card.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.context().close();
});

test("what cannot be seen in the box of arguments is said beside it, and a key that stands twice is refused", async () => {
  const { taskId, approvalId } = await givenCard(sql, world, { args: '{"to":"ann\u202E\u200B"}' });
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByText("Add words…").click();
  await card.getByText("Change the arguments…").click();
  await card.getByText("2 places in these arguments cannot be seen in the box.").waitFor();
  const box = card.getByLabel("Arguments, all of them");
  await card.locator(".say-more .exact").getByText("⟨U+202E⟩").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "edit-unseen");
  await box.fill('{"to":"bob","to":"mallory"}');
  expect(await card.getByText("cannot be seen in the box").count()).toBe(0);
  await standing(page, taskId);
  await card.getByRole("button", { name: "Allow once, as changed" }).click();
  await card.getByRole("alert").getByText('holds the key "to" twice').waitFor();
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.context().close();
});

test("an empty option of a question is named and cannot be chosen", async () => {
  const { runId } = await givenQuestionRun(sql, world, { options: ["", "  ", "the left one"] });
  const [task] = await sql<{ id: string }[]>`select id from tasks where run_id = ${runId}`;
  const page = await stage.signIn("operator");
  const card = await standing(page, task?.id ?? "");
  const empty = card.getByRole("button", { name: "an empty answer, which cannot be given" });
  expect(await empty.isDisabled()).toBe(true);
  expect(await card.getByRole("button", { name: "2 spaces" }).isDisabled()).toBe(true);
  await card.focus();
  await page.keyboard.press("1");
  await page.keyboard.press("3");
  await card.getByText("Answered by Olga Operator").waitFor();
  const [question] = await sql`select answer from questions where run_id = ${runId}`;
  expect(question?.["answer"]).toBe("the left one");
  await page.context().close();
});

test("a card whose buttons moved is not pressed for half a second", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await page.clock.install();
  await card.evaluate((element) => {
    const more = document.createElement("p");
    more.textContent = "One more fact";
    element.querySelector(".facts")?.append(more);
  });
  await soon(() => card.getAttribute("data-armed")).toBe("false");
  await card.getByRole("button", { name: "Confirm" }).click();
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.clock.runFor(600);
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  expect(await cardOf(page, taskId).count()).toBe(1);
  await page.context().close();
});
