import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadOrMakeKey, makeKeyring } from "@countersign/broker/keyring.ts";
import { createProcessSecrets } from "@countersign/broker/process-secrets.ts";
import { connect } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { putCapture } from "@countersign/ops/captures.ts";
import type { FindJobsOptions } from "pg-boss";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startJobs } from "./jobs.ts";
import { findLostRows, handOver, openQueue, type PgBoss, queueRows, type RowQueue, startQueue } from "./queue.ts";

const { sql, url } = await testDatabase();
const log = pino({ level: "silent" });
const captures: RowQueue = { name: "captures", table: "captures" };
let boss: PgBoss;

beforeAll(async () => {
  boss = await startQueue(url, log);
  await openQueue(boss, captures.name, { retryLimit: 3, retryDelay: 0 });
});
afterAll(() => boss.stop());

async function givenCapture(): Promise<string> {
  const { workspaceId, operator: userId } = await makeWorld(sql);
  const hash = await storeBlob(sql, workspaceId, Buffer.from("- a"), "text/markdown");
  const put = await putCapture(sql, { workspaceId, url: "https://example.org", title: "A", hash, userId });
  return put.kind === "refused" ? "" : put.id;
}

async function queuedAt(id: string): Promise<Date | null | undefined> {
  const [row] = await sql<{ queuedAt: Date | null }[]>`select queued_at as "queuedAt" from captures where id = ${id}`;
  return row?.queuedAt;
}

const stateOf = async (id: string): Promise<string | undefined> =>
  (await boss.findJobs(captures.name, { id }))[0]?.state;

test("DU25: every queue of the product has the policy standard, whatever another version had set", async () => {
  const key = await loadOrMakeKey(mkdtempSync(join(tmpdir(), "countersign-keys-")));
  const jobs = await startJobs({
    sql,
    databaseDirectUrl: url,
    secrets: createProcessSecrets({ sql, keyring: makeKeyring([key]) }),
    log,
    mayWebhooksBePrivate: true,
    onDelivery: () => undefined,
  });
  await jobs.stop();
  const queues = await boss.getQueues();
  const ours = queues.filter(({ name }) => !name.startsWith("__pgboss__"));
  expect(ours.map(({ name, policy }) => `${name} ${policy}`).toSorted()).toEqual([
    "captures standard",
    "heartbeat standard",
    "webhooks standard",
  ]);
  expect((await boss.getSchedules()).map(({ name, cron }) => [name, cron])).toEqual([["heartbeat", "* * * * *"]]);
  await boss.createQueue("fifo", { policy: "stately" });
  await expect(openQueue(boss, "fifo", {})).rejects.toThrow(/has the policy stately; it needs standard/);
});

test.each(["captures", "webhooks", "heartbeat"])(
  "DU25: in the queue %s a job to be tried again and a new one of the same key are both taken, and so is what stands behind",
  async (queue) => {
    await boss.deleteAllJobs(queue);
    const options = { singletonKey: "same", retryLimit: 3, retryDelay: 0 };
    const first = await boss.send(queue, {}, options);
    const [taken] = await boss.fetch(queue);
    expect(taken?.id).toBe(first);
    await boss.fail(queue, taken?.id ?? "");
    const second = await boss.send(queue, {}, options);
    const behind = await boss.send(queue, {}, { retryLimit: 3 });
    expect([second, behind]).not.toContain(null);
    const rest = await boss.fetch(queue, { batchSize: 10, ignoreStartAfter: true });
    expect(rest.map(({ id }) => id).toSorted()).toEqual([first ?? "", second ?? "", behind ?? ""].toSorted());
    await boss.deleteAllJobs(queue);
  },
);

