import { afterAll, expect, test } from "vitest";
import { cardOf, givenCard, standing } from "./cards.ts";
import { startHoldingProxy } from "./front.ts";
import { expectAccessible, givenStage, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;
const holding = await startHoldingProxy(stage.url);
afterAll(() => holding.stop());

test("UI24: eight tabs of one browser on HTTP/1.1 all load, answer at once, and hold one stream", async () => {
  const first = await stage.signIn("operator", phone);
  const tabs = await Promise.all(
    Array.from({ length: 7 }, async () => {
      const tab = await first.context().newPage();
      await tab.goto(`${stage.url}/tasks`);
      await tab.getByText("Nothing waits for you.").waitFor();
      return tab;
    }),
  );
  await soon(() => stage.watching()).toBe(1);
  for (const tab of [first, ...tabs]) {
    const answer = await tab.evaluate(async () => (await fetch("/v1/me")).status);
    expect(answer).toBe(200);
  }
  expect(stage.watching()).toBe(1);
  // All of them hear what comes.
  const { taskId } = await givenCard(sql, world);
  for (const tab of [first, ...tabs]) await cardOf(tab, taskId).waitFor();
  await first.context().close();
  await soon(() => stage.watching()).toBe(0);
});

test("behind a proxy that holds answers back nothing is told, so the page says so and asks by itself", async () => {
  const page = await stage.signIn("approver", {}, holding.url);
  await page.getByText("this page asks for them every few seconds").waitFor({ timeout: 20_000 });
  await expectAccessible(page);
  const { taskId } = await givenCard(sql, world);
  await cardOf(page, taskId).waitFor({ timeout: 20_000 });
  await standing(page, taskId);
  await cardOf(page, taskId).getByRole("button", { name: "Confirm" }).click();
  await cardOf(page, taskId).getByText("Approved by Abe Approver").waitFor();
  await page.context().close();
});

test("a page of an older version says that there is a new one, and offers it", async () => {
  const page = await stage.signIn("viewer");
  await page.route("**/login", async (route) => {
    await route.fulfill({
      contentType: "text/html",
      body: '<script type="module" src="/assets/index-another.js"></script>',
    });
  });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.getByText("A new version of these pages is here.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "new-version");
  await page.unroute("**/login");
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByText("Waiting for you").waitFor();
  await page.getByText("A new version of these pages is here.").waitFor({ state: "detached" });
  await page.context().close();
});

test("notifications are off until asked for, say the tool's name alone, and only while no page is in sight", async () => {
  const page = await stage.signIn("approver", { permissions: ["notifications"] });
  await page.addInitScript(() => {
    const told: string[] = [];
    Object.assign(window, { told });
    class Told extends EventTarget {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      constructor(title: string, options: { tag: string; body?: string }) {
        super();
        told.push(JSON.stringify([title, options.body ?? null]));
      }
    }
    Object.defineProperty(window, "Notification", { value: Told });
  });
  await page.goto(`${stage.url}/admin/account`);
  const told = () => page.evaluate(() => (window as unknown as { told: string[] }).told);
  const hide = () =>
    page.evaluate(() => Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true }));
  await hide();
  const count = async () => Number((await page.title()).match(/\d+/)?.[0] ?? 0);
  const before = await sql`select from tasks where status = 'open'`;
  await soon(count).toBe(before.length);
  await givenCard(sql, world, { title: "mail.send: a secret letter" });
  await soon(count).toBe(before.length + 1);
  expect(await told()).toEqual([]);
  await page.getByLabel(/Tell me of new cards/).check();
  const sample = JSON.stringify(["New cards are told of like this.", null]);
  await soon(told).toEqual([sample]);
  const { taskId } = await givenCard(sql, world, { title: "mail.send: a secret letter", args: '{"to":"ann"}' });
  await soon(told).toEqual([sample, JSON.stringify(["mail.send", null])]);
  expect(taskId).not.toBe("");
  await expectAccessible(page);
  await page.context().close();
});

test("where the browser permits notifications and makes none, they stay off, and a card that comes harms nothing", async () => {
  const page = await stage.signIn("approver");
  await page.addInitScript(() => {
    class Forbidden {
      static permission = "granted";
      static requestPermission = () => Promise.resolve("granted");
      constructor() {
        throw new TypeError("Illegal constructor. Use ServiceWorkerRegistration.showNotification() instead.");
      }
    }
    Object.defineProperty(window, "Notification", { value: Forbidden });
    // From a time when it was another browser.
    localStorage.setItem("countersign.notify", "on");
  });
  await page.goto(`${stage.url}/admin/account`);
  const count = async () => Number((await page.title()).match(/\d+/)?.[0] ?? 0);
  const before = (await sql`select from tasks where status = 'open'`).length;
  await soon(count).toBe(before);
  await page.evaluate(() => Object.defineProperty(document, "visibilityState", { value: "hidden" }));
  await givenCard(sql, world);
  await soon(count).toBe(before + 1);
  const box = page.getByLabel(/Tell me of new cards/);
  await box.click();
  await soon(() => box.isChecked()).toBe(false);
  await box.click();
  await page.getByText("The browser does not allow it").waitFor();
  expect(await box.isChecked()).toBe(false);
  await page.context().close();
});

test("a session that ended elsewhere is said on the page, with a way back in", async () => {
  const page = await stage.signIn("viewer");
  // Who was never shown anything is led to where one signs in.
  await page.locator(".top").getByText("Vic Viewer").waitFor();
  await sql`update tokens set revoked_at = clock_timestamp() where user_id = ${world.viewer}`;
  await stage.stopServer();
  await stage.startServer();
  await page.getByText("You are signed out.").waitFor({ timeout: 20_000 });
  await expectAccessible(page);
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByText("./countersign login").waitFor();
  await page.context().close();
});
