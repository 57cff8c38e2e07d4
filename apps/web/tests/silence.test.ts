import { afterAll, expect, test } from "vitest";
import { cardOf, givenCard } from "./cards.ts";
import { startFront } from "./front.ts";
import { givenStage, soon } from "./stage.ts";

const stage = await givenStage({ pingMs: 400 });
const { sql, world } = stage;
const way = await startFront(stage.url);
afterAll(() => way.stop());

test("a stream that died in silence is noticed by what does not come, and another one brings what is new", async () => {
  const page = await stage.signIn("approver", {}, way.url);
  await page.getByText("Nothing waits for you.").waitFor();
  await soon(() => stage.watching()).toBe(1);
  way.freezeStreams();
  const { taskId } = await givenCard(sql, world);
  await cardOf(page, taskId).waitFor();
  // It stays with the new one, on which signs of life come.
  await soon(() => stage.watching()).toBeGreaterThan(0);
  const later = await givenCard(sql, world);
  await cardOf(page, later.taskId).waitFor();
  expect(await page.locator(".banner").count()).toBe(0);
  await page.context().close();
});
