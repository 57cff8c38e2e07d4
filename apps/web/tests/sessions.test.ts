import { createLoginLink } from "@countersign/server/sessions.ts";
import type { BrowserContext, Page } from "playwright-core";
import { expect, test } from "vitest";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { expectAccessible, givenStage, keepPicture, type Role, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

/** A further tab of a browser, in which somebody signs in. */
async function signInBeside(context: BrowserContext, role: Role): Promise<Page> {
  const { workspaceId } = world;
  const { path } = await createLoginLink(sql, { workspaceId, userId: world[role], mayDecide: true });
  const tab = await context.newPage();
  await tab.goto(`${stage.url}${path}`);
  await tab.getByRole("button", { name: "Sign in" }).click();
  return tab;
}

const hidden = { sharedWorker: "SharedWorker", channel: "BroadcastChannel" } as const;

/** From the page's next load on it has no such thing. */
async function without(page: Page, what: keyof typeof hidden): Promise<void> {
  await page.addInitScript((name) => void Reflect.deleteProperty(window, name), hidden[what]);
  await page.reload();
}

test("where another account signs in in the browser, every tab is the new one's at once, the stream too, and the old session has ended", async () => {
  const page = await stage.signIn("approver");
  await page.locator(".who").getByText("Abe Approver").waitFor();
  const [before] = await sql`select id from tokens where user_id = ${world.approver} and kind = 'session'`;
  const beside = await signInBeside(page.context(), "admin");
  await beside.waitForURL("**/tasks");
  await page.locator(".who").getByText("Ada Admin").waitFor();
  const [ended] = await sql`select revoked_at from tokens where id = ${before?.["id"] as string}`;
  expect(ended?.["revoked_at"]).not.toBeNull();
  const [row] =
    await sql`select details->>'way' as way from audit where subject = ${before?.["id"] as string} and action = 'token.revoked'`;
  expect(row?.["way"]).toMatch(/^signing in anew over web, session:/);
  const { taskId } = await givenCard(sql, world);
  for (const tab of [page, beside]) await cardOf(tab, taskId).waitFor();
  expect(stage.watching()).toBe(1);
  await page.context().close();
});

test("a tab that was not told decides nothing as the new account: it is refused and drawn anew", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  await without(page, "channel");
  await standing(page, taskId);
  const answers: (readonly [number, string])[] = [];
  await page.route("**/decision", async (route) => {
    const response = await route.fetch();
    const { code } = (await response.json()) as { code: string };
    answers.push([response.status(), code]);
    await route.fulfill({ response });
  });
  // What is read anew meanwhile finds out as well; the page is kept from that.
  await page.route("**/v1/me", (route) => route.abort());
  await page.route("**/v1/tasks?*", (route) => route.abort());
  await page.route("**/v1/events", (route) => route.abort());
  const { workspaceId } = world;
  const { path } = await createLoginLink(sql, { workspaceId, userId: world.admin, mayDecide: true });
  const code = path.slice(path.indexOf("#") + 1);
  expect((await page.context().request.post(`${stage.url}/session`, { data: { code } })).status()).toBe(200);
  await cardOf(page, taskId).getByRole("button", { name: "Confirm" }).click();
  await soon(() => answers).toEqual([[409, "another_account"]]);
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.unrouteAll();
  await page.locator(".who").getByText("Ada Admin").waitFor();
  await page.context().close();
});

