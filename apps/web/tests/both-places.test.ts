import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { startFront } from "./front.ts";
import { givenStage, soon } from "./stage.ts";

// The server never looks for changes by itself: whatever comes, comes because the bell said so.
const stage = await givenStage({ pollMs: 3_600_000 });
const { sql, world } = stage;
/** A way to the server that is cut off for some of its browsers alone. */
const way = await startFront(stage.url);
afterAll(() => way.stop());

interface Noted {
  noted?: Promise<number>;
  wasReloaded?: false;
}

/** From now on the page notes by itself, at the moment it is drawn, when its card of the task says this. */
async function note(page: Page, taskId: string, text: string): Promise<void> {
  await page.evaluate(
    ([id, said]) => {
      const noted = new Promise<number>((done) => {
        const look = (): void => {
          if (document.querySelector(`[data-task="${id}"]`)?.textContent?.includes(said) !== true) return;
          observer.disconnect();
          done(performance.timeOrigin + performance.now());
        };
        const observer = new MutationObserver(look);
        observer.observe(document.body, { subtree: true, childList: true, characterData: true });
        look();
      });
      Object.assign(window, { noted, wasReloaded: false } satisfies Noted);
    },
    [taskId, text] as const,
  );
}

/** When the page that decided had its answer. */
async function answeredAt(page: Page): Promise<number> {
  const read = () =>
    page.evaluate(() => {
      const answers = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      const end = answers.findLast(({ name }) => name.endsWith("/decision"))?.responseEnd ?? 0;
      return end === 0 ? 0 : performance.timeOrigin + end;
    });
  await soon(read).toBeGreaterThan(0);
  return await read();
}

/** Decides in one page and sees it settle in the other, which asks for nothing by itself meanwhile. */
async function decide(there: Page, here: Page, taskId: string, button: string, text: string): Promise<number> {
  const asked: string[] = [];
  const listen = (request: { url(): string }): void => void asked.push(new URL(request.url()).pathname);
  await standing(there, taskId);
  await standing(here, taskId);
  await soon(() => stage.watching()).toBe(2);
  await note(here, taskId, text);
  here.on("request", listen);
  await cardOf(there, taskId).getByRole("button", { name: button }).click();
  const shown = cardOf(here, taskId);
  await shown.getByText(text).waitFor();
  const shownAt = await here.evaluate(() => (window as unknown as Noted).noted ?? 0);
  const tookMs = Math.round(shownAt - (await answeredAt(there)));
  here.off("request", listen);
  // Not polled, not reloaded; what was settled has nothing left to press.
  expect(asked).not.toContain("/v1/me");
  expect(await here.evaluate(() => (window as unknown as Noted).wasReloaded)).toBe(false);
  for (const page of [there, here]) {
    await cardOf(page, taskId).getByText(text).waitFor();
    await soon(() => cardOf(page, taskId).getByRole("button").count()).toBe(0);
  }
  return tookMs;
}

test("a card decided in the queue or on its run settles in the other browser at once, also after the server went away", async () => {
  const cards = [];
  for (let n = 0; n < 4; n += 1) cards.push(await givenCard(sql, world));
  const queue = await stage.signIn("approver");
  const run = await stage.signIn("otherApprover");
  const took: number[] = [];

  for (const [n, card] of cards.entries()) {
    await run.goto(`${stage.url}/runs/${card.runId}`);
    if (n === 2) {
      await stage.stopServer();
      for (const page of [queue, run]) await page.getByText("The server does not answer.").waitFor();
      await stage.startServer();
      for (const page of [queue, run]) {
        await page.getByText("The server does not answer.").waitFor({ state: "detached" });
      }
    }
    const isFromQueue = n % 2 === 0;
    took.push(
      isFromQueue
        ? await decide(queue, run, card.taskId, "Dismiss", "Denied by Abe Approver")
        : await decide(run, queue, card.taskId, "Allow once", "Approved by Ann Approver"),
    );
    const decision = await decisionOf(sql, card.approvalId);
    expect(decision).toMatchObject({ status: isFromQueue ? "denied" : "approved" });
  }
  console.log(`Settled in the other browser ${took.join(", ")} ms after the decision was answered.`);

  // Back and reload find the same.
  const last = cards[3];
  await run.reload();
  await run.getByText("Tools", { exact: true }).waitFor();
  expect(await run.locator(".card.waits").count()).toBe(0);
  await queue.reload();
  await queue.getByText("Waiting for you").waitFor();
  expect(await cardOf(queue, last?.taskId ?? "").count()).toBe(0);
  await queue.context().close();
  await run.context().close();
});

test("a browser that is cut off claims nothing; what was decided meanwhile settles there as soon as it is back", async () => {
  const { runId, taskId, approvalId } = await givenCard(sql, world);
  const queue = await stage.signIn("approver");
  const run = await stage.signIn("otherApprover", {}, way.url);
  await run.goto(`${way.url}/runs/${runId}`);
  await standing(run, taskId);
  await standing(queue, taskId);
  way.leadNowhere();
  await run.getByText("The server does not answer.").waitFor();
  await cardOf(queue, taskId).getByRole("button", { name: "Confirm" }).click();
  await cardOf(queue, taskId).getByText("Approved by Abe Approver").waitFor();
  // What says that nobody answers has moved the card.
  await standing(run, taskId);
  await cardOf(run, taskId).getByRole("button", { name: "Deny" }).click();
  await run.getByRole("alert").getByText("The server does not answer.").waitFor();
  way.leadTo(stage.url);
  await cardOf(run, taskId).getByText("Approved by Abe Approver").waitFor();
  expect(await cardOf(run, taskId).getByRole("button").count()).toBe(0);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "approved" });
  await queue.context().close();
  await run.context().close();
});

test("a laptop that slept for a minute trusts neither what it shows nor a stream that only looks alive", async () => {
  const [first, second] = [await givenCard(sql, world), await givenCard(sql, world)];
  const queue = await stage.signIn("approver");
  const laptop = await stage.signIn("otherApprover", {}, way.url);
  await laptop.clock.install();
  await laptop.goto(`${way.url}/tasks`);
  await standing(laptop, first.taskId);
  await soon(() => stage.watching()).toBe(2);
  way.freezeStreams();
  await standing(queue, first.taskId);
  await cardOf(queue, first.taskId).getByRole("button", { name: "Confirm" }).click();
  await cardOf(queue, first.taskId).getByText("Approved by Abe Approver").waitFor();
  // Asleep it hears of nothing.
  expect(await cardOf(laptop, first.taskId).getByRole("button", { name: "Confirm" }).count()).toBe(1);

  await laptop.clock.fastForward(65_000);
  await cardOf(laptop, first.taskId).getByText("Approved by Abe Approver").waitFor();
  // The stream is another one: by the frozen one it would never hear of what happens from now on.
  await standing(queue, second.taskId);
  await cardOf(queue, second.taskId).getByRole("button", { name: "Dismiss" }).click();
  await cardOf(laptop, second.taskId).getByText("Denied by Abe Approver").waitFor();
  expect(await laptop.getByText("The server does not answer.").count()).toBe(0);
  expect(await decisionOf(sql, second.approvalId)).toMatchObject({ status: "denied" });
  await queue.context().close();
  await laptop.context().close();
});
