import { afterAll, expect, test } from "vitest";
import { cardOf, givenCard } from "./cards.ts";
import { startFront } from "./front.ts";
import { givenStage, soon } from "./stage.ts";

const stage = await givenStage({ pingMs: 1_000 });
const { sql, world } = stage;
const way = await startFront(stage.url);
afterAll(() => way.stop());

test("a stream that died in silence is noticed by what does not come, and another one brings what is new", async () => {
  const page = await stage.signIn("approver", {}, way.url);
  await page.getByText("Nothing waits for you.").waitFor();
  await soon(() => stage.watching()).toBe(1);
  way.freezeStreams();
  const { taskId } = await givenCard(sql, world);
  // On a busy machine signs of life are late, too, and a stream or two are given up before one stays.
  await cardOf(page, taskId).waitFor({ timeout: 60_000 });
  // It stays with the new one, on which signs of life come.
  await soon(() => stage.watching()).toBeGreaterThan(0);
  const later = await givenCard(sql, world);
  await cardOf(page, later.taskId).waitFor();
  expect(await page.locator(".banner").count()).toBe(0);
  await page.context().close();
});
