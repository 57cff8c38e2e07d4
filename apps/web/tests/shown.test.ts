import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { cardOf, decisionOf, givenCard, standing } from "./cards.ts";
import { expectAccessible, expectClean, givenStage, hostile, keepPicture, noteLongTasks } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("UI17: huge arguments are shown in part at once, whole on demand, and not agreed to before they could be read", async () => {
  const cases = {
    "one line of a megabyte": JSON.stringify({ command: "x".repeat(1_000_000) }),
    "a hundred thousand nodes": JSON.stringify({ list: Array.from({ length: 100_000 }, (_, n) => n) }),
    "twenty megabytes": JSON.stringify({
      rows: Array.from({ length: 200_000 }, (_, n) => ({ n, text: "y".repeat(82) })),
    }),
  };
  expect(cases["twenty megabytes"].length).toBeGreaterThan(20 * 1024 * 1024 - 1_000_000);
  const page = await stage.signIn("approver");
  const longestTask = await noteLongTasks(page);
  for (const [name, args] of Object.entries(cases)) {
    const { runId, taskId, approvalId } = await givenCard(sql, world, { args, body: { details: ["something huge"] } });
    const began = performance.now();
    await page.goto(`${stage.url}/tasks/${taskId}`);
    const card = await standing(page, taskId);
    console.log(`${name}: the card was there after ${Math.round(performance.now() - began)} ms`);
    await card.getByText(/^The first 20,000 of /).waitFor();
    if (name === "twenty megabytes") await keepPicture(page, "huge-arguments");
    // It reacts to a hand in no time: opening something on it is drawn within 200 ms.
    const tookMs = await card.evaluate(async (element) => {
      const began = performance.now();
      element.querySelector<HTMLElement>(".say-more summary")?.click();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return performance.now() - began;
    });
    console.log(`${name}: opening a part of its card took ${Math.round(tookMs)} ms`);
    for (const yes of ["Allow once", "Allow for this run", "Always allow…"]) {
      expect(await card.getByRole("button", { name: yes }).isDisabled(), name).toBe(true);
    }
    expect(await card.getByRole("button", { name: "Deny" }).isEnabled()).toBe(true);
    await card.focus();
    await page.keyboard.press("1");
    expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "pending" });
    const downloading = page.waitForEvent("download");
    await card.getByRole("button", { name: "Download all" }).click();
    const file = readFileSync(await (await downloading).path(), "utf8");
    expect(JSON.parse(file)).toEqual(JSON.parse(args));
    expect(await card.getByRole("button", { name: "Allow once" }).isEnabled()).toBe(true);
    if (name === "one line of a megabyte") {
      await page.reload();
      await standing(page, taskId);
      const more = card.getByRole("button", { name: "Show more" });
      for (let clicks = 0; (await more.count()) > 0 && clicks < 20; clicks += 1) await more.click();
      await card.getByText(/^All 1,000,\d\d\d characters/).waitFor();
      expect(await card.getByRole("button", { name: "Allow once" }).isEnabled()).toBe(true);
    }
    const onCardMs = await longestTask();
    await page.goto(`${stage.url}/runs/${runId}`);
    await standing(page, taskId);
    await card.getByText(/^The first 20,000 of /).waitFor();
    await card.getByRole("button", { name: "Deny" }).click();
    // Read anew, twice twenty megabytes take a busy machine its time.
    await card.getByText("Denied by Abe Approver").waitFor({ timeout: 60_000 });
    await page.locator(".call-node summary").first().click();
    await page.getByRole("link", { name: "Link to this step" }).waitFor();
    const onRunMs = await longestTask();
    console.log(`${name}: nothing took the page for longer than ${onCardMs} ms, on the run's page ${onRunMs} ms`);
    expect(Math.max(onCardMs, onRunMs)).toBeLessThan(1_000);
  }
  await page.context().close();
}, 180_000);

