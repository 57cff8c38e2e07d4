import { expect, test } from "vitest";
import { cardOf, givenCard, standing } from "./cards.ts";
import { givenStage } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

/** An hour that a clock change skips, one that it repeats, and a day that is another one elsewhere. */
const moments = ["2026-03-29T01:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-07-01T18:30:00Z"];

test("UI29: the same instant everywhere, in the reader's own zone, on days of a clock change as well", async () => {
  for (const timezoneId of ["Asia/Ho_Chi_Minh", "Europe/Berlin", "UTC"]) {
    const page = await stage.signIn("approver", { timezoneId, locale: "en-GB" });
    for (const at of moments) {
      const { taskId, runId } = await givenCard(sql, world);
      await sql`update tasks set created_at = ${at} where id = ${taskId}`;
      await sql`update runs set created_at = ${at} where id = ${runId}`;
      await sql`update approvals set requested_at = ${at} where run_id = ${runId}`;
      const titles: (string | null)[] = [];
      await page.goto(`${stage.url}/tasks`);
      titles.push(await cardOf(page, taskId).locator("time").first().getAttribute("title"));
      await page.goto(`${stage.url}/tasks/${taskId}`);
      titles.push(await cardOf(page, taskId).locator("time").first().getAttribute("title"));
      await page.goto(`${stage.url}/runs/${runId}`);
      const started = page.locator(".run-head time").first();
      await started.waitFor();
      titles.push(await started.getAttribute("title"));
      expect(new Set(titles).size, `${timezoneId} ${at}: ${titles.join(" | ")}`).toBe(1);
      const instants = await page.locator(".run-head time").first().getAttribute("datetime");
      expect(new Date(instants ?? "").toISOString()).toBe(new Date(at).toISOString());
      // It says which zone it is in, so nobody takes it for another.
      const offset = new Intl.DateTimeFormat("en-GB", {
        timeZone: timezoneId,
        timeZoneName: "longOffset",
        hour: "2-digit",
        minute: "2-digit",
      });
      const hour = offset.formatToParts(new Date(at)).find((part) => part.type === "hour")?.value;
      expect(titles[0]).toContain(`${hour}:30:00`);
      await sql`update tasks set status = 'canceled', resolved_at = clock_timestamp() where id = ${taskId}`;
    }
    await page.context().close();
  }
});

test.each([26, -26])("a browser whose clock is off by %i hours shows and gives time by the server's", async (hours) => {
  const { taskId, approvalId } = await givenCard(sql, world, { expiresMs: 2 * 3_600_000 + 300_000 });
  const page = await stage.signIn("approver");
  await page.clock.install({ time: Date.now() + hours * 3_600_000 });
  await page.goto(`${stage.url}/tasks/${taskId}`);
  const card = await standing(page, taskId);
  await card.getByText("in 2 hours").waitFor();
  expect(await card.locator(".card-link").innerText()).toMatch(/just now|seconds? ago/);

  await card.getByText("Add words…").click();
  await card.getByRole("button", { name: "More time…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("It expires no earlier than").selectOption("in a day");
  await dialog.getByRole("button", { name: "More time" }).click();
  await dialog.waitFor({ state: "detached" });
  const [row] = await sql<{ hours: number }[]>`
    select extract(epoch from expires_at - clock_timestamp())::float8 / 3600 as hours from approvals
     where id = ${approvalId}`;
  expect(row?.hours).toBeGreaterThan(23.9);
  expect(row?.hours).toBeLessThan(24.1);
  await card.getByText(/in (?:23 hours|1 day|tomorrow)|tomorrow/).waitFor();
  await page.context().close();
});
