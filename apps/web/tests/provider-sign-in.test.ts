import { createOidc } from "@countersign/server/oidc.ts";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { startProvider } from "./provider.ts";
import { expectAccessible, givenStage, keepPicture } from "./stage.ts";

const provider = await startProvider();
afterAll(() => provider.stop());
const oidc = createOidc({
  issuer: provider.issuer,
  clientId: "countersign",
  clientSecret: "a client secret of the tests",
});
const stage = await givenStage({ oidc });
provider.serve(`${stage.url}/session/oidc/callback`);

/** Goes through the provider as somebody it knows under a name. */
async function signInAs(name: string): Promise<Page> {
  const page = await (await stage.browser.newContext()).newPage();
  await page.goto(`${stage.url}/login`);
  await page.getByRole("link", { name: `Sign in through ${new URL(provider.issuer).host}` }).click();
  await page.locator('input[name="login"]').fill(name);
  await page.locator('input[name="password"]').fill("any");
  await page.getByRole("button").click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${stage.url}/**`);
  return page;
}

const emailOf = (userId: string, email: string) => stage.sql`update users set email = ${email} where id = ${userId}`;

test("a person signs in through the provider, is bound by it from then on, and the audit says how", async () => {
  await emailOf(stage.world.approver, "Abe@Example.test");
  const page = await signInAs("abe");
  await page.waitForURL("**/tasks");
  await page.getByText("Abe Approver").waitFor();
  const [bound] = await stage.sql`select issuer, subject, user_id from identities`;
  expect(bound).toEqual({ issuer: provider.issuer, subject: "abe", user_id: stage.world.approver });
  const [row] = await stage.sql`
    select details->>'way' as way from audit where action = 'session.started' order by id desc limit 1`;
  expect(row?.["way"]).toContain(`${provider.issuer} over web`);

  // The address has done its work; what counts is whom the provider means.
  await emailOf(stage.world.approver, "somebody.else@example.test");
  const again = await signInAs("abe");
  await again.getByText("Abe Approver").waitFor();
});

test("nobody gets in whose address is unknown, unproven, or another's already", async () => {
  await emailOf(stage.world.operator, "unproven.olga@example.test");
  for (const name of ["stranger", "unproven.olga"]) {
    const page = await signInAs(name);
    await page.getByRole("alert").getByText("Ask an administrator").waitFor();
    await expectAccessible(page);
    await keepPicture(page, "sign-in-refused");
    expect(await page.evaluate(async () => (await fetch("/v1/me")).status)).toBe(401);
  }
});

test("an answer that this browser did not ask for, an old one and a made-up one sign nobody in", async () => {
  const page = await (await stage.browser.newContext()).newPage();
  for (const query of ["code=x&state=y", "error=access_denied&state=y", ""]) {
    await page.goto(`${stage.url}/session/oidc/callback?${query}`);
    await page.waitForURL("**/login?refused=**");
    await page.getByRole("alert").waitFor();
  }
  expect(await page.context().cookies()).toEqual([]);
});
