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
  await page.getByRole("cell", { name: "person 230", exact: true }).waitFor();
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

test("what is made and not answered is made once where it is sent again, and what is lost of it is said", async () => {
  const page = await stage.signIn("admin");
  const countOf = async (table: string, where: string) =>
    (await sql.unsafe(`select from ${table} where ${where}`)).length;
  /** The server does it, and its answer is lost; all further ones arrive. */
  const loseAnswer = async (path: string) => {
    let isFirst = true;
    await page.route(path, async (route) => {
      if (route.request().method() !== "POST" || !isFirst) return await route.continue();
      isFirst = false;
      await route.fetch();
      await route.abort();
    });
  };
  const dialog = page.getByRole("dialog");
  const sendTwice = async (button: string) => {
    await dialog.getByRole("button", { name: button }).click();
    await dialog.getByRole("alert").getByText("The server does not answer.").waitFor();
    await dialog.getByRole("button", { name: button }).click();
  };

  await page.goto(`${stage.url}/admin/people`);
  await loseAnswer("**/v1/tokens");
  await page.getByRole("button", { name: "New token…" }).click();
  await dialog.getByLabel("What it is for").fill("made once");
  await sendTwice("Save");
  await dialog.getByText("The token was made before, and its value did not arrive here.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "token-lost");
  expect(await countOf("tokens", "label = 'made once'")).toBe(1);
  // After an answer the same is meant anew.
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "New token…" }).click();
  await dialog.getByLabel("What it is for").fill("made once");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("It is shown this once:").waitFor();
  expect(await countOf("tokens", "label = 'made once'")).toBe(2);
  await dialog.getByRole("button", { name: "Close" }).click();

  await loseAnswer("**/v1/users");
  await page.getByRole("button", { name: "New account…" }).click();
  await dialog.getByLabel("Name").fill("Made Once");
  await sendTwice("Save");
  await dialog.waitFor({ state: "detached" });
  expect(await countOf("users", "name = 'Made Once'")).toBe(1);

  // Whose a link is stands beside it, and it goes when the next one fails.
  const linkOf = (name: string) =>
    page.locator("tr", { hasText: name }).first().getByRole("button", { name: "Login link" });
  await linkOf("Vic Viewer").click();
  await page.getByText("It signs Vic Viewer in once").waitFor();
  await loseAnswer("**/v1/login-links");
  await linkOf("Abe Approver").click();
  await page.getByRole("alert").getByText("The server does not answer.").waitFor();
  expect(await page.locator(".told-once").count()).toBe(0);
  await linkOf("Abe Approver").click();
  await page.getByText("A link was made, and did not arrive here.").waitFor();

  await page.goto(`${stage.url}/admin/account`);
  await loseAnswer("**/v1/delegations");
  await page.getByRole("button", { name: "Hand everything over…" }).click();
  await dialog.getByRole("combobox").first().selectOption({ label: "Abe Approver" });
  await sendTwice("Hand over");
  await dialog.getByText(/Abe Approver/).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByRole("cell", { name: "Abe Approver decides on the say of Ada Admin", exact: true }).waitFor();
  expect(await countOf("delegations", "true")).toBe(1);
  await page.context().close();
});
