import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

const openRules = async (page: Page): Promise<Locator> => {
  await page.goto(`${stage.url}/admin/rules`);
  await page.getByRole("heading", { name: "Stored rules" }).waitFor();
  return page.getByRole("dialog");
};

/** What the server says is wrong with a field, as a listener hears it with the field. */
const problemOf = async (field: Locator): Promise<string | null> =>
  await field.evaluate(
    (element) => document.getElementById(element.getAttribute("aria-describedby") ?? "")?.textContent ?? null,
  );

const stored = async () => {
  const rows = await sql<{ mode: string; entries: unknown; expiresAt: Date | null; version: number }[]>`
    select mode, entries, expires_at as "expiresAt", version from rules
     where target_name = 'mail.send' and scope_id = ${world.workspaceId} and revoked_at is null`;
  return rows[0];
};

test("a rule takes paths, commands, patterns, arguments and an expiry; what is wrong stands at its field; the difference is seen before it is written", async () => {
  const page = await stage.signIn("admin");
  const dialog = await openRules(page);
  await page.getByRole("button", { name: "New rule…" }).click();
  const [name, look] = [
    dialog.getByLabel("Tool, family or server"),
    dialog.getByRole("button", { name: "Show what would change" }),
  ];
  await name.fill("mail_send");
  await dialog.getByLabel("What it does").selectOption("deny");
  for (const [n, kind, label, text] of [
    [1, "unit", "Exactly", "ann@example.test"],
    [2, "command", "Program and subcommand", "git push"],
    [3, "pattern", "Pattern (RE2)", "("],
    [4, "argument", "Value", "all"],
  ] as const) {
    await dialog.getByRole("button", { name: "Add a row" }).click();
    await dialog.getByLabel(`Row ${n}`).selectOption(kind);
    await dialog.getByLabel(label, { exact: true }).fill(text);
  }
  await dialog.getByLabel("Argument", { exact: true }).fill("to");
  await dialog.getByLabel("Until").fill("2040-01-01T12:00:00");
  await look.click();
  await soon(() => problemOf(name)).toContain('did you mean "mail.send"');
  const pattern = dialog.getByLabel("Pattern (RE2)");
  expect(await problemOf(pattern)).toBeTruthy();
  expect(await problemOf(dialog.getByLabel("Exactly"))).toBeNull();
  expect(await dialog.getByRole("button", { name: "Write it" }).count()).toBe(0);
  await expectAccessible(page);
  await keepPicture(page, "admin-rule-problems");

  await name.fill("mail.send");
  await pattern.fill(".*@evil[.]example");
  await look.click();
  await dialog.getByText("A new rule").waitFor();
  await dialog.getByText("+a pattern: /.*@evil[.]example/").waitFor();
  expect(await stored()).toBeUndefined();
  await expectAccessible(page);
  await keepPicture(page, "admin-rule-difference");
  await dialog.getByRole("button", { name: "Write it" }).click();
  await dialog.waitFor({ state: "detached" });
  const rule = await stored();
  expect(rule?.entries).toEqual([
    { kind: "unit", unit: "ann@example.test" },
    { kind: "command", command: "git push" },
    { kind: "pattern", pattern: ".*@evil[.]example" },
    { kind: "argument", name: "to", value: "all" },
  ]);
  const expiresAt = await page.evaluate(() => new Date("2040-01-01T12:00:00").toISOString());
  expect(rule).toMatchObject({ mode: "deny", expiresAt: new Date(expiresAt) });
  await page.context().close();
});

test("a rule that somebody changed meanwhile is not written over: what was typed stays, and the difference is shown anew", async () => {
  const [page, other] = [await stage.signIn("admin"), await stage.signIn("admin")];
  const change = (mode: string) =>
    other.evaluate(
      async (body) =>
        (
          await fetch("/v1/rules", {
            method: "PATCH",
            headers: { "content-type": "application/json" },
            body,
          })
        ).status,
      JSON.stringify({ changes: [{ target: { kind: "tool", name: "mail.send" }, mode }] }),
    );
  expect(await change("ask")).toBe(200);
  const dialog = await openRules(page);
  await page.getByRole("button", { name: "Change… tool mail.send" }).click();
  await dialog.getByLabel("What it does").selectOption("deny");
  await dialog.getByRole("button", { name: "Add a row" }).click();
  await dialog.getByLabel("Exactly").fill("bob@example.test");
  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByText("-ask").waitFor();
  expect(await change("off")).toBe(200);
  await dialog.getByRole("button", { name: "Write it" }).click();
  await dialog.getByRole("alert").getByText("Somebody changed these rules since you saw them").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "admin-rule-stale");
  expect(await dialog.getByLabel("Exactly").inputValue()).toBe("bob@example.test");
  expect(await dialog.getByLabel("What it does").inputValue()).toBe("deny");
  expect(await stored()).toMatchObject({ mode: "off" });

  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByText("-off: the model is not told of it").waitFor();
  await dialog.getByRole("button", { name: "Write it" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await stored()).toMatchObject({ mode: "deny" });
  await page.context().close();
  await other.context().close();
});

