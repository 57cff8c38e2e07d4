import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeEach, expect, test } from "vitest";
import { integer, pgTable } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { connect, type Sql, type Tx } from "./connect.ts";
import { isOutcomeUnknown } from "./connection-errors.ts";
import { testDatabase } from "./testing/test-database.ts";
import { onOwnConnection, transaction, TransactionAborted } from "./transaction.ts";

const { sql, url } = await testDatabase();
const pools = [sql];
afterAll(async () => {
  for (const pool of pools.slice(1)) await pool.end({ timeout: 1 });
});

beforeEach(async () => {
  await sql`drop table if exists writes`;
  await sql`create table writes (owner int not null, xid text not null default pg_current_xact_id()::text)`;
});

function pool(max: number, extra = "") {
  const made = connect(url + extra, { max });
  pools.push(made);
  return made;
}

async function owners(): Promise<number[]> {
  const rows = await sql<{ owner: number }[]>`select owner from writes order by owner`;
  return rows.map((row) => row.owner);
}

async function killConnectionOf(tx: Tx): Promise<void> {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  if (row === undefined) throw new Error("no backend pid");
  await sql`select pg_terminate_backend(${row.pid}, 5000)`;
  // The server has ended; give this process a moment to see its socket close.
  await sleep(30);
}

test("what the body wrote is committed, and its answer returned", async () => {
  const answer = await transaction(sql, async (tx) => {
    await tx`insert into writes (owner) values (1), (2)`;
    return "done";
  });
  expect(answer).toBe("done");
  expect(await owners()).toEqual([1, 2]);
});

test("a body that throws leaves nothing and its error comes out unchanged", async () => {
  const refusal = new Error("no");
  const attempt = transaction(sql, async (tx) => {
    await tx`insert into writes (owner) values (1)`;
    throw refusal;
  });
  await expect(attempt).rejects.toBe(refusal);
  expect(await owners()).toEqual([]);
});

test("a failed statement that the body swallowed is not taken for a commit", async () => {
  const attempt = transaction(sql, async (tx) => {
    await tx`insert into writes (owner) values (1)`;
    await tx`select 1 / 0`.catch(() => "swallowed");
  });
  await expect(attempt).rejects.toBeInstanceOf(TransactionAborted);
  await expect(attempt).rejects.toMatchObject({ cause: { code: "22012" } });
  expect(await owners()).toEqual([]);
});

test("a statement that the body did not await still belongs to its transaction", async () => {
  await transaction(sql, async (tx) => {
    void tx`insert into writes (owner) values (1)`.execute();
    await tx`insert into writes (owner) values (2)`;
    void tx`insert into writes (owner) values (3)`.execute();
  });
  const rows = await sql<{ xids: number }[]>`select count(distinct xid) as xids, count(*) as n from writes`;
  expect(rows).toMatchObject([{ xids: 1, n: 3 }]);
});

test.each([
  { setting: "one connection", max: 1, extra: "" },
  { setting: "a pipeline of one", max: 4, extra: "?max_pipeline=1" },
  { setting: "a long pipeline", max: 4, extra: "" },
])("DU20: with $setting saturated, every transaction is whole and alone", async ({ max, extra }) => {
  const busy = pool(max, extra);
  const plain = Array.from({ length: 150 }, () => busy`insert into writes (owner) values (-1)`.execute());
  const transactions = Array.from({ length: 60 }, (_, owner) =>
    transaction(busy, async (tx) => {
      await tx`insert into writes (owner) values (${owner})`;
      await Promise.all([
        tx`insert into writes (owner) values (${owner})`,
        tx.unsafe("insert into writes (owner) values ($1)", [owner], { prepare: true }),
      ]);
      if (owner % 3 === 0) throw new Error("rolled back on purpose");
    }),
  );
  const more = Array.from({ length: 150 }, () => busy`insert into writes (owner) values (-1)`.execute());
  const outcomes = await Promise.allSettled(transactions);
  await Promise.all([...plain, ...more]);

  expect(outcomes.filter((outcome) => outcome.status === "rejected")).toHaveLength(20);
  const [counts] = await sql`
    select count(*) filter (where owner >= 0)              as by_transactions,
           count(distinct xid) filter (where owner >= 0)   as transactions,
           count(*) filter (where owner < 0)               as by_plain,
           count(distinct xid) filter (where owner < 0)    as plain,
           count(distinct xid)                             as all_together
      from writes`;
  expect(counts).toEqual({ by_transactions: 120, transactions: 40, by_plain: 300, plain: 300, all_together: 340 });
  const mixed = await sql`select xid from writes group by xid having count(distinct owner) > 1`;
  expect(mixed).toHaveLength(0);
});

