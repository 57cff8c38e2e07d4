import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pagesDir } from "@countersign/server/pages.ts";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { cardOf, givenCard } from "./cards.ts";
import { givenStage, phone } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

/** What a person waits for on a slow line, in bytes as sent. */
const mostScriptBytes = 110 * 1024;
const mostStyleBytes = 15 * 1024;

/** The page, its script, styles and icon, the stream's script, then who one is, the queue, the tools, and the stream. */
const mostRequests = 14;

test("the first card is there after few requests, all to this server, within the budget of script and style", async () => {
  const { taskId } = await givenCard(sql, world);
  const page = await stage.signIn("approver", phone);
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  const began = performance.now();
  await page.goto(`${stage.url}/tasks`);
  await cardOf(page, taskId).waitFor();
  console.log(
    `The first card was there after ${Math.round(performance.now() - began)} ms and ${urls.length} requests.`,
  );
  expect(urls.length).toBeLessThanOrEqual(mostRequests);
  expect(urls.filter((url) => !url.startsWith(`${stage.url}/`))).toEqual([]);

  const sent = (kind: string) =>
    urls
      .map((url) => new URL(url).pathname)
      .filter((path) => path.startsWith("/assets/") && path.endsWith(kind))
      .reduce((sum, path) => sum + gzipSync(readFileSync(join(pagesDir, path)), { level: 9 }).length, 0);
  const [scripts, styles] = [sent(".js"), sent(".css")];
  console.log(`Scripts ${scripts} bytes, styles ${styles} bytes, compressed.`);
  expect(scripts).toBeGreaterThan(0);
  expect(scripts).toBeLessThanOrEqual(mostScriptBytes);
  expect(styles).toBeLessThanOrEqual(mostStyleBytes);
  await page.context().close();
});

test("the page holds no script or style of its own, its policy allows none, and what one would load is not loaded", async () => {
  const response = await fetch(`${stage.url}/tasks`);
  const html = await response.text();
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|javascript:/i);
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toMatch(/unsafe|data:|\*|https?:/);

  const page = await stage.signIn("viewer");
  const refused = await page.evaluate(async () => {
    const heard: string[] = [];
    document.addEventListener("securitypolicyviolation", (event) => heard.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "window.hacked = 1";
    const image = document.createElement("img");
    image.src = "https://evil.example/i.png";
    const frame = document.createElement("iframe");
    frame.src = "https://evil.example/";
    document.body.append(script, image, frame);
    await fetch("https://evil.example/").catch(() => undefined);
    await new Promise((done) => setTimeout(done, 300));
    return { heard: heard.toSorted(), isHacked: "hacked" in window };
  });
  expect(refused.isHacked).toBe(false);
  expect(new Set(refused.heard)).toEqual(new Set(["connect-src", "frame-src", "img-src", "script-src-elem"]));
  await page.context().close();
});
