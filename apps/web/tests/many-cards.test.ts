import { expect, test } from "vitest";
import type { Page } from "playwright-core";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { givenStage, noteLongTasks, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

/** What the page asks of tasks from now on: lists, and single ones. */
function noteReads(page: Page): { readonly lists: string[]; readonly single: string[] } {
  const asked = { lists: [] as string[], single: [] as string[] };
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (request.method() !== "GET") return;
    if (pathname === "/v1/tasks") asked.lists.push(search);
    else if (pathname.startsWith("/v1/tasks/")) asked.single.push(pathname);
  });
  return asked;
}

test("of hundreds of open cards one is decided at once: no list is read for it, and only it is drawn again", async () => {
  const runs = [];
  for (let n = 0; n < 9; n += 1) runs.push(await givenCard(sql, world, { argsHash: `run ${n}`, siblings: 44 }));
  const [first] = runs;
  if (first === undefined) throw new Error("no run");
  const page = await stage.signIn("approver");
  const readLongest = await noteLongTasks(page);
  await page.goto(`${stage.url}/tasks`);
  const more = page.getByRole("button", { name: "Show more" });
  for (let parts = 1; parts < 9; parts += 1) {
    await more.click();
    await page.waitForFunction(
      (count) => document.querySelectorAll(".card").length >= count,
      Math.min(405, parts * 50 + 50),
    );
  }
  expect(await page.locator(".card").count()).toBe(405);
  const card = await standing(page, first.taskId);
  await page.evaluate(() => {
    const drawn = new Set<string>();
    Object.assign(window, { drawn });
    (window as unknown as { tasks: number[] }).tasks.length = 0;
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        const element = target instanceof Element ? target : target.parentElement;
        // Time goes on in all of them.
        if (element?.closest("time") === null) drawn.add(element.closest<HTMLElement>(".card")?.dataset["task"] ?? "");
      }
    }).observe(document.querySelector(".cards") as Element, { subtree: true, childList: true, characterData: true });
  });
  const asked = noteReads(page);
  const clicked = performance.now();
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  console.log(`one of 405 cards was shown as decided after ${Math.round(performance.now() - clicked)} ms`);
  // Once from the decision itself, and once from the news of it.
  await soon(() => asked.single.length).toBeGreaterThanOrEqual(2);
  await soon(() => page.title()).toMatch(/^\(404\)/);
  expect(asked.lists).toEqual([]);
  expect(new Set(asked.single)).toEqual(new Set([`/v1/tasks/${first.taskId}`]));
  expect(asked.single.length).toBeLessThanOrEqual(3);
  expect(await page.evaluate(() => [...(window as unknown as { drawn: Set<string> }).drawn])).toEqual([first.taskId]);
  console.log(`nothing took the page for longer than ${await readLongest()} ms`);
  expect(await decisionOf(sql, first.approvalId)).toMatchObject({ status: "approved" });

  // What comes is added at the end, without reading what was there.
  const added = await givenCard(sql, world, { argsHash: "added" });
  await cardOf(page, added.taskId).waitFor();
  expect(await page.locator(".cards > li:last-child .card").getAttribute("data-task")).toBe(added.taskId);
  expect(asked.lists).toEqual([]);
  await page.context().close();
});

test("the page of one card and the queue say at once how many others ask for the very same", async () => {
  await sql`update tasks set status = 'canceled', resolved_at = clock_timestamp() where status = 'open'`;
  const { taskId } = await givenCard(sql, world, { argsHash: "the same" });
  const page = await stage.signIn("approver");
  const queue = await stage.signIn("otherApprover");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  await standing(page, taskId);
  const other = await givenCard(sql, world, { argsHash: "the same" });
  await cardOf(page, taskId).getByText("1 other card waits for the very same").waitFor();
  await cardOf(queue, taskId).getByText("1 other card waits for the very same").waitFor();
  const elsewhere = await standing(queue, other.taskId);
  await elsewhere.getByRole("button", { name: "Dismiss" }).click();
  await cardOf(page, taskId).getByText("waits for the very same").waitFor({ state: "detached" });
  await page.context().close();
  await queue.context().close();
});

test("nothing is said to wait for nobody before all is read: what lies beyond the first part is read by itself", async () => {
  await sql`update tasks set status = 'canceled', resolved_at = clock_timestamp() where status = 'open'`;
  await sql`
    insert into tasks (id, workspace_id, kind, status, section, title, created_by)
    select uuidv7(), ${world.workspaceId}, 'task', 'open', 'today', 'task ' || n, 'system' from generate_series(1, 60) n`;
  const { taskId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks?kind=approval`);
  await cardOf(page, taskId).waitFor();
  await page.goto(`${stage.url}/tasks?kind=question`);
  await page.getByText("There is no such task.").waitFor();

  await page.goto(`${stage.url}/tasks`);
  await page.getByText("task 50", { exact: true }).waitFor();
  const ids = await page.locator(".card").evaluateAll((cards) => cards.map((card) => card.getAttribute("data-task")));
  expect(ids.length).toBe(50);
  // A few at a time, so that no list is read for them.
  for (let n = 0; n < 50; n += 10) {
    const some = ids.slice(n, n + 10);
    await page.evaluate(
      async (settled) =>
        void (await Promise.all(settled.map((id) => fetch(`/v1/tasks/${id}/done`, { method: "POST" })))),
      some,
    );
    await page.waitForFunction(
      (settled) => settled.every((id) => document.querySelector(`[data-task="${id}"] button`) === null),
      some,
    );
  }
  await page.getByText("task 60", { exact: true }).waitFor();
  await soon(() => page.title()).toMatch(/^\(11\)/);
  await cardOf(page, taskId).waitFor();
  await page.context().close();
});

test("UI27: a card that comes while more wait than are read is announced and told of; an older one that changes is not", async () => {
  await sql`update tasks set status = 'canceled', resolved_at = clock_timestamp() where status = 'open'`;
  const older = await sql<{ id: string }[]>`
    insert into tasks (id, workspace_id, kind, status, section, title, created_by)
    select uuidv7(), ${world.workspaceId}, 'task', 'open', 'today', 'task ' || n, 'system' from generate_series(1, 60) n
    returning id`;
  const page = await stage.signIn("approver");
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(window, { told });
    class Told extends EventTarget {
      static permission = "granted";
      constructor(title: string) {
        super();
        told.push(title);
      }
    }
    Object.defineProperty(window, "Notification", { value: Told });
    localStorage.setItem("countersign.notify", "on");
  });
  await page.goto(`${stage.url}/runs`);
  await soon(() => page.title()).toMatch(/^\(50\+\)/);
  await page.evaluate(() => Object.defineProperty(document, "visibilityState", { value: "hidden" }));
  const asked = noteReads(page);
  const last =
    older
      .map(({ id }) => id)
      .toSorted()
      .at(-1) ?? "";
  await sql`update tasks set title = 'task 60 anew', section = 'someday' where id = ${last}`;
  await givenCard(sql, world, { title: "mail.send: to ann" });
  await page.locator('[aria-live="polite"]').getByText("New card: mail.send: to ann").waitFor({ state: "attached" });
  const told = () => page.evaluate(() => (window as unknown as { told: string[] }).told);
  await soon(told).toEqual(["mail.send"]);
  await soon(() => asked.single).toContain(`/v1/tasks/${last}`);
  expect(await told()).toEqual(["mail.send"]);
  await page.context().close();
});