test("DU26: a job that the queue made no row for is an error, and what waits for it is handed over again", async () => {
  const id = await givenCapture();
  const silent = {
    insert: () => Promise.resolve(null),
    findJobs: <T>(name: string, options?: FindJobsOptions) => boss.findJobs<T>(name, options),
  };
  await expect(queueRows(sql, silent, captures)).rejects.toThrow(`took no job for ${id}`);
  expect(await queuedAt(id)).toBeNull();
  await queueRows(sql, boss, captures);
  expect(await queuedAt(id)).toBeInstanceOf(Date);
  expect(await stateOf(id)).toBe("created");
});

test("a row that the queue takes no job for keeps no other waiting", async () => {
  const ids = [await givenCapture(), await givenCapture(), await givenCapture()];
  const [culprit = "", ...sound] = ids;
  const refusing: Parameters<typeof queueRows>[1] = {
    insert: (queue, jobs, options) =>
      jobs.some(({ id }) => id === culprit) ? Promise.resolve(null) : boss.insert(queue, jobs, options),
    findJobs: <T>(queue: string, options?: FindJobsOptions) => boss.findJobs<T>(queue, options),
  };
  await expect(queueRows(sql, refusing, captures)).rejects.toThrow(`took no job for ${culprit}`);
  expect(await queuedAt(culprit)).toBeNull();
  for (const id of sound) {
    expect(await queuedAt(id)).toBeInstanceOf(Date);
    expect(await stateOf(id)).toBe("created");
  }
  await queueRows(sql, boss, captures);
  expect(await stateOf(culprit)).toBe("created");
});

test("DU26: a job that is there already is none, so handing over twice is once", async () => {
  const ids = [randomUUID(), randomUUID()];
  await handOver(boss, captures.name, [ids[0] ?? ""]);
  await handOver(boss, captures.name, ids);
  for (const id of ids) expect(await boss.findJobs(captures.name, { id })).toHaveLength(1);
});

test("DU26: processes that hand over at once make one job of each row", async () => {
  const ids = [await givenCapture(), await givenCapture(), await givenCapture()];
  const other = await startQueue(url, log);
  await Promise.all([queueRows(sql, boss, captures), queueRows(sql, other, captures), queueRows(sql, boss, captures)]);
  await other.stop();
  for (const id of ids) {
    expect(await queuedAt(id)).toBeInstanceOf(Date);
    expect(await boss.findJobs(captures.name, { id })).toHaveLength(1);
  }
});

test("a crash between a job and the note of it makes no second job", async () => {
  const id = await givenCapture();
  await handOver(boss, captures.name, [id]);
  await queueRows(sql, boss, captures);
  expect(await boss.findJobs(captures.name, { id })).toHaveLength(1);
  expect(await queuedAt(id)).toBeInstanceOf(Date);
});

test.each([
  ["is gone", (id: string) => boss.deleteJob(captures.name, id)],
  ["was given up", (id: string) => sql`update pgboss.job set state = 'failed' where id = ${id}`],
  ["ended without its row", (id: string) => sql`update pgboss.job set state = 'completed' where id = ${id}`],
] as const)("a row that waits while its job %s is handed over again, once", async (_what, lose) => {
  const id = await givenCapture();
  await queueRows(sql, boss, captures);
  await lose(id);
  expect(await findLostRows(sql, captures)).toBe(0);
  await sql`update captures set queued_at = clock_timestamp() - interval '11 minutes' where id = ${id}`;
  const elsewhere = connect(url);
  const found = await Promise.all([findLostRows(sql, captures), findLostRows(elsewhere, captures)]);
  await elsewhere.end();
  expect(found.toSorted((a, b) => a - b)).toEqual([0, 1]);
  await queueRows(sql, boss, captures);
  expect(await stateOf(id)).toBe("created");
  await sql`update captures set queued_at = clock_timestamp() - interval '11 minutes' where id = ${id}`;
  expect(await findLostRows(sql, captures)).toBe(0);
  await boss.deleteJob(captures.name, id);
  await sql`update captures set status = 'failed', settled_at = clock_timestamp() where id = ${id}`;
});
