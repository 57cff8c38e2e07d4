import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { givenCard } from "./cards.ts";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

const sections = ["definitions", "rules", "secrets", "people", "webhooks", "audit", "kill", "account"] as const;

/** What of a hostile text a one-line name may hold. */
const hostileLine = hostile.replaceAll(/[\u202E\u200B\u001B]/g, "").slice(0, 90);

const open = async (page: Page, section: string) => {
  await page.goto(`${stage.url}/admin/${section}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByText("Loading…").first().waitFor({ state: "detached" });
};

test("every part of the administration is there for an administrator, on a large screen and a small one", async () => {
  await givenCard(sql, world);
  const page = await stage.signIn("admin");
  const small = await stage.signIn("admin", phone);
  for (const section of sections) {
    await open(page, section);
    await expectAccessible(page);
    await keepPicture(page, `admin-${section}`);
    await open(small, section);
    await expectAccessible(small);
    await keepPicture(small, `admin-${section}-phone`);
  }
  await page.context().close();
  await small.context().close();
});

test("a viewer sees what they may, and is told plainly of what they may not", async () => {
  const page = await stage.signIn("viewer");
  for (const section of sections) {
    await open(page, section);
    await expectAccessible(page);
    const isClosed = ["secrets", "people", "webhooks", "audit"].includes(section);
    expect(await page.getByText("This is for administrators.").count(), section).toBe(isClosed ? 1 : 0);
    for (const offer of ["New agent…", "Set a secret…", "New account…", "New webhook…", "Hold it"]) {
      expect(await page.getByRole("button", { name: offer }).count(), `${section}: ${offer}`).toBe(0);
    }
  }
  await page.context().close();
});

test("a secret is written, and its value is nowhere on the page afterwards; removing it asks first", async () => {
  const value = "sk-live-0123456789abcdef";
  const page = await stage.signIn("admin");
  const answers: string[] = [];
  page.on("response", (response) => {
    if (response.url().includes("/v1/secrets"))
      void response.text().then(
        (text) => answers.push(text),
        () => undefined,
      );
  });
  await open(page, "secrets");
  await page.getByRole("button", { name: "Set a secret…" }).click();
  await page.getByLabel("Name").fill("mail-key");
  await page.getByLabel("Gives reach to").fill("llm.anthropic");
  await page.getByLabel("Value").fill(value);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("cell", { name: "mail-key", exact: true }).waitFor();
  const whole = await page.evaluate(() => [
    document.documentElement.outerHTML,
    JSON.stringify(Object.entries(localStorage)),
    JSON.stringify(Object.entries(sessionStorage)),
    ...[...document.querySelectorAll("input")].map((input) => input.value),
  ]);
  expect([...whole, ...answers].join("\n")).not.toContain(value);
  await page.getByRole("button", { name: "Remove…" }).click();
  await expectAccessible(page);
  await page
    .getByRole("button", { name: "No" })
    .or(page.getByRole("button", { name: "Cancel" }))
    .first()
    .click();
  await page.getByRole("cell", { name: "mail-key", exact: true }).waitFor();
  await page.getByRole("button", { name: "Remove…" }).click();
  await page.getByRole("button", { name: "Yes, do it" }).click();
  await page.getByRole("cell", { name: "mail-key", exact: true }).waitFor({ state: "detached" });
  await page.context().close();
});

test("an agent gets a new version after a look at what would change, and its history shows both", async () => {
  const page = await stage.signIn("admin");
  await open(page, "definitions");
  await page.getByRole("button", { name: "Edit…" }).first().click();
  const spec = page.getByLabel("Definition, as JSON");
  const before = JSON.parse(await spec.inputValue()) as Record<string, unknown>;
  await spec.fill("{ not json");
  await page.getByText("This is not JSON yet.").waitFor();
  await spec.fill(JSON.stringify({ ...before, instructions: `Be kind. ${hostileLine}` }));
  await page.getByRole("button", { name: "Show what would change" }).click();
  await page.getByText(/^instructions: /).waitFor();
  await expectClean(page);
  await expectAccessible(page);
  await keepPicture(page, "admin-definition-change");
  await page.getByRole("button", { name: "Make it a version" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const [row] = await sql`select current_version as version from definitions where id = ${world.definitionId}`;
  expect(row).toEqual({ version: 2 });
  await page.getByRole("button", { name: "Versions" }).first().click();
  await page.getByRole("dialog").getByText("Against version 1").waitFor();
  await page
    .getByRole("dialog")
    .getByText(/^\+ +"instructions": "Be kind/)
    .waitFor();
  await expectAccessible(page);
  await keepPicture(page, "admin-definition-history");
  await page.context().close();
});

test("the difference beside a definition, a verdict and a trial are of the text beside them", async () => {
  const page = await stage.signIn("admin");
  await open(page, "definitions");
  await page.getByRole("button", { name: "Edit…" }).first().click();
  const dialog = page.getByRole("dialog");
  const box = dialog.getByLabel("Definition, as JSON");
  const spec = JSON.parse(await box.inputValue()) as object;
  await box.fill(JSON.stringify({ ...spec, description: "harmless" }));
  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByText(/^description: .*harmless/).waitFor();
  await box.fill(JSON.stringify({ ...spec, approvalPolicy: "none" }));
  await dialog.getByText(/^description: .*harmless/).waitFor({ state: "detached" });
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await open(page, "rules");
  await page.getByLabel("Tool", { exact: true }).fill("mail.send");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByText("Verdict:").waitFor();
  await page.getByLabel("Arguments, as JSON").fill('{"to":"ann"}');
  await page.getByText("Verdict:").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText(/Of \d+ calls/).waitFor();
  await page.getByLabel("Rules, as JSON").fill('{"rules":[]}');
  await page.getByText(/Of \d+ calls/).waitFor({ state: "detached" });
  await page.context().close();
});

test("a tool is set off and back, a rule is written, explained, tried on past calls and revoked", async () => {
  await givenCard(sql, world);
  const page = await stage.signIn("admin");
  await open(page, "rules");
  const control = page.getByRole("group", { name: "mail.send", exact: true });
  await control.getByRole("button", { name: "Off" }).click();
  await soon(() => control.getByRole("button", { name: "Off" }).getAttribute("aria-pressed")).toBe("true");
  expect(await sql`select mode from rules where target_name = 'mail.send' and revoked_at is null`).toEqual([
    { mode: "off" },
  ]);

  await page.getByRole("button", { name: "New rule…" }).click();
  await page.getByRole("dialog").getByLabel("Tool, family or server").fill("kb.append");
  await page.getByRole("dialog").getByLabel("What it does").selectOption("ask");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Show what would change" }).click();
  await page.getByRole("button", { name: "Write it" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const stored = page.locator("tr", { hasText: "tool kb.append" });
  await stored.waitFor();

  await page.getByLabel("Tool", { exact: true }).fill("mail.send");
  await page.getByRole("button", { name: "Explain", exact: true }).click();
  await page.getByText("Verdict:").waitFor();
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByText(/Of \d+ calls \d+ would have been judged otherwise/).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "admin-rules-used");
  await stored.getByRole("button", { name: "Revoke" }).click();
  await stored.waitFor({ state: "detached" });
  await control.getByRole("button", { name: "Off" }).click();
  await soon(async () => (await sql`select from rules where revoked_at is null`).length).toBe(0);
  await page.context().close();
});

test("accounts, tokens, sessions and login links are made and ended; what is told once is told once", async () => {
  const page = await stage.signIn("admin");
  await open(page, "people");
  await page.getByRole("button", { name: "New account…" }).click();
  await page.getByLabel("Name").fill(hostileLine);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByText(hostileLine.slice(0, 30)).first().waitFor();
  await expectClean(page);
  await page.getByRole("button", { name: "New token…" }).click();
  await page.getByLabel("What it is for").fill("nightly job");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("It is shown this once:").waitFor();
  await expectAccessible(page);
  const token = (await page.locator(".told-once code").innerText()).trim();
  expect(token.length).toBeGreaterThan(20);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByText("nightly job").first().waitFor();
  expect(await page.content()).not.toContain(token);
  // A role is chosen with the arrow keys, and given by a button.
  const role = page.getByLabel("Role: Vic Viewer");
  await role.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("button", { name: "Make operator" }).waitFor();
  await expectAccessible(page);
  const roleOf = async () => (await sql`select role from users where id = ${world.viewer}`)[0]?.["role"];
  expect(await roleOf()).toBe("viewer");
  await page.getByRole("button", { name: "Make operator" }).click();
  await soon(roleOf).toBe("operator");
  await page.getByRole("button", { name: "Login link" }).first().click();
  await page.getByText(/^It signs .+ in once/).waitFor();

  const other = await stage.signIn("admin");
  await open(page, "account");
  await page.getByText("this browser", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Sign out everywhere else" }).click();
  await soon(
    async () =>
      (await sql`select from tokens where user_id = ${world.admin} and kind = 'session' and revoked_at is null`).length,
  ).toBe(1);
  expect(await other.evaluate(async () => (await fetch("/v1/me")).status)).toBe(401);
  expect(await page.evaluate(async () => (await fetch("/v1/me")).status)).toBe(200);
  await other.context().close();
  await page.context().close();
});

test("the kill switch says what it will hold, holds it, and lifts it", async () => {
  const page = await stage.signIn("admin");
  await open(page, "kill");
  await page.getByLabel("Why").fill("something smells");
  await page.getByRole("button", { name: "Hold it" }).click();
  await page.getByText("Hold The whole workspace? Whatever runs there stops now.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "admin-kill-asks");
  await page.getByRole("dialog").getByRole("button", { name: "Hold it" }).click();
  await page.getByText("Held.", { exact: true }).waitFor();
  const killed = () => sql`select from policies where scope_id = ${world.workspaceId} and killed_at is not null`;
  expect(await killed()).toHaveLength(1);
  const row = page.getByRole("row", { name: /The whole workspace.*Ada Admin threw it .*: something smells/ });
  await row.waitFor();
  await expectAccessible(page);
  await keepPicture(page, "admin-kill-on");
  const small = await stage.signIn("viewer", phone);
  await open(small, "kill");
  await small.getByText("something smells").waitFor();
  expect(await small.getByRole("button", { name: /Lift|Hold/ }).count()).toBe(0);
  await expectAccessible(small);
  await keepPicture(small, "admin-kill-on-phone");
  await small.context().close();
  await row.getByRole("button", { name: "Lift" }).click();
  await page.getByText("Lifted.", { exact: true }).waitFor();
  await page.getByText("No kill switch is on.").waitFor();
  expect(await killed()).toHaveLength(0);
  await page.context().close();
});

test("the audit shows what was done, filtered by what it was, with its place in the chain", async () => {
  const page = await stage.signIn("admin");
  await open(page, "audit");
  await page.getByText("session.started").first().waitFor();
  await page.getByLabel(/^Action/).fill("kill.set");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByText("session.started").first().waitFor({ state: "detached" });
  await expectAccessible(page);
  const link = page.getByRole("link", { name: "Export all" });
  expect(await link.getAttribute("href")).toBe("/v1/audit/export");
  await page.context().close();
});

test("a webhook to a private address is refused, and what was typed stays", async () => {
  const page = await stage.signIn("admin");
  await open(page, "webhooks");
  await page.getByRole("button", { name: "New webhook…" }).click();
  await page.getByLabel("Address (https)").fill("https://127.0.0.1/hook");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("Address (https)").inputValue()).toBe("https://127.0.0.1/hook");
  await expectAccessible(page);
  await page.context().close();
});
