import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { createLoginLink } from "@countersign/server/sessions.ts";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { standing } from "./cards.ts";
import { givenStage, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

const sent: unknown[] = [];

const send = defineTool({
  name: "mail.send",
  description: "Sends a mail",
  schema: z.object({ to: z.array(z.string()), subject: z.string(), text: z.string() }),
  effect: "once",
  needsApproval: true,
  units: ({ to }) => to,
  execute: (args) => {
    sent.push(args);
    return Promise.resolve({ kind: "done", content: "sent" });
  },
});

/** Presses Tab until something of this name has the focus. */
async function tabTo(page: Page, name: RegExp, most = 80): Promise<void> {
  for (let presses = 0; presses < most; presses += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null) return "";
      const labels =
        element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
          ? [...(element.labels ?? [])]
          : [];
      return [element.getAttribute("aria-label"), ...labels.map((label) => label.textContent), element.textContent]
        .filter(Boolean)
        .join(" | ");
    });
    if (name.test(found)) return;
  }
  throw new Error(`${most} presses of Tab did not reach ${name.source}`);
}

test("with the keyboard alone: sign in, find the card, read everything, approve it changed, remember a rule, steer, cancel, sign out", async () => {
  await sql`update definition_versions set spec = ${JSON.stringify({
    name: "agent",
    model: "scripted",
    toolset: ["mail.send", "human.ask"],
  })}::text::json where definition_id = ${world.definitionId}`;
  // The first mail is longer than a card shows at once: its end is to be read before it is agreed to.
  const long = `Hello${" and so on".repeat(2_500)}, the end.`;
  stage.startWorker([send], ({ results }) => {
    if (results.length === 4) return { say: "done" };
    const text = results.length === 0 ? long : "Hello";
    return { use: [{ tool: "mail.send", args: { to: [`ann${results.length}@example.test`], subject: "Hi", text } }] };
  });
  const runId = await givenRun(sql, world, { startedBy: world.admin });
  const page = await (await stage.browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
  // Whatever a mouse or a finger would do; a key that presses a button makes a click without a place.
  await page.addInitScript(() => {
    for (const type of ["pointerdown", "mousedown", "wheel", "touchstart"])
      addEventListener(type, () => sessionStorage.setItem("pointed", type), true);
  });
  const { path } = await createLoginLink(sql, { workspaceId: world.workspaceId, userId: world.admin, mayDecide: true });
  await page.goto(`${stage.url}${path}`);
  await tabTo(page, /^Sign in$/);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/tasks");

  // The first call: read to its end, before which nobody agrees to it.
  const card = page.locator(".card.waits");
  await card.waitFor();
  await page.keyboard.press("j");
  const longId = (await card.getAttribute("data-task")) ?? "";
  expect(await card.evaluate((element) => element === document.activeElement)).toBe(true);
  await card.getByText("Show or download the rest first: you can only agree to what you could read.").waitFor();
  await tabTo(page, /^Show more$/);
  await page.keyboard.press("Enter");
  await card.getByText("the end.").waitFor();
  expect(await card.locator(":focus").textContent()).toBe("Download all");
  await standing(page, longId);
  await tabTo(page, /^Confirm/);
  await page.keyboard.press("Enter");
  await page.locator(`[data-task="${longId}"].settled`).waitFor();
  await soon(() => sent.length).toBe(1);
  expect(sent[0]).toMatchObject({ text: long });

  // The second: approved with other arguments.
  await card.waitFor();
  await page.keyboard.press("j");
  const taskId = (await card.getAttribute("data-task")) ?? "";
  await tabTo(page, /^Add words/);
  await page.keyboard.press("Enter");
  await tabTo(page, /^Change the arguments/);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Shift+Tab");
  for (let presses = 0; presses < 12; presses += 1) {
    if (await page.evaluate(() => document.activeElement?.matches("textarea.code"))) break;
    await page.keyboard.press("Shift+Tab");
  }
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText('{"to":["bob@example.test"],"subject":"Hi","text":"Hello"}');
  await standing(page, taskId);
  await tabTo(page, /^(?:Allow once, as changed|Approve)/);
  await page.keyboard.press("Enter");
  await page.locator(`[data-task="${taskId}"].settled`).waitFor();
  await soon(() => sent.length).toBe(2);
  expect(sent[1]).toEqual({ to: ["bob@example.test"], subject: "Hi", text: "Hello" });

  // The third: from the run, by the card's link to it, allowed always.
  await card.waitFor();
  await page.keyboard.press("j");
  await tabTo(page, /^a run$/);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${runId}**`);
  await page.getByLabel("Steer this run").waitFor();
  await card.waitFor();
  for (let presses = 0; presses < 5; presses += 1) {
    await page.keyboard.press("j");
    if (await card.evaluate((element) => element === document.activeElement)) break;
  }
  expect(await card.evaluate((element) => element === document.activeElement)).toBe(true);
  await standing(page, (await card.getAttribute("data-task")) ?? "");
  await page.keyboard.press("3");
  await page.getByRole("dialog").waitFor();
  await tabTo(page, /^Allow, and remember/);
  await page.keyboard.press("Enter");
  await soon(async () => (await sql`select from rules where is_remembered`).length).toBe(1);

  // The fourth waits; steer the run, then cancel it.
  await soon(() => sent.length).toBe(3);
  await card.waitFor();
  await tabTo(page, /Steer this run/, 200);
  await page.keyboard.type("never mind");
  await page.keyboard.press("Enter");
  await page.locator(".steers").getByText("queued").waitFor();
  await page.keyboard.press("Home");
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press("Shift+Tab");
    if (await page.evaluate(() => document.activeElement?.textContent === "Cancel the run…")) break;
  }
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await tabTo(page, /^Cancel the run$/);
  await page.keyboard.press("Enter");
  await page.getByText("canceled", { exact: true }).first().waitFor();
  const [run] = await sql`select status from runs where id = ${runId}`;
  expect(run).toEqual({ status: "canceled" });
  expect(sent).toHaveLength(3);
  await tabTo(page, /^Sign out$/, 200);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/login");
  expect(await page.evaluate(() => sessionStorage.getItem("pointed"))).toBeNull();
  await page.context().close();
});
