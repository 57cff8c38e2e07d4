import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { send } from "@countersign/server/testing/harness.ts";
import { kbRead } from "@countersign/tools/kb-read.ts";
import { kbRemove } from "@countersign/tools/kb-remove.ts";
import { beforeAll, expect, test } from "vitest";
import { expectAccessible, expectClean, givenStage, keepPicture, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

const asAdmin = async (method: string, path: string, body: object) =>
  await send(stage, world.tokens.admin, method, path, { body });

beforeAll(async () => {
  await sql`update definition_versions set spec = ${JSON.stringify({
    name: "agent",
    model: "scripted",
    toolset: ["kb.read", "kb.remove"],
  })}::text::json where definition_id = ${world.definitionId}`;
  await asAdmin("POST", "/v1/pages", { title: "Salaries", dir: "payroll", okf: "- the zephyr earns 1\n" });
  for (const rule of [
    { dir: "payroll", level: "none" },
    { dir: "payroll", userId: world.operator, level: "write" },
    { dir: "payroll", userId: world.admin, level: "write" },
  ])
    await asAdmin("PUT", "/v1/access-rules", rule);
  stage.startWorker([kbRead, kbRemove], ({ results }) => {
    if (results.length === 0) return { use: [{ tool: "kb.read", args: { page: "Salaries" } }] };
    const node = /<!--([0-9a-f-]{36})-->/.exec(results[0]?.content ?? "")?.[1] ?? "";
    return results.length === 1 ? { use: [{ tool: "kb.remove", args: { node } }] } : { say: "done" };
  });
});

async function givenClosedRun(): Promise<string> {
  const runId = await givenRun(sql, world, { title: "Payroll of May" });
  await soon(async () => (await sql`select from approvals where run_id = ${runId}`).length).toBe(1);
  return runId;
}

test("a run that has read closed pages says so in the place of its story, and whom to ask; the list knows it", async () => {
  const runId = await givenClosedRun();
  const page = await stage.signIn("viewer");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("This run is closed to you").waitFor();
  await page.getByText("Ask Ada Admin, who can change access.").waitFor();
  expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
  expect(await page.content()).not.toContain("zephyr");
  await expectAccessible(page);
  await expectClean(page);
  await keepPicture(page, "run-closed");
  await page.getByRole("link", { name: "All runs" }).click();
  const row = page.getByRole("row", { name: "Payroll of May" }).first();
  await row.getByText("closed to you").waitFor();
  await expectAccessible(page);

  await page.goto(`${stage.url}/tasks`);
  const card = page.locator(".card").first();
  await card.getByText("closed to you, so what it asks for is not shown").waitFor();
  expect(await card.getByRole("button").count()).toBe(0);
  expect(await page.content()).not.toContain("zephyr");
  await expectAccessible(page);
  await page.context().close();
});

test("who decides sees on the card what will happen, and the run stays closed", async () => {
  const runId = await givenClosedRun();
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks`);
  await page.locator(".card").first().getByText("zephyr").first().waitFor();
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("This run is closed to you").waitFor();
  await page.context().close();
});

test("a run that was open to somebody is closed to them once its pages are", async () => {
  const runId = await givenClosedRun();
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.locator(".card").getByText("zephyr").first().waitFor();
  await asAdmin("PUT", "/v1/access-rules", { dir: "payroll", userId: world.operator, level: "none" });
  await page.reload();
  await page.getByText("This run is closed to you").waitFor();
  expect(await page.content()).not.toContain("zephyr");
  await page.context().close();
});
