import { expect, test } from "vitest";
import { decisionOf, givenCard, standing } from "./cards.ts";
import { givenStage, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test.each([
  ["a phone", phone],
  ["a narrow window", { viewport: { width: 560, height: 900 } }],
] as const)(
  "buttons that move under the pointer on %s decide nothing until they have stood still",
  async (name, options) => {
    const given = { argsHash: name };
    const { taskId, approvalId } = await givenCard(sql, world, given);
    const page = await stage.signIn("approver", options);
    const card = await standing(page, taskId);
    const confirm = card.getByRole("button", { name: "Confirm" });
    const topOf = () => confirm.evaluate((button) => button.closest(".card-foot")?.getBoundingClientRect().bottom ?? 0);
    const before = await topOf();
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 1_000);

    // Another run asks for the very same: a line more, above the buttons.
    await givenCard(sql, world, given);
    await expect
      .poll(
        async () => {
          await page.clock.runFor(40);
          return (await topOf()) - before;
        },
        { timeout: 45_000 },
      )
      .toBeGreaterThan(5);
    expect(await card.getAttribute("data-armed")).toBe("false");
    await confirm.evaluate((button) => (button as HTMLElement).click());
    await page.clock.runFor(40);
    expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });

    await page.clock.resume();
    await standing(page, taskId);
    await confirm.click();
    await soon(() => decisionOf(sql, approvalId)).toMatchObject({ status: "approved" });
    await sql`update tasks set status = 'canceled', resolved_at = clock_timestamp() where status = 'open'`;
    await page.context().close();
  },
);

test("what is scrolled on a phone has not moved", async () => {
  const body = { details: Array.from({ length: 60 }, (_, n) => `line ${n}`) };
  const { taskId, approvalId } = await givenCard(sql, world, { body });
  const page = await stage.signIn("approver", phone);
  const card = await standing(page, taskId);
  for (const to of [300, 1_200, 5_000]) {
    await page.evaluate((top) => scrollTo(0, top), to);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    expect(await card.getAttribute("data-armed")).toBe("true");
  }
  await page.evaluate(() => scrollTo(0, 300));
  await card.getByRole("button", { name: "Confirm" }).evaluate((button) => (button as HTMLElement).click());
  await soon(() => decisionOf(sql, approvalId)).toMatchObject({ status: "approved" });
  await page.context().close();
});

test("a line that takes room between others moves nothing unseen: more words, another width, a longer button", async () => {
  const { taskId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  for (const move of [
    () => card.getByText("Add words…").click(),
    () => page.setViewportSize({ width: 700, height: 900 }),
    () =>
      card
        .locator(".buttons button")
        .first()
        .evaluate((button) => button.append(" and more")),
  ]) {
    await card.evaluate((element) => {
      const seen = Object.assign(window, { isMoved: false });
      new MutationObserver(() => {
        if (element.dataset["armed"] === "false") seen.isMoved = true;
      }).observe(element, { attributeFilter: ["data-armed"] });
    });
    await move();
    await page.waitForFunction(() => (window as unknown as { isMoved: boolean }).isMoved);
    await standing(page, taskId);
  }
  await page.context().close();
});
