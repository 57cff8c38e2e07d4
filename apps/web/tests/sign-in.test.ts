import { createLoginLink } from "@countersign/server/sessions.ts";
import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture } from "./stage.ts";

const stage = await givenStage();

test("a login link signs in on a click, and signing out ends the session", async () => {
  const page = await stage.signIn("operator");
  await page.getByText("Nothing waits for you.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "empty-queue");
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/login");
  await page.getByText("./countersign login").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "sign-in");
  expect(await page.context().cookies()).toEqual([]);
  await page.context().close();
});

test("whoever is not signed in is led to where one signs in; an address that nothing knows says so, to programs as JSON", async () => {
  const context = await stage.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stage.url}/runs`);
  await page.waitForURL("**/login");
  await context.close();
  const reader = await stage.signIn("viewer");
  const answer = await reader.goto(`${stage.url}/no/such`);
  expect(answer?.status()).toBe(404);
  await reader.getByRole("heading", { name: "There is no such page." }).waitFor();
  const asked = await fetch(`${stage.url}/no/such`);
  expect([asked.status, asked.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  await reader.context().close();
});

test("a sign-out that fails says so; a session that is over already is left all the same", async () => {
  const page = await stage.signIn("operator");
  await page.route("**/v1/tokens/*", (route) => route.abort());
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alert").getByText("The server does not answer.").waitFor();
  await page.unroute("**/v1/tokens/*");
  await stage.sql`update tokens set revoked_at = clock_timestamp() where kind = 'session' and revoked_at is null`;
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/login");
  await page.context().close();
});

test("a login link may be opened in the tab that shows where one signs in, and in that of a link that was used up", async () => {
  const context = await stage.browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stage.url}/login`);
  await page.getByText("./countersign login").waitFor();
  await page.goto(`${stage.url}/login#used-up`);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  const { workspaceId, operator: userId } = stage.world;
  const { path } = await createLoginLink(stage.sql, { workspaceId, userId, mayDecide: true });
  await page.goto(`${stage.url}${path}`);
  await page.getByRole("alert").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/tasks");
  await context.close();
});
