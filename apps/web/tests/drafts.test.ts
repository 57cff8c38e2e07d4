import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { givenStage, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("what was typed, changed and armed on one card is not on another that takes its place", async () => {
  const [first, second] = [
    await givenCard(sql, world, { args: '{"to":"ann"}' }),
    await givenCard(sql, world, { args: '{"to":"bob"}' }),
  ];
  const page = await stage.signIn("approver");
  const link = (taskId: string) => cardOf(page, taskId).getByRole("link", { name: "Link to this card" });
  await link(first.taskId).click();
  await page.waitForURL(`**/tasks/${first.taskId}`);
  await page.getByRole("link", { name: "← All tasks" }).click();
  await link(second.taskId).click();
  await page.waitForURL(`**/tasks/${second.taskId}`);
  const card = await standing(page, second.taskId);
  await card.getByText("Add words…").click();
  await card.getByLabel("To the agent").fill("words for bob");
  await card.getByLabel("Private note").fill("a note on bob");
  await card.getByText("Change the arguments…").click();
  await card.getByLabel("Arguments, all of them").fill('{"to":"mallory"}');
  await standing(page, second.taskId);
  await card.focus();

  await page.clock.install();
  await page.evaluate(() => history.go(-2));
  const other = cardOf(page, first.taskId);
  await other.waitFor();
  expect(await other.getAttribute("data-armed")).toBe("false");
  await other.focus();
  await page.keyboard.press("1");
  await page.clock.runFor(300);
  await page.keyboard.press("1");
  await page.clock.runFor(300);
  await standing(page, first.taskId);
  expect(await decisionOf(sql, first.approvalId)).toMatchObject({ status: "pending" });
  await other.getByText("Add words…").click();
  expect(await other.getByLabel("To the agent").inputValue()).toBe("");
  expect(await other.getByLabel("Private note").inputValue()).toBe("");
  expect(await other.getByLabel("Arguments, all of them").count()).toBe(0);
  await page.clock.runFor(600);
  await other.focus();
  await page.keyboard.press("1");
  await other.getByText("Approved by Abe Approver").waitFor();
  const [row] = await sql`select feedback, note, edited_args from approvals where id = ${first.approvalId}`;
  expect(row).toEqual({ feedback: null, note: null, edited_args: null });
  expect(await decisionOf(sql, second.approvalId)).toMatchObject({ status: "pending" });
  await page.context().close();
});

test("a message to one run is not in the box of another; what is typed while one is sent is the next; nothing seen is nothing said", async () => {
  const [first, second] = [
    await givenRun(sql, world, { title: "the first run", startedBy: world.approver }),
    await givenRun(sql, world, { title: "the second run", startedBy: world.approver }),
  ];
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/runs`);
  await page.getByRole("link", { name: "the first run" }).click();
  await page.waitForURL(`**/runs/${first}`);
  await page.getByRole("link", { name: "← All runs" }).click();
  await page.getByRole("link", { name: "the second run" }).click();
  await page.waitForURL(`**/runs/${second}`);
  const box = page.locator(".steer textarea");
  await box.fill("for the second alone");
  await page.evaluate(() => history.go(-2));
  await page.getByRole("heading", { name: "the first run" }).waitFor();
  expect(await box.inputValue()).toBe("");

  await box.fill("\u200B \u2060");
  expect(await page.locator(".steer button").isDisabled()).toBe(true);
  await box.press("Enter");

  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await page.route("**/steer", async (route) => {
    asked.resolve();
    await go.promise;
    await route.continue();
  });
  await box.fill("one");
  await box.press("Enter");
  await asked.promise;
  await box.pressSequentially(" and two");
  go.resolve();
  await soon(() => box.inputValue()).toBe("and two");
  await page.locator(".steer button:enabled").waitFor();
  await box.press("Enter");
  await soon(() => box.inputValue()).toBe("");
  const steers = await sql`select run_id, content from steers order by n`;
  expect(steers).toEqual([
    { run_id: first, content: '"one"' },
    { run_id: first, content: '"and two"' },
  ]);
  await page.context().close();
});

test("what was written of a page and not saved stands there again after a look elsewhere", async () => {
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/kb`);
  await page.getByRole("button", { name: "New page…" }).click();
  await page.getByLabel("Title").fill("Garden");
  await page.getByRole("button", { name: "Make it" }).click();
  await page.waitForURL("**/kb/pages/*/edit");
  const editor = page.getByLabel(/The page as an outline/);
  const before = await editor.inputValue();
  await editor.fill(`${before}\n- Water the roses\n`);
  await page.getByRole("link", { name: "Read" }).click();
  await editor.waitFor({ state: "detached" });
  await page.goBack();
  await page.getByText("What you wrote here before and did not save.").waitFor();
  expect(await editor.inputValue()).toContain("Water the roses");

  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  await page.route("**/v1/pages/*", async (route) => {
    if (route.request().method() === "PUT") {
      asked.resolve();
      await go.promise;
    }
    await route.continue();
  });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await asked.promise;
  await editor.fill(`${await editor.inputValue()}- And the lilies\n`);
  go.resolve();
  await page.getByText("Saved.").waitFor();
  expect(await editor.inputValue()).toContain("And the lilies");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL(/kb\/pages\/[^/]+$/);
  await page.getByText("And the lilies").waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await editor.waitFor();
  expect(await page.getByText("What you wrote here before").count()).toBe(0);
  await page.context().close();
});
