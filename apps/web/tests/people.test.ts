import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("a role is chosen first and given by a button; giving up one's own says so", async () => {
  const roleOf = async (id: string) => (await sql`select role from users where id = ${id}`)[0]?.["role"] as string;
  const page = await stage.signIn("admin");
  await page.goto(`${stage.url}/admin/people`);
  const own = page.getByLabel("Role: Ada Admin");
  await own.focus();
  await page.keyboard.press("ArrowUp");
  const giveUp = page.getByRole("button", { name: "Give up your own role admin and become approver" });
  await giveUp.waitFor();
  await page.getByLabel("Role: Olga Operator").selectOption("approver");
  await expectAccessible(page);
  await keepPicture(page, "people-roles");
  expect([await roleOf(world.admin), await roleOf(world.operator)]).toEqual(["admin", "operator"]);
  await page.getByRole("button", { name: /^Make approver.*Olga Operator$/ }).click();
  await soon(() => roleOf(world.operator)).toBe("approver");
  await page.getByRole("button", { name: "Make approver" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel" }).click();
  await giveUp.waitFor({ state: "detached" });
  expect(await own.inputValue()).toBe("admin");
  expect(await roleOf(world.admin)).toBe("admin");
  await page.context().close();
});

test("lists of accounts and sessions are whole, however many there are", async () => {
  await sql`
    insert into users (id, workspace_id, name, role, is_service)
    select gen_random_uuid(), ${world.workspaceId}, 'person ' || n, 'viewer', false from generate_series(1, 230) n`;
  await sql`
    insert into tokens (id, workspace_id, user_id, hash, label, kind, may_decide, revoked_at)
    select gen_random_uuid(), ${world.workspaceId}, ${world.admin}, 'hash ' || n, 'old ' || n, 'session', true, clock_timestamp()
      from generate_series(1, 230) n`;
  const other = await stage.signIn("admin");
  const page = await stage.signIn("admin");
  await page.goto(`${stage.url}/admin/people`);
  await page.getByText("person 230", { exact: true }).waitFor();
  expect(
    await page
      .locator("td")
      .filter({ hasText: /^person \d+/ })
      .count(),
  ).toBe(230);
  await page.goto(`${stage.url}/admin/account`);
  await page.getByText("this browser", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Sign out everywhere else" }).click();
  await other.getByText("You are signed out.").waitFor();
  await other.context().close();
  await page.context().close();
});
