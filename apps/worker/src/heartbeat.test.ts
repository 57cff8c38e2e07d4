import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { putCalendarEvent } from "@countersign/ops/calendar.ts";
import { addReminder } from "@countersign/ops/reminders.ts";
import pino from "pino";
import { afterAll, expect, test } from "vitest";
import { heartbeatQueue, startHeartbeat } from "./heartbeat.ts";
import { startQueue } from "./queue.ts";

const { sql, url } = await testDatabase();
const log = pino({ level: "silent" });
const running: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of running) await stop();
});

async function startWorker() {
  const boss = await startQueue(url, log);
  const heartbeat = await startHeartbeat({ sql, boss, log, queuePollSeconds: 0.5 });
  running.push(async () => {
    await heartbeat.stop();
    await boss.stop();
  });
  return boss;
}

async function titlesOf({ workspaceId }: World): Promise<string[]> {
  const rows = await sql<
    { title: string }[]
  >`select title from tasks where workspace_id = ${workspaceId} order by title`;
  return rows.map(({ title }) => title);
}

test("with two workers on one schedule, whatever is due in any workspace becomes a task once", async () => {
  const [one, other] = [await makeWorld(sql), await makeWorld(sql)];
  for (const { workspaceId, operator: userId } of [one, other]) {
    for (const text of ["a", "b"]) {
      const dueAt = new Date(Date.now() - 1_000);
      await addReminder(sql, { workspaceId, text, dueAt, userId, createdBy: "system" });
    }
  }
  const [boss] = [await startWorker(), await startWorker()];
  expect(await boss.getSchedules(heartbeatQueue)).toMatchObject([{ cron: "* * * * *" }]);
  // What the schedule does each minute, several times over.
  for (let n = 0; n < 4; n += 1) expect(await boss.send(heartbeatQueue)).not.toBeNull();
  await expect.poll(() => titlesOf(one), { timeout: 45_000 }).toEqual(["a", "b"]);
  await expect.poll(() => titlesOf(other), { timeout: 45_000 }).toEqual(["a", "b"]);
  const waiting = async () =>
    (await sql`select from pgboss.job where name = ${heartbeatQueue} and state < 'completed'`).length;
  await expect.poll(waiting, { timeout: 45_000 }).toBe(0);
  expect(await titlesOf(one)).toEqual(["a", "b"]);
});

test("a reminder or an event that can become no task keeps no other, in its workspace or elsewhere", async () => {
  const [one, other] = [await makeWorld(sql), await makeWorld(sql)];
  const dueAt = new Date(Date.now() - 1_000);
  for (const [{ workspaceId, operator: userId }, texts] of [
    [one, ["bad", "good"]],
    [other, ["good"]],
  ] as const) {
    for (const text of texts) await addReminder(sql, { workspaceId, text, dueAt, userId, createdBy: "system" });
    for (const title of texts) {
      const startsAt = new Date(Date.now() + 600_000);
      const event = {
        uid: title,
        title,
        startsAt,
        endsAt: startsAt,
        timeZone: "UTC",
        prepareMinutes: 30,
        putBy: "user",
      };
      await transaction(sql, (tx) => putCalendarEvent(tx, { workspaceId, ...event }));
    }
  }
  await sql`alter table tasks add constraint refuse_bad check (title !~ 'bad')`;
  const boss = await startWorker();
  await boss.send(heartbeatQueue);
  await expect.poll(async () => (await titlesOf(one)).length, { timeout: 45_000 }).toBe(2);
  await expect.poll(async () => (await titlesOf(other)).length, { timeout: 45_000 }).toBe(2);
  for (const world of [one, other])
    expect(await titlesOf(world)).toEqual([expect.stringMatching(/^Prepare for good,/), "good"]);
  await sql`alter table tasks drop constraint refuse_bad`;
});
