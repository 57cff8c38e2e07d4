import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { startDemo } from "./tests/demo.ts";
import { findChromium } from "./tests/find-chromium.ts";

/*
 * Takes the pictures of the README from the demo as it stands after a first start: `npm run screens -w @countersign/web`.
 */

const root = join(import.meta.dirname, "../..");
const folder = join(root, "docs/screens");

const screen: BrowserContextOptions = { viewport: { width: 1180, height: 860 }, deviceScaleFactor: 1.5 };
const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
};

async function take(page: Page, name: string): Promise<void> {
  // Nothing is in focus, and nothing is still on its way.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  console.log(`docs/screens/${name}.png`);
}

/** The same session on another screen. */
async function sameOn(browser: Browser, page: Page, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ ...options, storageState: await page.context().storageState() });
  const other = await context.newPage();
  await other.goto(page.url());
  await other.locator('.card[data-armed="true"]').first().waitFor();
  return other;
}

mkdirSync(folder, { recursive: true });
const demo = await startDemo("screens");
const browser = await chromium.launch({
  executablePath: await findChromium(),
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
try {
  const page = await (await browser.newContext({ ...screen, colorScheme: "light" })).newPage();
  await page.goto(demo.loginUrl);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator('.card.approval[data-armed="true"]').waitFor();
  await take(page, "queue-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await take(page, "queue-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await take(await sameOn(browser, page, { ...phone, colorScheme: "light" }), "queue-phone");

  const link = await page.locator(".card.approval .facts a").first().getAttribute("href");
  await page.setViewportSize({ width: 1180, height: 1300 });
  await page.goto(`${demo.url}${link ?? ""}`);
  await page.locator('.card.approval[data-armed="true"]').waitFor();
  await page.evaluate(() => document.querySelector(".calls:has(.card)")?.scrollIntoView({ block: "start" }));
  await page.evaluate(() => scrollBy(0, -80));
  await take(page, "run-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await take(page, "run-dark");
  await page.emulateMedia({ colorScheme: "light" });

  await page.setViewportSize({ width: 1180, height: 860 });
  await page.goto(`${demo.url}/admin/rules`);
  await page.getByRole("group", { name: "mail.send", exact: true }).waitFor();
  await take(page, "rules-light");
} finally {
  await browser.close();
  await demo.stop();
}
