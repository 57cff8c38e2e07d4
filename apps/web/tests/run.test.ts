import { transaction } from "@countersign/db/transaction.ts";
import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { standing } from "./cards.ts";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

const sent: string[] = [];

const send = defineTool({
  name: "post.send",
  description: "Sends a letter",
  schema: z.object({ to: z.string(), text: z.string() }),
  effect: "once",
  needsApproval: true,
  details: ({ to }) => [`a letter to ${to}`],
  execute: ({ to }) => {
    sent.push(to);
    return Promise.resolve({ kind: "done", content: `sent ${hostile}` });
  },
});

const markdown = `# Done\n\nSee [the list](https://example.test/list), **not** ${hostile}\n\n- one\n- two`;

beforeAll(async () => {
  await sql`update definition_versions set spec = ${JSON.stringify({
    name: "agent",
    model: "scripted",
    toolset: ["post.send", "mail.send"],
  })}::text::json where definition_id = ${world.definitionId}`;
  stage.startWorker([send], ({ results, said }) =>
    results.length === 0
      ? { say: hostile, use: [{ tool: "post.send", args: { to: "ann@example.test", text: hostile } }] }
      : { say: [markdown, ...said.slice(1)].join("\n\n") },
  );
});

test("a gated step is decided on the run itself, and the story shows what was called, said and done", async () => {
  const runId = await givenRun(sql, world);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("paused, waiting for you").waitFor();
  const card = page.locator(".card");
  await card.waitFor();
  await expectAccessible(page);
  await keepPicture(page, "run-waiting");
  await standing(page, (await card.getAttribute("data-task")) ?? "");
  await card.getByRole("button", { name: "Allow once" }).click();
  await page.getByText("completed", { exact: true }).waitFor();
  expect(sent).toEqual(["ann@example.test"]);
  await page.locator(".call-node summary").first().click();
  await page.getByText("Approved by Abe Approver").waitFor();
  await page.getByText("sent <img src=x").first().waitFor();
  await page.getByText("Receipt", { exact: true }).click();
  await page.getByText("approval.decided").last().waitFor();
  await expectClean(page);
  await expectAccessible(page);
  await keepPicture(page, "run-completed");
  // The step has a link of its own, which opens it.
  await page.getByRole("link", { name: "Link to this step" }).click();
  await page.reload();
  await page.getByText("Approved by Abe Approver").waitFor();
  await page.context().close();
});

test("UI18: what an agent says is drawn from its Markdown: html is text, links lead to http alone, nothing is loaded", async () => {
  const runId = await givenRun(sql, world);
  const page = await stage.signIn("approver");
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(stage.url)) foreign.push(request.url());
  });
  await page.goto(`${stage.url}/runs/${runId}`);
  const card = page.locator(".card");
  await card.waitFor();
  await standing(page, (await card.getAttribute("data-task")) ?? "");
  await card.getByRole("button", { name: "Deny" }).click();
  await page.getByText("completed", { exact: true }).waitFor();
  const said = page.locator(".markdown").last();
  expect(await said.innerText()).toContain('<img src=x onerror="window.hacked=1">');
  const links = await said
    .locator("a")
    .evaluateAll((found) => found.map((link) => [(link as HTMLAnchorElement).href, (link as HTMLAnchorElement).rel]));
  expect(links[0]).toEqual(["https://example.test/list", "noreferrer noopener"]);
  expect(links.every(([href]) => href?.startsWith("https://"))).toBe(true);
  expect(await said.locator("ul > li").allInnerTexts()).toEqual(["one", "two"]);
  await expectClean(page);
  expect(foreign).toEqual([]);
  await page.context().close();
});

test("UI01: what is typed into the steer box while a card arrives lands there and decides nothing", async () => {
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const page = await stage.signIn("operator", phone);
  await page.goto(`${stage.url}/runs/${runId}`);
  const box = page.getByLabel("Steer this run…");
  await box.focus();
  await page.locator(".card").waitFor();
  await keepPicture(page, "run-phone");
  await page.keyboard.type("1 4 y ");
  expect(await box.inputValue()).toBe("1 4 y ");
  await page.keyboard.press("Enter");
  await page.getByText("queued").first().waitFor();
  const [approval] = await sql`select status from approvals where run_id = ${runId}`;
  expect(approval).toEqual({ status: "pending" });
  const steers = await sql`select n from steers where run_id = ${runId}`;
  expect(steers).toHaveLength(1);
  await page.context().close();
});

test("UI02: Enter that ends the composing of a character sends nothing", async () => {
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/runs/${runId}`);
  const box = page.getByLabel("Steer this run…");
  await box.fill("にほん");
  for (const init of [{ isComposing: true }, { keyCode: 229 }]) {
    await box.evaluate((element, given) => {
      element.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...given }));
    }, init);
  }
  expect(await box.inputValue()).toBe("にほん");
  expect(await sql`select from steers where run_id = ${runId}`).toHaveLength(0);
  await page.context().close();
});

test("a steer is shown as queued, then with the step that took it, and where the run ended first, as that", async () => {
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const page = await stage.signIn("admin");
  await page.goto(`${stage.url}/runs/${runId}`);
  const card = page.locator(".card");
  await card.waitFor();
  await page.getByLabel("Steer this run…").fill(`Be brief. ${hostile}`);
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".steers").getByText("queued").waitFor();
  await standing(page, (await card.getAttribute("data-task")) ?? "");
  await card.getByRole("button", { name: "Allow once" }).click();
  await page
    .locator(".steers")
    .getByText(/delivered at step \d+/)
    .waitFor();
  await page.getByText("completed", { exact: true }).waitFor();
  const [steer] = await sql<{ seq: number }[]>`select read_seq as seq from steers where run_id = ${runId}`;
  await page.locator(`#step-${steer?.seq}`).getByText(`delivered at step ${steer?.seq}`).waitFor();
  await expectClean(page);
  await expectAccessible(page);

  const other = await givenRun(sql, world, { startedBy: world.operator });
  await page.goto(`${stage.url}/runs/${other}`);
  await page.locator(".card").waitFor();
  await page.getByLabel("Steer this run…").fill("Too late");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".steers").getByText("queued").waitFor();
  await page.getByRole("button", { name: "Cancel the run…" }).click();
  await page.getByRole("button", { name: "Cancel the run", exact: true }).click();
  await page.locator(".steers").getByText("the run ended first").waitFor();
  await page.context().close();
});

