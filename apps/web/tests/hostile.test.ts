import { readFileSync } from "node:fs";
import { commitWithin } from "@countersign/engine/commit.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aQuestionCall, aTurn, claimRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { expect, test } from "vitest";
import { z } from "zod";
import { givenCard, standing } from "./cards.ts";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, noteLongTasks, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

/** What a reader must see of the hostile text, wherever it stands. */
const seen = '<img src=x onerror="window.hacked=1">';

test("hostile texts of agents, tools and people are text in every place that shows one", async () => {
  await sql`update users set name = ${hostile} where id = ${world.operator}`;
  await sql`update definitions set name = ${hostile} where id = ${world.definitionId}`;
  const runId = await givenRun(sql, world, { title: hostile, input: JSON.stringify(hostile) });
  const hold = await claimRun(sql, runId);
  const question = aQuestionCall({ options: [hostile, "the other"], timeoutMs: 3_600_000, defaultAnswer: hostile });
  if (question.next.kind !== "question") throw new Error("the call asks no question");
  const asked = {
    ...question,
    next: {
      ...question.next,
      card: { ...question.next.card, title: hostile },
      question: { ...question.next.question, question: `${hostile} asked`, context: hostile },
    },
  };
  await commitWithin(
    sql,
    recordTurn,
    aTurn(hold, { content: JSON.stringify([{ type: "text", text: hostile }]), calls: [asked] }),
  );
  const card = await givenCard(sql, world, {
    tool: hostile,
    title: hostile,
    args: JSON.stringify({ [hostile]: hostile, text: `${hostile}\nsecond line` }),
    body: {
      details: [hostile],
      units: [hostile],
      message: hostile,
      preview: `-${hostile}\n+${hostile}`,
      narration: hostile,
      known: hostile,
      options: [{ id: "one", label: hostile, detail: hostile }],
      role: hostile,
      preconditions: [{ kind: hostile, name: hostile, hash: hostile }],
      requires: [hostile],
      [hostile]: hostile,
    },
  });

  const page = await stage.signIn("approver");
  for (const path of ["/tasks", `/tasks/${card.taskId}`, "/runs", `/runs/${runId}`, `/runs/${card.runId}`]) {
    await page.goto(`${stage.url}${path}`);
    await page.getByText(seen).first().waitFor();
    await expectClean(page);
    await expectAccessible(page);
  }
  await page.goto(`${stage.url}/tasks/${card.taskId}`);
  const element = await standing(page, card.taskId);
  await keepPicture(page, "hostile-card");
  await element.getByRole("radio").check();
  await element.getByText("Add words…").click();
  await element.getByLabel("To the agent").fill(hostile);
  await element.getByLabel("Private note").fill(hostile);
  await standing(page, card.taskId);
  await element.getByRole("button", { name: "Deny" }).click();
  await element.getByText("Denied by Abe Approver").waitFor();
  expect((await element.innerText()).split(seen).length).toBeGreaterThan(12);
  await element.getByText("Receipt", { exact: true }).click();
  await element.getByText("approval.decided").waitFor();
  await expectClean(page);

  await page.goto(`${stage.url}/runs/${runId}`);
  const answer = page.locator(".card.question");
  await answer.getByLabel("Your answer").fill(hostile);
  await answer.getByRole("button", { name: "Answer", exact: true }).click();
  await answer.getByText("Answered by").waitFor();
  await expectClean(page);

  const admin = await stage.signIn("admin");
  await sql`update users set name = ${`\u202E\u200B${hostile}`}, email = 'a\u202E\u200B@example.test' where id = ${world.admin}`;
  for (const section of ["definitions", "rules", "people", "audit", "account", "kill"]) {
    await admin.goto(`${stage.url}/admin/${section}`);
    await admin.getByRole("heading", { level: 1 }).waitFor();
    await admin.getByText("Loading…").first().waitFor({ state: "detached" });
    await expectClean(admin);
  }
  await page.context().close();
  await admin.context().close();
});

const bigText = "0123456789abcdef".repeat(1_310_720);

const big = defineTool({
  name: "box.dump",
  description: "Says a lot",
  schema: z.object({}),
  effect: "read-only",
  needsApproval: false,
  execute: () => Promise.resolve({ kind: "done", content: bigText }),
});

test("UI17: a result of 20 MB is shown as far as it goes, says so, leaves the page quick, and is downloaded whole", async () => {
  await sql`update definitions set name = 'agent' where id = ${world.definitionId}`;
  await sql`update definition_versions set spec = ${JSON.stringify({
    name: "agent",
    model: "scripted",
    toolset: ["box.dump"],
  })}::text::json where definition_id = ${world.definitionId}`;
  const worker = stage.startWorker([big], ({ results }) =>
    results.length === 0 ? { use: [{ tool: "box.dump", args: {} }] } : { say: "done" },
  );
  const runId = await givenRun(sql, world);
  await soon(async () => (await sql`select status from runs where id = ${runId}`)[0]?.["status"]).toBe("completed");
  await worker.stop();
  const page = await stage.signIn("viewer");
  const longestTask = await noteLongTasks(page);
  await page.goto(`${stage.url}/runs/${runId}`);
  const summary = page.locator(".call-node summary").first();
  await summary.waitFor();
  const tookMs = await summary.evaluate(async (element) => {
    const began = performance.now();
    (element as HTMLElement).click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    return performance.now() - began;
  });
  const taskMs = await longestTask();
  console.log(
    `Opening a step with a result of 20 MB took ${Math.round(tookMs)} ms, no more than ${taskMs} ms at a time.`,
  );
  expect(taskMs).toBeLessThan(1_000);
  await page.getByText(/^The first 20,000 of /).waitFor();
  await page.getByText("all of it is kept as").waitFor();
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download all" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe("result.txt");
  expect(readFileSync(await download.path(), "utf8") === bigText).toBe(true);
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByText("[truncated: 32768 of 20971520 bytes are shown").waitFor();
  await page.getByText(/^The 32,\d\d\d characters that the agent was given/).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "huge-result");
  await page.context().close();
});

test("a card says which character looks like another, and where, and marks the blanks that Unicode counts as seen", async () => {
  const body = {
    units: ["curl p\u0430ypal.com"],
    lookalikes: ["\u0430 (U+0430) in p\u0430ypal.com"],
    details: ["a\uFFFCb\u2D7Fc⏎d"],
  };
  const { taskId } = await givenCard(sql, world, { body });
  const page = await stage.signIn("approver");
  const card = await standing(page, taskId);
  await card.getByText("These characters look like others").waitFor();
  await card.getByText("\u0430 (U+0430) in p\u0430ypal.com").waitFor();
  expect(await card.locator(".call .mark").allInnerTexts()).toEqual(["⟨U+FFFC⟩", "⟨U+2D7F⟩", "⟨U+23CE⟩"]);
  await page.context().close();
});