test("a connection that dies between two statements is an error of the next one, and nothing is stored", async () => {
  const single = pool(1);
  const attempt = transaction(single, async (tx) => {
    await tx`insert into writes (owner) values (1)`;
    await killConnectionOf(tx);
    await tx`insert into writes (owner) values (2)`;
  });
  await expect(attempt).rejects.toThrow("connection to the database was lost");
  await expect(attempt).rejects.toSatisfy(isOutcomeUnknown);
  expect(await owners()).toEqual([]);
  await single`insert into writes (owner) values (3)`;
  await transaction(single, (tx) => tx`insert into writes (owner) values (4)`);
  expect(await owners()).toEqual([3, 4]);
});

test("a dead transaction's later statement never joins what its pool does on the new connection", async () => {
  const single = pool(1);
  const attempt = transaction(single, async (tx) => {
    await killConnectionOf(tx);
    await single`select 1`;
    await tx`insert into writes (owner) values (1)`;
  });
  await expect(attempt).rejects.toThrow("connection to the database was lost");
  expect(await owners()).toEqual([]);
});

test("a connection that dies during a statement is an error of that statement", async () => {
  const single = pool(1);
  const attempt = transaction(single, async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const slow = tx`select pg_sleep(20)`.execute();
    await sql`select pg_terminate_backend(${row?.pid ?? 0}, 5000)`;
    await slow;
  });
  await expect(attempt).rejects.toSatisfy(isOutcomeUnknown);
  await transaction(single, (tx) => tx`insert into writes (owner) values (1)`);
  expect(await owners()).toEqual([1]);
});

test("a body that ends without noticing that its connection died is not taken for a commit", async () => {
  const attempt = transaction(pool(1), async (tx) => {
    await tx`insert into writes (owner) values (1)`;
    await killConnectionOf(tx);
  });
  await expect(attempt).rejects.toThrow("connection to the database was lost");
});

test("a server that goes down under a statement and comes back is used again, by statements and transactions", async () => {
  const single = pool(1);
  const pidOf = async (on: Pick<Tx, "unsafe">) =>
    Number((await on.unsafe("select pg_backend_pid() as pid"))[0]?.["pid"]);
  const kill = async (pid: number) => sql`select pg_terminate_backend(${pid}, 5000)`;
  const plainPid = await pidOf(single);
  const plain = expect(single`select pg_sleep(20)`).rejects.toSatisfy(isOutcomeUnknown);
  const inTransaction = transaction(single, async (tx) => {
    const pid = await pidOf(tx);
    const slow = tx`select pg_sleep(20)`.execute();
    await kill(pid);
    await slow;
  });
  await expect(inTransaction).rejects.toSatisfy(isOutcomeUnknown);
  await kill(plainPid);
  await plain;
  await Promise.all(
    [1, 2, 3].map((owner) => transaction(single, (tx) => tx`insert into writes (owner) values (${owner})`)),
  );
  expect(await owners()).toEqual([1, 2, 3]);
});