test("who neither started a run nor administers is told who may steer it", async () => {
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const page = await stage.signIn("viewer");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("Steering is for Olga Operator").waitFor();
  expect(await page.getByLabel("Steer this run…").count()).toBe(0);
  expect(await page.getByRole("button", { name: "Cancel the run…" }).count()).toBe(0);
  await page.locator(".card").getByText("Deciding needs the role approver.").waitFor();
  await expectAccessible(page);
  await page.context().close();
});

test("UI10: a run that waits for a person reads so in the list, on its page and in the title; the filter is in the address", async () => {
  const runId = await givenRun(sql, world);
  const page = await stage.signIn("viewer");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("paused, waiting for you").waitFor();
  await soon(() => page.title()).toMatch(/^\(\d+\) Runs · Countersign$/);
  await page.goto(`${stage.url}/runs?status=paused`);
  await page.getByText("paused, waiting for you").first().waitFor();
  expect(await page.getByText("completed", { exact: true }).count()).toBe(0);
  expect(await page.locator(".standing", { hasText: /^running$/ }).count()).toBe(0);
  for (const path of ["/tasks", "/runs", "/kb", "/admin/account"]) {
    await page.goto(`${stage.url}${path}`);
    await page.locator(".top .count").waitFor();
  }
  await page.goto(`${stage.url}/runs?status=paused`);
  await page.getByText("paused, waiting for you").first().waitFor();
  await expectAccessible(page);
  await keepPicture(page, "runs");
  await page.getByRole("button", { name: "Failed" }).click();
  await page.getByText("paused, waiting for you").first().waitFor({ state: "detached" });
  expect(page.url()).toContain("status=failed");
  await page.goBack();
  await page.getByText("paused, waiting for you").first().waitFor();
  await page.context().close();
});

test("a run is canceled by its owner after saying so twice, and its card dies with it", async () => {
  const runId = await givenRun(sql, world, { startedBy: world.operator });
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.locator(".card").waitFor();
  await page.getByRole("button", { name: "Cancel the run…" }).click();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Cancel the run", exact: true }).click();
  await page.getByText("canceled", { exact: true }).first().waitFor();
  await page.locator(".card.waits").waitFor({ state: "detached" });
  const [run] = await sql`select status from runs where id = ${runId}`;
  expect(run).toEqual({ status: "canceled" });
  await page.context().close();
});

test("a run in quarantine says so, and its owner lets it go on", async () => {
  const runId = await transaction(sql, async (tx) => {
    const started = await givenRun(tx as unknown as typeof sql, world, { startedBy: world.operator });
    await tx`update runs set claims_without_progress = 5 where id = ${started}`;
    await tx`select quarantine_runs(array[${started}::uuid], 5)`;
    return started;
  });
  const page = await stage.signIn("operator");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("no worker takes it until a person lets it go on").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "run-quarantined");
  await page.getByRole("button", { name: "Let it go on" }).click();
  await page.getByText("paused, waiting for you").waitFor();
  await page.locator(".card").waitFor();
  await page.context().close();
});

test("a run is started from the page, once, with what may run unasked in it", async () => {
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/runs`);
  await page.getByRole("button", { name: "Start a run…" }).click();
  await page.getByLabel("What it is to do").fill("Write to Ann");
  await page.getByLabel("What runs unasked in it").selectOption("what only reads");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL("**/runs/*");
  await page.getByText("Write to Ann").first().waitFor();
  expect(await sql`select from runs where title = 'Write to Ann'`).toHaveLength(1);
  await page.context().close();
});

test("tools are turned off and back for one run alone, and the panel says that the run has choices of its own", async () => {
  const runId = await givenRun(sql, world);
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/runs/${runId}`);
  await page.getByText("Tools", { exact: true }).click();
  const control = page.getByRole("group", { name: "mail.send", exact: true });
  await control.getByRole("button", { name: "Off" }).click();
  await page.getByText("This run has choices of its own").waitFor();
  await soon(() => control.getByRole("button", { name: "Off" }).getAttribute("aria-pressed")).toBe("true");
  await expectAccessible(page);
  await keepPicture(page, "run-tools");
  const rules = await sql`select scope, scope_id as id, mode from rules where revoked_at is null`;
  expect(rules).toEqual([{ scope: "run", id: runId, mode: "off" }]);
  await control.getByRole("button", { name: "Off" }).click();
  await page.getByText("This run has choices of its own").waitFor({ state: "detached" });
  await page.context().close();
});