test("what runs unasked is set with its expiry after a look, on the policy that was seen", async () => {
  const page = await stage.signIn("admin", phone);
  const dialog = await openRules(page);
  await page.getByRole("button", { name: "Change… What runs unasked, and what asks" }).click();
  await dialog.getByRole("combobox", { name: "What runs unasked" }).selectOption("low");
  await dialog.getByLabel("Until").fill("2040-01-01T12:00:00");
  await dialog.getByLabel("Inner layers may only tighten it", { exact: true }).check();
  await dialog.getByRole("combobox", { name: "Approvals" }).selectOption("all");
  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByText(/^\+What runs unasked: low risk, until 20(39|40).*, locked/).waitFor();
  await sql`update policies set version = version + 1 where scope_id = ${world.workspaceId}`;
  await dialog.getByRole("button", { name: "Write it" }).click();
  await dialog
    .getByRole("alert")
    .getByText(/since you saw them/)
    .waitFor();
  expect(await dialog.getByRole("combobox", { name: "Approvals" }).inputValue()).toBe("all");
  await expectAccessible(page);
  await keepPicture(page, "admin-dial-stale-phone");
  await dialog.getByRole("button", { name: "Show what would change" }).click();
  await dialog.getByRole("button", { name: "Write it" }).click();
  await dialog.waitFor({ state: "detached" });
  const [policy] = await sql`
    select dial_level as level, dial_expires_at is not null as "isForAWhile", is_dial_locked as "isLocked",
           approval_policy as policy from policies where scope_id = ${world.workspaceId}`;
  expect(policy).toEqual({ level: "low", isForAWhile: true, isLocked: true, policy: "all" });
  await page.getByText(/low risk · locked · until/).waitFor();
  await page.context().close();
});

test("a moment with a digit too many is refused at its field, and takes nothing away", async () => {
  const page = await stage.signIn("admin");
  const dialog = await openRules(page);
  const until = dialog.getByLabel("Until");
  const isRefused = () => until.evaluate((field: HTMLInputElement) => field.validity.rangeOverflow);
  for (const name of ["Change… What runs unasked, and what asks", "New rule…"]) {
    await page.getByRole("button", { name }).click();
    await dialog.getByRole("combobox").first().waitFor();
    if (name === "New rule…") await dialog.getByLabel("Tool, family or server").fill("mail.send");
    else await dialog.getByRole("combobox", { name: "What runs unasked" }).selectOption("low");
    await until.fill("20266-12-01T12:00:00");
    await soon(isRefused).toBe(true);
    await dialog.getByRole("button", { name: "Show what would change" }).click();
    await until.fill("2040-12-01T12:00:00");
    await dialog.getByRole("button", { name: "Show what would change" }).click();
    await dialog.getByText(/^\+.*until 2040-12/).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
  }
  await page.context().close();
});

test("a rule that says more than a mode is not taken away by a press among the tools, nor what somebody else set meanwhile", async () => {
  await sql`update rules set revoked_at = clock_timestamp() where revoked_at is null`;
  const [page, other] = [await stage.signIn("admin"), await stage.signIn("admin")];
  const set = (change: object) =>
    other.evaluate(
      async (body) =>
        (await fetch("/v1/rules", { method: "PATCH", headers: { "content-type": "application/json" }, body })).status,
      JSON.stringify({ changes: [change] }),
    );
  const target = (name: string) => ({ kind: "tool", name });
  const entries = [{ kind: "unit", unit: "boss@example.com" }];
  expect(await set({ target: target("mail.send"), mode: "deny", entries })).toBe(200);
  await openRules(page);
  const controlOf = (name: string) => page.getByRole("group", { name, exact: true });
  const row = page.locator("tr", { has: controlOf("mail.send") });
  await row.getByText("a rule here says more than a mode").waitFor();
  for (const mode of ["Off", "Ask", "Allow"])
    expect(await row.getByRole("button", { name: mode }).isDisabled()).toBe(true);
  await expectAccessible(page);
  await keepPicture(page, "admin-tools-own-rule");
  await page.setViewportSize({ width: 390, height: 844 });
  await row.scrollIntoViewIfNeeded();
  await keepPicture(page, "admin-tools-own-rule-phone");

  // What was set since the page read it, and before it hears of that.
  let version = "";
  await page.route("**/v1/policy/tools?**", async (route) => {
    if (version === "") version = route.request().headers()["if-match"] ?? "";
    if (route.request().method() === "PATCH") expect(await set({ target: target("kb.read"), mode: "deny" })).toBe(200);
    await route.continue();
  });
  await controlOf("kb.read").getByRole("button", { name: "Allow" }).click();
  await page.getByRole("alert").getByText("Somebody changed these rules since you saw them").waitFor();
  expect(version).toMatch(/^"\d+"$/);
  const rules = await sql`select target_name as name, mode from rules where revoked_at is null order by 1`;
  expect(rules).toEqual([
    { name: "kb.read", mode: "deny" },
    { name: "mail.send", mode: "deny" },
  ]);
  await page.context().close();
  await other.context().close();
});
