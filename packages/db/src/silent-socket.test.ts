import { startTcpProxy } from "./testing/tcp-proxy.ts";
import { afterEach, expect, test } from "vitest";
import { connect, type Sql } from "./connect.ts";
import { isOutcomeUnknown } from "./connection-errors.ts";
import { testDatabase } from "./testing/test-database.ts";
import { transaction } from "./transaction.ts";

const { url } = await testDatabase();

const open: { end(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.end()));
});

async function aClient(silentMs = 300): Promise<{ sql: Sql; goSilent: () => void }> {
  const proxy = await startTcpProxy(url);
  const sql = connect(proxy.url, { max: 1, silentMs });
  open.push({ end: async () => void (await Promise.all([sql.end({ timeout: 0 }), proxy.close()])) });
  return { sql, goSilent: () => proxy.swallow("present") };
}

test("a statement whose connection carries nothing any more rejects with an unknown outcome, and the next one has another", async () => {
  const { sql, goSilent } = await aClient();
  await sql`select 1`;
  goSilent();
  const lost = await sql`select 2`.catch((error: unknown) => error);
  expect(lost).toMatchObject({ code: "CONNECTION_CLOSED" });
  expect(isOutcomeUnknown(lost)).toBe(true);
  expect(await sql`select 3 as n`).toEqual([{ n: 3 }]);
});

test("so does a transaction, and the next one has another", async () => {
  const { sql, goSilent } = await aClient();
  const lost = await transaction(sql, async (tx) => {
    await tx`select 1`;
    goSilent();
    await tx`select 2`;
  }).catch((error: unknown) => error);
  expect(isOutcomeUnknown(lost)).toBe(true);
  expect(await transaction(sql, async (tx) => await tx`select 3 as n`)).toEqual([{ n: 3 }]);
});

test("a connection that nobody used for so long is replaced, and no statement fails for it", async () => {
  const { sql } = await aClient(100);
  const [first] = await sql`select pg_backend_pid() as pid`;
  await new Promise((resolve) => setTimeout(resolve, 500));
  const [second] = await sql`select pg_backend_pid() as pid`;
  expect(second?.["pid"]).not.toBe(first?.["pid"]);
});

test("a statement that takes longer than that is lost too, so that only clients of short ones ask for it", async () => {
  const { sql } = await aClient();
  await expect(sql`select pg_sleep(5)`).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
});

test("a server that cannot be reached is told of at once", async () => {
  const sql = connect("postgres://nobody@127.0.0.1:1/nothing", { silentMs: 10_000 });
  await expect(sql`select 1`).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await sql.end({ timeout: 0 });
});
