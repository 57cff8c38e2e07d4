import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Demo, startDemo } from "./demo.ts";
import { expectAccessible, keepPicture } from "./stage.ts";

let demo: Demo;
let browser: Browser;
beforeAll(async () => {
  demo = await startDemo("first-minute-web");
  browser = await chromium.launch({
    executablePath: inject("chromium"),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
});
afterAll(async () => {
  await demo.stop();
  await browser.close();
});

test("the printed link opens the queue with the demo's card; Confirm sends its mail, and the run's tree tells all of it", async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(60_000);
  await page.goto(demo.loginUrl);
  await page.getByRole("button", { name: "Sign in" }).click();
  const card = page.locator(".card.approval");
  await card.waitFor();
  await expectAccessible(page);
  await keepPicture(page, "demo-queue");
  const link = (await card.getByRole("link", { name: /Ask where the drive belt is/ }).getAttribute("href")) ?? "";
  // A picture of all of a page moves what is on it.
  await page.locator('.card.approval[data-armed="true"]').waitFor();
  await card.getByRole("button", { name: "Confirm" }).click();
  await card.getByText(/^Approved by/).waitFor();
  const mail = await demo.event("mail");
  expect(JSON.stringify(mail)).toContain("orders@norvik.example");

  await page.goto(`${demo.url}${link}`);
  await page.getByText("completed", { exact: true }).waitFor();
  await page.getByText("acquired mail.send").waitFor();
  await page.getByText("Receipt", { exact: true }).click();
  await page
    .getByText("Every entry has its place in the sealed chain")
    .or(page.getByText("that takes a second"))
    .waitFor();
  await expectAccessible(page);
  await keepPicture(page, "demo-run");
});
