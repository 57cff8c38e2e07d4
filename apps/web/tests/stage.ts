import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { createBell, listenToBell } from "@countersign/engine/bell.ts";
import type { Tool } from "@countersign/engine/tool.ts";
import { aWorker } from "@countersign/engine/testing/worker.ts";
import { createEvents } from "@countersign/server/events/events.ts";
import type { Oidc } from "@countersign/server/oidc.ts";
import { readPages } from "@countersign/server/pages.ts";
import { createLoginLink } from "@countersign/server/sessions.ts";
import { givenPeople, type Role, startTestServer } from "@countersign/server/testing/harness.ts";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import pino from "pino";
import { afterAll, expect, inject } from "vitest";
import { startFront } from "./front.ts";

export type { Role };

/** What a browser story plays on: a database, a server with its pages, people, and a browser. */
export interface Stage {
  readonly sql: Awaited<ReturnType<typeof testDatabase>>["sql"];
  readonly databaseUrl: string;
  readonly url: string;
  /** How many streams of events are open. */
  watching(): number;
  /** Ends the server, and what it is asked meanwhile is not answered; starts another on the same database and address. */
  stopServer(): Promise<void>;
  startServer(): Promise<void>;
  readonly browser: Browser;
  readonly world: Awaited<ReturnType<typeof givenPeople>>;
  /** A page of a browser of its own, signed in by a click on a fresh link; at another address of the server if given. */
  signIn(role: Role, options?: BrowserContextOptions, url?: string): Promise<Page>;
  /** Drives runs until the file ends. */
  startWorker(...args: DropFirst<Parameters<typeof aWorker>>): ReturnType<typeof aWorker>;
}

type DropFirst<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

export const phone: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
};

/**
 * Call it once per file, at the top level. Everything is closed after the file's last test. `pollMs` is how often the
 * server looks for changes that no bell told it of, `pingMs` how often its streams give a sign of life.
 */
export async function givenStage(
  options: {
    readonly oidc?: Oidc;
    readonly pollMs?: number;
    readonly pingMs?: number;
    readonly tools?: readonly Tool[];
  } = {},
): Promise<Stage> {
  const { oidc, pollMs, pingMs, tools } = options;
  const { sql, url: databaseUrl } = await testDatabase();
  const streams = connect(databaseUrl, { max: 2, applicationName: "test streams" });
  const start = async () => {
    const bell = createBell(databaseUrl);
    const events = createEvents({
      sql: streams,
      log: pino({ level: "silent" }),
      ...(pollMs === undefined ? {} : { pollMs }),
      ...(pingMs === undefined ? {} : { pingMs }),
    });
    const server = await startTestServer(databaseUrl, {
      pages: readPages(),
      events,
      bell,
      ...(oidc === undefined ? {} : { oidc }),
      ...(tools === undefined ? {} : { tools }),
    });
    const listener = listenToBell(databaseUrl, streams, {
      onRing: events.hear,
      onNews: events.hear,
      onUnavailable: () => undefined,
    });
    return {
      events,
      async stop() {
        await server.stop();
        await listener.close();
        await bell.close();
      },
      url: server.url,
    };
  };
  let running = await start();
  const front = await startFront(running.url);
  const browser = await chromium.launch({
    executablePath: inject("chromium"),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const world = await givenPeople(sql);
  const workers: ReturnType<typeof aWorker>[] = [];
  afterAll(async () => {
    await browser.close();
    await Promise.all(workers.map((worker) => worker.stop()));
    await running.stop();
    await Promise.all([front.stop(), streams.end()]);
  });

  return {
    sql,
    databaseUrl,
    url: front.url,
    watching: () => running.events.watching(),
    async stopServer() {
      front.leadNowhere();
      await running.stop();
    },
    async startServer() {
      running = await start();
      front.leadTo(running.url);
    },
    browser,
    world,
    async signIn(role, browserOptions = {}, at = front.url) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...browserOptions });
      context.setDefaultTimeout(45_000);
      const page = await context.newPage();
      const { workspaceId } = world;
      const { path } = await createLoginLink(sql, { workspaceId, userId: world[role], mayDecide: true });
      await page.goto(`${at}${path}`);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL("**/tasks");
      return page;
    },
    startWorker(...args) {
      const worker = aWorker(databaseUrl, ...args);
      workers.push(worker);
      return worker;
    },
  };
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails with what is wrong and where, if axe finds anything against WCAG 2.2 AA, in either colour scheme. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    // What stays at the top would lie over what was scrolled below it.
    await page.evaluate(() => scrollTo(0, 0));
    // What just came or moved is not to be pressed yet, and looks so for half a second.
    await page.waitForFunction(() => document.querySelector('.card[data-armed="false"]') === null);
    await page.evaluate(axe);
    const found = await page.evaluate(async () => {
      const { run } = (window as unknown as { axe: { run: (on: Document, options: object) => Promise<AxeResult> } })
        .axe;
      const { violations } = await run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      });
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
    });
    expect({ colorScheme, found }).toEqual({ colorScheme, found: [] });
  }
  await page.emulateMedia({ colorScheme: null });
}

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Keeps a picture of the page to be looked at, in both colour schemes, under `.test-data/screens`. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = join(import.meta.dirname, "../../../.test-data/screens");
  // What stays at the edge of a small screen would stand in the middle of a picture of all of the page.
  const fullPage = (page.viewportSize()?.width ?? 0) > 600;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage });
  }
  await page.emulateMedia({ colorScheme: null });
}

/** Expects of what is read again and again that it comes to be so. */
export function soon<T>(read: () => T) {
  return expect.poll(read, { timeout: 45_000 });
}

/**
 * From the page's next load on it notes for how long its thread is taken at a time. Returns what reads the longest since
 * that load, in milliseconds.
 */
export async function noteLongTasks(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    const observer = new PerformanceObserver((list) => {
      tasks.push(...list.getEntries().map(({ duration }) => duration));
    });
    observer.observe({ type: "longtask", buffered: true });
  });
  return async () => {
    // What was drawn last is told of after it is drawn.
    const read = () =>
      page.evaluate(async () => {
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        return Math.round(Math.max(0, ...(window as unknown as { tasks: number[] }).tasks));
      });
    return await read();
  };
}

/** The texts an agent, a tool or a person may try to get into a page with. */
export const hostile =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [a](javascript:window.hacked=1) ![i](https://evil.example/i.png) \u202Egnp.exe\u200B\u001B[31m';

/** Fails where a hostile text has done anything on the page. */
export async function expectClean(page: Page): Promise<void> {
  const found = await page.evaluate(() => ({
    isHacked: "hacked" in window,
    images: document.querySelectorAll("main img, main iframe, main object, main style").length,
    links: [...document.querySelectorAll("main a[href]")].filter(
      (link) => !/^(?:https?:|mailto:|blob:)/.test((link as HTMLAnchorElement).href),
    ).length,
    // What is typed into is shown as it is; everything else is made visible.
    raw: [...document.querySelectorAll("body *:not(textarea, script, style)")].flatMap((element) => {
      const own = [...element.childNodes]
        .filter((node) => node.nodeType === Node.TEXT_NODE)
        .map((node) => node.textContent);
      const aloud = ["aria-label", "title"].map((name) => element.getAttribute(name));
      return [...own, ...aloud].filter((text) => /[\u202E\u200B\u001B]/.test(text ?? ""));
    }),
  }));
  expect(found).toEqual({ isHacked: false, images: 0, links: 0, raw: [] });
}