test("UI12: a card of an unknown shape shows all of it as JSON and is still decided; so is a question of one", async () => {
  const bodies = [
    { surprise: { deep: [1, { two: hostile }] }, details: "not a list", options: [{ no: "id" }] },
    { units: [{ kind: "unknown" }], preview: 17, preconditions: "none" },
    {},
  ];
  const page = await stage.signIn("approver");
  for (const body of bodies) {
    const { taskId, approvalId } = await givenCard(sql, world, { body });
    await page.goto(`${stage.url}/tasks/${taskId}`);
    const card = await standing(page, taskId);
    const text = await card.innerText();
    for (const key of Object.keys(body)) expect(text).toContain(key);
    await expectClean(page);
    await expectAccessible(page);
    await card.getByText("Add words…").click();
    await card.getByLabel("To the agent").fill("go on");
    await standing(page, taskId);
    await card.getByRole("button", { name: "Allow once" }).click();
    await card.getByText("Approved by").waitFor();
    expect(await decisionOf(sql, approvalId)).toMatchObject({ status: "approved", feedback: "go on" });
  }
  const { taskId } = await givenCard(sql, world);
  await sql`update approvals set card = '"a text instead of a card"'::text::json where task_id = ${taskId}`.catch(
    async () => sql`update tasks set body = '"a text instead of a card"' where id = ${taskId}`.catch(() => []),
  );
  await page.goto(`${stage.url}/tasks/${taskId}`);
  await standing(page, taskId);
  expect(await cardOf(page, taskId).getByRole("button", { name: "Allow once" }).isEnabled()).toBe(true);
  await page.context().close();
});

test("a card shows whatever it has: units, details, what would change, what it rests on, what the agent said", async () => {
  const { taskId } = await givenCard(sql, world, {
    tool: "page.write",
    title: "page.write: notes",
    args: JSON.stringify({ page: "notes", text: "new" }),
    runTitle: hostile.replaceAll(/[\u202E\u200B\u001B]/g, ""),
    body: {
      details: [hostile, "the page notes"],
      units: ["pages/notes", "rm -rf /tmp/x"],
      preview: "--- a/notes\n+++ b/notes\n@@ -1 +1 @@\n-old\n+new <b>",
      preconditions: [{ kind: "page", name: "notes", hash: "a".repeat(64) }],
      requires: ["pages.write"],
      narration: `I only tidy up. ${hostile}`,
      message: "The page notes is written anew",
    },
  });
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  const text = await card.innerText();
  for (const part of ["pages/notes", "+new <b>", "page notes", "pages.write", "I only tidy up", "Nobody vouches"]) {
    expect(text).toContain(part);
  }
  await expectClean(page);
  await expectAccessible(page);
  await keepPicture(page, "card-in-full");
  await page.context().close();
});

test("arguments are changed in place; what is no JSON is not sent, and what was changed is what is approved", async () => {
  const args = JSON.stringify({ to: ["ann@example.test"], subject: "Hi", text: "Hello" });
  const { taskId, approvalId } = await givenCard(sql, world, { args });
  const page = await stage.signIn("approver");
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByText("Add words…").click();
  await card.getByRole("button", { name: "Change the arguments…" }).click();
  const field = card.locator("textarea.code");
  await field.fill("{ not json");
  await card.getByText("This is not JSON yet.").waitFor();
  expect(await card.getByRole("button", { name: "Allow once, as changed" }).isDisabled()).toBe(true);
  await expectAccessible(page);
  await keepPicture(page, "edit-arguments");
  const changed = JSON.stringify({ to: ["bob@example.test"], subject: "Hi", text: "Hello" });
  await field.fill(changed);
  await standing(page, taskId);
  await card.getByRole("button", { name: "Allow once, as changed" }).click();
  await card.getByText("Arguments as a person changed them").waitFor();
  const [row] = await sql`select status, edited_args as "editedArgs" from approvals where id = ${approvalId}`;
  expect(row).toEqual({ status: "approved", editedArgs: changed });
  await page.context().close();
});