test("a connection that died while it lay idle is replaced without anybody noticing", async () => {
  const single = pool(1);
  const pid = await transaction(
    single,
    async (tx) => (await tx<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid ?? 0,
  );
  await sql`select pg_terminate_backend(${pid}, 5000)`;
  await transaction(single, (tx) => tx`insert into writes (owner) values (1)`);
  expect(await owners()).toEqual([1]);
});

test("drizzle over a transaction leaves the connection's types as they were", async () => {
  const single = pool(1);
  const made = pgTable("writes", { owner: integer() });
  await transaction(single, (tx) =>
    drizzle(tx as unknown as Sql)
      .insert(made)
      .values({ owner: 7 }),
  );
  expect(await owners()).toEqual([7]);
  const [row] = await transaction(single, (tx) => tx<{ at: unknown }[]>`select now() as at`);
  expect(row?.at).toBeInstanceOf(Date);
});

test("int8 is a number, and one that a number cannot hold is an error", async () => {
  expect(await sql`select 9007199254740991::int8 as n, array[1, 2]::int8[] as list`).toMatchObject([
    { n: 2 ** 53 - 1, list: [1, 2] },
  ]);
  await expect(sql`select 9007199254740993::int8 as n`).rejects.toThrow("select it as text");
});

test("on a connection of its own a statement that waits holds up nobody else", async () => {
  const single = pool(2);
  const [slow, quick] = await Promise.all([
    onOwnConnection(single, (own) => own`select pg_sleep(0.2)`.then(() => performance.now())),
    Promise.all(Array.from({ length: 20 }, () => single`select 1`)).then(() => performance.now()),
  ]);
  expect(quick).toBeLessThan(slow);
});

test("a statement sent after the end rejects instead of joining the next transaction", async () => {
  const single = pool(1);
  const leaked = await transaction(single, (tx) => Promise.resolve({ tx }));
  const late = transaction(single, async (tx) => {
    await tx`insert into writes (owner) values (1)`;
    await expect(leaked.tx`insert into writes (owner) values (2)`).rejects.toThrow("after its transaction had ended");
  });
  await late;
  expect(await owners()).toEqual([1]);
});

test("pg_notify of a transaction that is rolled back is not heard", async () => {
  const heard: string[] = [];
  const listener = pool(1);
  await listener.listen("bell", (payload) => heard.push(payload));
  await transaction(sql, async (tx) => {
    await tx.notify("bell", "canceled");
    throw new Error("no");
  }).catch(() => "expected");
  await transaction(sql, (tx) => tx.notify("bell", "kept"));
  await expect.poll(() => heard).toEqual(["kept"]);
});

test("a transaction that cannot begin gives its connection back clean", async () => {
  const single = pool(1);
  const attempt = transaction(single, () => Promise.resolve(), { statementTimeoutMs: -5 });
  await expect(attempt).rejects.toMatchObject({ code: "22023" });
  await transaction(single, (tx) => tx`insert into writes (owner) values (1)`);
  await single`insert into writes (owner) values (2)`;
  expect(await owners()).toEqual([1, 2]);
});

test("DU37: a body that awaits something other than SQL is ended by the idle timeout asked for", async () => {
  const attempt = transaction(
    pool(1),
    async (tx) => {
      await tx`insert into writes (owner) values (1)`;
      await sleep(300);
    },
    { idleTimeoutMs: 100 },
  );
  await expect(attempt).rejects.toThrow("connection to the database was lost");
  expect(await owners()).toEqual([]);
  const idle =
    await sql`select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`;
  expect(idle).toHaveLength(0);
});

test("isolation, access and timeouts hold for the one transaction only", async () => {
  const single = pool(1);
  const show = (tx: Pick<Tx, "unsafe">) =>
    tx.unsafe(`select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as read_only,
                      current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock`);
  const inside = await transaction(single, show, {
    isolation: "repeatable read",
    isReadOnly: true,
    statementTimeoutMs: 7000,
    lockTimeoutMs: 3000,
  });
  expect(inside).toMatchObject([{ isolation: "repeatable read", read_only: "on", statement: "7s", lock: "3s" }]);
  expect(await show(single)).toMatchObject([
    { isolation: "read committed", read_only: "off", statement: "0", lock: "0" },
  ]);
});

test("ending the pool waits for the transaction in hand and then ends", async () => {
  const single = connect(url, { max: 1 });
  let ended: Promise<void> | undefined;
  await transaction(single, async (tx) => {
    ended = single.end();
    await sleep(20);
    await tx`insert into writes (owner) values (1)`;
  });
  await ended;
  expect(await owners()).toEqual([1]);
});

test("when the pool cannot connect, the transaction rejects and its body never runs", async () => {
  const nowhere = connect("postgres://nobody@127.0.0.1:1/none", { max: 1 });
  let hasRun = false;
  const attempt = transaction(nowhere, () => {
    hasRun = true;
    return Promise.resolve();
  });
  await expect(attempt).rejects.toMatchObject({ code: "ECONNREFUSED" });
  expect(hasRun).toBe(false);
  await nowhere.end({ timeout: 0 });
});
