import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterEach, expect, test } from "vitest";
import { type Bell, createBell, type Listener, listenToBell } from "./bell.ts";
import { until } from "./testing/driver.ts";
import { startTcpProxy } from "@countersign/db/testing/tcp-proxy.ts";

const { url, sql } = await testDatabase();

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

function opened<T extends Bell | Listener>(one: T): T {
  open.push(one);
  return one;
}

/** A listener that has begun to listen, and how often it heard a ring since. */
async function listening(to = url, options: { probeMs?: number; probeTimeoutMs?: number } = {}) {
  const heard = { rings: 0, unavailable: 0 };
  opened(
    listenToBell(to, sql, {
      onRing: () => (heard.rings += 1),
      onUnavailable: () => (heard.unavailable += 1),
      probeMs: 60_000,
      ...options,
    }),
  );
  // Starting to listen counts as a ring: what was rung before was missed.
  await until(() => heard.rings === 1);
  heard.rings = 0;
  return heard;
}

test("a ring is heard by every listener", async () => {
  const listeners = [await listening(), await listening()];
  opened(createBell(url)).ring();
  await until(() => listeners.every(({ rings }) => rings === 1));
});

test("rings close together go out as one", async () => {
  const heard = await listening();
  const bell = opened(createBell(url));
  bell.ring();
  await until(() => heard.rings === 1);
  for (let n = 0; n < 100; n += 1) bell.ring();
  await until(() => heard.rings === 2);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(heard.rings).toBe(2);
});

test("a listener's own probe is no ring", async () => {
  const heard = await listening(url, { probeMs: 10 });
  await new Promise((resolve) => setTimeout(resolve, 80));
  expect(heard).toEqual({ rings: 0, unavailable: 0 });
});

test("DU06: a listener whose connection is closed listens again, and looks for what it missed", async () => {
  const heard = await listening();
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'countersign listener'`;
  await until(() => heard.rings === 1);
  opened(createBell(url)).ring();
  await until(() => heard.rings === 2);
});

test("DU07: a listener whose connection carries nothing any more, but is not closed, is found out and replaced within a probe, and looks for what it missed", async () => {
  const proxy = await startTcpProxy(url);
  const heard = await listening(proxy.url, { probeMs: 200, probeTimeoutMs: 300 });
  proxy.swallow("present");
  const bell = opened(createBell(url));
  bell.ring();
  await until(() => heard.rings >= 1);
  const before = heard.rings;
  bell.ring();
  await until(() => heard.rings > before);
  expect(heard.unavailable).toBe(1);
  for (const one of open.splice(0)) await one.close();
  await proxy.close();
});

test("DU40: where nobody can listen that is said once, and it is tried again", async () => {
  // A pooler in transaction mode answers LISTEN and forgets it; here the listener hears another database.
  const elsewhere = connect(url.replace(/\/[^/]*$/, "/postgres"), { max: 1 });
  const heard = { rings: 0, unavailable: 0 };
  opened(
    listenToBell(url, elsewhere, {
      onRing: () => (heard.rings += 1),
      onUnavailable: () => (heard.unavailable += 1),
      probeMs: 50,
      probeTimeoutMs: 40,
    }),
  );
  await until(() => heard.rings >= 3);
  expect(heard.unavailable).toBe(1);
  for (const one of open.splice(0)) await one.close();
  await elsewhere.end();
});

test("a bell and a listener without a database reject nothing and close", async () => {
  const nowhere = "postgres://nobody@127.0.0.1:1/none";
  const bell = createBell(nowhere);
  bell.ring();
  const dead = connect(nowhere, { max: 1 });
  const listener = listenToBell(nowhere, dead, {
    onRing: () => undefined,
    onUnavailable: () => undefined,
    probeMs: 20,
    probeTimeoutMs: 10,
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  await Promise.all([bell.close(), listener.close(), dead.end({ timeout: 1 })]);
});
