import { expect, test } from "vitest";
import { givenCard, standing } from "./cards.ts";
import { expectAccessible, givenStage, keepPicture } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

const delegations = () => sql`
  select from_user as "from", to_user as "to", approval_id as "approvalId", revoked_at is not null as "isOver"
    from delegations order by id`;

test("an approver who is no administrator names a person by name: for one card, and for all that they may decide", async () => {
  await sql`update definition_versions set spec = ${JSON.stringify({
    name: "agent",
    model: "scripted",
    toolset: ["mail.send", "human.ask"],
    approvers: { delegation: "allow" },
  })}::text::json where definition_id = ${world.definitionId}`;
  const { approvalId, taskId } = await givenCard(sql, world);
  const page = await stage.signIn("approver");
  const answers: string[] = [];
  page.on("response", (response) => {
    if (response.url().includes("/v1/people")) void response.text().then((text) => answers.push(text));
  });
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByText("Add words…").click();
  await card.getByRole("button", { name: "Hand over…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Who").selectOption("Ann Approver");
  expect(await dialog.getByRole("option", { name: "Abe Approver" }).count()).toBe(0);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Hand over", exact: true }).click();
  await dialog.getByText("Ann Approver may decide this on your say now.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  for (const { people } of answers.map((text) => JSON.parse(text) as { people: object[] })) {
    for (const person of people) expect(Object.keys(person).toSorted()).toEqual(["id", "name"]);
  }
  expect(answers.length).toBeGreaterThan(0);

  await page.goto(`${stage.url}/admin/account`);
  const part = page.locator("section", { has: page.getByRole("heading", { name: "Who decides on whose say" }) }).last();
  await part.getByRole("cell", { name: "Ann Approver decides on the say of Abe Approver", exact: true }).waitFor();
  await part.getByRole("button", { name: "Hand everything over…" }).click();
  await dialog.getByLabel("Who").selectOption("Ada Admin");
  await expectAccessible(page);
  await keepPicture(page, "hand-everything-over");
  await dialog.getByRole("button", { name: "Hand over", exact: true }).click();
  await dialog.getByText("Ada Admin may decide on your say now.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  const given = { from: world.approver, isOver: false };
  expect(await delegations()).toEqual([
    { ...given, to: world.otherApprover, approvalId },
    { ...given, to: world.admin, approvalId: null },
  ]);
  const all = part.locator("tr", { hasText: "Ada Admin" });
  await all.getByRole("button", { name: "Take back" }).click();
  await all.waitFor({ state: "detached" });
  expect((await delegations()).map(({ isOver }) => isOver as boolean)).toEqual([false, true]);
  await page.context().close();
});

test("whoever decides nothing is not offered to hand anything over", async () => {
  const page = await stage.signIn("viewer");
  await page.goto(`${stage.url}/admin/account`);
  await page.getByRole("heading", { name: "Who decides on whose say" }).waitFor();
  expect(await page.getByRole("button", { name: "Hand everything over…" }).count()).toBe(0);
  await page.context().close();
});
