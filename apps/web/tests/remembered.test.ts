import { createCatalog } from "@countersign/tools/catalog.ts";
import { osExec } from "@countersign/tools/os-exec.ts";
import { expect, test } from "vitest";
import { givenCard, standing } from "./cards.ts";
import { expectAccessible, givenStage } from "./stage.ts";

const command = { ...osExec({ user: "same", environment: {} }), alwaysGate: false };
const stage = await givenStage({ tools: [...createCatalog(), command] });
const { sql, world } = stage;

const given = {
  tool: "os.exec",
  args: JSON.stringify({ command: "rm -r build" }),
  body: { units: ["rm -r build"], remembers: ["rm"] },
};

async function ruleOf(approvalId: string) {
  return await sql`select scope, target_name as tool, entries from rules where approval_id = ${approvalId}`;
}

test("what runs unasked once an answer is remembered is said beside the buttons, and is what the rule holds", async () => {
  const { taskId, approvalId } = await givenCard(sql, world, given);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  expect(await card.locator(".remembered").innerText()).toMatch(/these run without asking: rm That is more than this/);
  await expectAccessible(page);
  await card.getByRole("button", { name: "Allow for this run" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  expect(await ruleOf(approvalId)).toEqual([
    { scope: "run", tool: "os.exec", entries: [{ kind: "unit", unit: "rm" }] },
  ]);
  await page.context().close();
});

test("the dialog that remembers an answer names what the rule holds, and it is taken", async () => {
  const { taskId, approvalId } = await givenCard(sql, world, given);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByRole("button", { name: "Always allow" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByRole("group", { name: "Calls that touch nothing but" }).innerText()).toContain("rm");
  await dialog.getByRole("button", { name: "Allow, and remember" }).click();
  await card.getByText("Approved by Abe Approver").waitFor();
  expect(await ruleOf(approvalId)).toEqual([
    { scope: "definition", tool: "os.exec", entries: [{ kind: "unit", unit: "rm" }] },
  ]);
  await page.context().close();
});

test("where no rule can hold what a call touches, that is said, and only all of the tool can be remembered", async () => {
  const { taskId } = await givenCard(sql, world, { ...given, body: { units: ["rm $x"], remembers: [] } });
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByText("cannot be remembered by what it touches").waitFor();
  expect(await card.getByRole("button", { name: "Allow for this run" }).count()).toBe(0);
  await card.getByRole("button", { name: "Always allow" }).click();
  expect(await page.getByRole("checkbox", { name: "Whatever os.exec does" }).isChecked()).toBe(true);
  await page.context().close();
});
