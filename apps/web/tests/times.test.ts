import { expect, test } from "vitest";
import { cardOf, givenCard } from "./cards.ts";
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
}, 120_000);