test("a browser that shares no worker between its tabs is as live, with a stream for each tab that is looked at", async () => {
  const page = await stage.signIn("approver");
  await without(page, "sharedWorker");
  await page.locator(".who").getByText("Abe Approver").waitFor();
  const { taskId, approvalId } = await givenCard(sql, world);
  await standing(page, taskId);
  expect(await page.locator(".banner").count()).toBe(0);
  const isSeen = (state: string) =>
    page.evaluate((value) => {
      Object.defineProperty(document, "visibilityState", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await isSeen("hidden");
  await soon(() => stage.watching()).toBe(0);
  // A network that comes back brings no stream to who is not looked at.
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.evaluate(async () => {
    dispatchEvent(new Event("online"));
    await fetch("/health/live");
  });
  expect(asked).toContain("/health/live");
  expect(asked).not.toContain("/v1/events");
  const later = await givenCard(sql, world);
  await isSeen("visible");
  await standing(page, later.taskId);
  await cardOf(page, taskId).getByRole("button", { name: "Confirm" }).click();
  await cardOf(page, taskId).getByText("Approved by Abe Approver").waitFor();
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "approved" });
  await page.close();
  await soon(() => stage.watching()).toBe(0);
});

test("a role that is taken away and a session that is ended show within seconds in a page that is open", async () => {
  const { taskId } = await givenCard(sql, world);
  const page = await stage.signIn("otherApprover");
  const card = await standing(page, taskId);
  await card.getByRole("button", { name: "Confirm" }).waitFor();
  await sql`update users set role = 'viewer' where id = ${world.otherApprover}`;
  await card.getByText("Deciding needs the role approver.").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  await sql`update users set role = 'approver' where id = ${world.otherApprover}`;
  await card.getByRole("button", { name: "Confirm" }).waitFor();
  await sql`update tokens set revoked_at = clock_timestamp() where user_id = ${world.otherApprover}`;
  await page.getByText("You are signed out.").waitFor();
  await page.context().close();
});

test("whoever reads only has nothing to press on tasks and questions", async () => {
  const taskId = await sql<{ id: string }[]>`
    insert into tasks (id, workspace_id, kind, status, section, title, created_by)
    values (gen_random_uuid(), ${world.workspaceId}, 'task', 'open', 'needs-confirm', 'Water the roses', ${world.admin}) returning id`;
  const page = await stage.signIn("viewer");
  const card = cardOf(page, taskId[0]?.id ?? "");
  await card.getByText("Answering or closing this needs the role operator.").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  await card.focus();
  await page.keyboard.press("1");
  await page.keyboard.press("Escape");
  await expectAccessible(page);
  await keepPicture(page, "viewer-card");
  const [row] = await sql`select status from tasks where id = ${taskId[0]?.id ?? ""}`;
  expect(row?.["status"]).toBe("open");
  await page.context().close();
});

test("the address that was asked for is shown after the sign-in, also where the link is opened by itself, and never another's", async () => {
  const context = await stage.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stage.url}/runs?status=failed#there`);
  await page.waitForURL("**/login");
  await page.getByText("./countersign login").waitFor();
  const tab = await signInBeside(context, "viewer");
  await tab.waitForURL("**/runs?status=failed#there");
  await tab.getByRole("button", { name: "Sign out" }).click();
  await tab.waitForURL("**/login");
  await tab.evaluate(() =>
    localStorage.setItem("countersign.goal", JSON.stringify({ path: "//evil.example/tasks", at: Date.now() })),
  );
  const again = await signInBeside(context, "viewer");
  await again.waitForURL(`${stage.url}/tasks`);
  await again.goto(`${stage.url}/login?refused=Call%20%2B1%20555%20and%20say%20your%20code`);
  await again.getByRole("alert").getByText("Signing in failed. Try again.").waitFor();
  expect(await again.getByText("555").count()).toBe(0);
  await context.close();
});

test("a sign-out that fails says so", async () => {
  const page = await stage.signIn("viewer");
  await page.route("**/v1/tokens/*", (route) =>
    route.fulfill({
      status: 503,
      json: { code: "busy", title: "Held up", detail: "The database is busy.", status: 503, requestId: "r" },
    }),
  );
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alert").getByText("The database is busy.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "sign-out-refused");
  await page.unrouteAll();
  await sql`update tokens set revoked_at = clock_timestamp() where user_id = ${world.viewer}`;
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/login");
  await page.context().close();
});

test("without a network nothing waits in silence: what is sent fails aloud, is not sent later by itself, and a server on this machine is reached", async () => {
  const { taskId, approvalId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  // As over plain HTTP under a name.
  await page.addInitScript(() => Reflect.deleteProperty(Crypto.prototype, "randomUUID"));
  await page.reload();
  const card = await standing(page, taskId);
  await page.context().setOffline(true);
  await page.getByText("The server does not answer. What you see may be old").waitFor();
  await standing(page, taskId);
  await card.getByRole("button", { name: "Dismiss" }).click();
  await card.getByRole("alert").getByText("The server does not answer.").waitFor();
  await page.context().setOffline(false);
  await page.locator(".banner").waitFor({ state: "detached" });
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
  await page.evaluate(() => {
    Object.defineProperty(navigator, "onLine", { value: false, configurable: true });
    dispatchEvent(new Event("offline"));
  });
  await standing(page, taskId);
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "approved" });
  await page.context().close();
});
