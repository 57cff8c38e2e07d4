import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import { type CalendarEvent, listCalendarEvents, putCalendarEvent, removeCalendarEvent } from "./calendar.ts";
import { beat, type DueTask } from "./heartbeat.ts";
import { addReminder, cancelReminder, listReminders, readReminder } from "./reminders.ts";
import { completeTask, listTasks } from "./tasks.ts";
import { formatWallTime, isTimeZone } from "./wall-time.ts";

const { sql } = await testDatabase();
const userId = randomUUID();
const minute = 60_000;

async function newWorkspace(): Promise<string> {
  const id = randomUUID();
  await sql`insert into workspaces (id, name) values (${id}, 'test')`;
  return id;
}

async function remind(workspaceId: string, text: string, inMs: number): Promise<string> {
  const reminder = { workspaceId, text, dueAt: new Date(Date.now() + inMs), userId: randomUUID(), createdBy: "user:1" };
  return (await addReminder(sql, reminder)).id;
}

const beatOnce = async (workspaceId: string): Promise<readonly DueTask[]> =>
  (await transaction(sql, (tx) => beat(tx, workspaceId))).tasks;

async function titles(workspaceId: string): Promise<string[]> {
  return (await listTasks(sql, { workspaceId, userId, limit: 1_000 })).tasks.map(({ title }) => title);
}

async function tell(workspaceId: string, over: Partial<CalendarEvent> & { startsInMs?: number } = {}): Promise<void> {
  const startsAt = over.startsAt ?? new Date(Date.now() + (over.startsInMs ?? 10 * minute));
  const { startsInMs: _startsInMs, ...event } = over;
  await transaction(sql, (tx) =>
    putCalendarEvent(tx, {
      workspaceId,
      uid: "e1",
      title: "Review",
      startsAt,
      endsAt: new Date(startsAt.getTime() + 60 * minute),
      timeZone: "UTC",
      prepareMinutes: 30,
      putBy: "user:1",
      ...event,
    }),
  );
}

test("a reminder becomes a task when it is due, in up-next, once, and not before", async () => {
  const workspaceId = await newWorkspace();
  const due = await remind(workspaceId, "call Ann", -minute);
  const later = await remind(workspaceId, "call Bob", minute);
  const [task] = await beatOnce(workspaceId);
  expect(task).toMatchObject({ workspaceId, title: "call Ann", about: "reminder" });
  expect(await beatOnce(workspaceId)).toEqual([]);
  expect(await sql`select kind, status, section, title, created_by from tasks where id = ${task?.id ?? ""}`).toEqual([
    { kind: "task", status: "open", section: "up-next", title: "call Ann", created_by: "system:heartbeat" },
  ]);
  expect(await readReminder(sql, { workspaceId, userId }, due)).toMatchObject({ status: "reminded", taskId: task?.id });
  expect(await readReminder(sql, { workspaceId, userId }, later)).toMatchObject({ status: "pending", taskId: null });
  await sql`update reminders set due_at = clock_timestamp() where id = ${later}`;
  expect(await beatOnce(workspaceId)).toMatchObject([{ title: "call Bob" }]);
});

test("however many look at once, each reminder and each event becomes one task", async () => {
  const workspaceId = await newWorkspace();
  const texts = Array.from({ length: 60 }, (_, n) => `reminder ${n}`);
  for (const text of texts) await remind(workspaceId, text, -minute);
  for (let n = 0; n < 20; n += 1) await tell(workspaceId, { uid: `e${n}`, title: `event ${n}` });
  await Promise.all(Array.from({ length: 8 }, () => beatOnce(workspaceId)));
  // Rows that another held may have been passed over by all of them.
  await beatOnce(workspaceId);
  const made = await titles(workspaceId);
  expect(made).toHaveLength(80);
  expect(new Set(made).size).toBe(80);
});

test("a heartbeat that dies in the middle leaves nothing, and the next one finds the same", async () => {
  const workspaceId = await newWorkspace();
  await remind(workspaceId, "call Ann", -minute);
  await tell(workspaceId);
  const dying = transaction(sql, async (tx) => {
    await beat(tx, workspaceId);
    throw new Error("killed");
  });
  await expect(dying).rejects.toThrow("killed");
  expect(await titles(workspaceId)).toEqual([]);
  expect(await beatOnce(workspaceId)).toHaveLength(2);
});

test("a row that somebody holds delays no other", async () => {
  const workspaceId = await newWorkspace();
  const held = await remind(workspaceId, "held", -2 * minute);
  await remind(workspaceId, "free", -minute);
  await transaction(sql, async (tx) => {
    await tx`select from reminders where id = ${held} for update`;
    expect(await beatOnce(workspaceId)).toMatchObject([{ title: "free" }]);
  });
  expect(await beatOnce(workspaceId)).toMatchObject([{ title: "held" }]);
});

test("more than one heartbeat takes at once is said to be left, and is found by the next", async () => {
  const workspaceId = await newWorkspace();
  await sql`
    insert into reminders (id, workspace_id, text, due_at, user_id, created_by)
    select gen_random_uuid(), ${workspaceId}, 'n ' || n, clock_timestamp() - interval '1 minute', ${randomUUID()}, 'user:1'
      from generate_series(1, 250) n`;
  const first = await transaction(sql, (tx) => beat(tx));
  expect(first).toMatchObject({ isMore: true });
  const second = await transaction(sql, (tx) => beat(tx));
  expect(second).toMatchObject({ isMore: false });
  expect(first.tasks.length + second.tasks.length).toBe(250);
});

test("one workspace's heartbeat leaves another's reminders alone", async () => {
  const [mine, other] = [await newWorkspace(), await newWorkspace()];
  await remind(other, "theirs", -minute);
  expect(await beatOnce(mine)).toEqual([]);
  expect(await beatOnce(other)).toMatchObject([{ title: "theirs" }]);
});

test("a canceled reminder is never a task, and one that is a task is not canceled; of both at once one wins", async () => {
  const workspaceId = await newWorkspace();
  const cancel = (id: string) => cancelReminder(sql, { workspaceId, userId, id, canceledBy: "user:1" });
  const id = await remind(workspaceId, "call Ann", -minute);
  expect(await cancel(id)).toMatchObject({ kind: "canceled", reminder: { status: "canceled" } });
  expect(await cancel(id)).toMatchObject({ kind: "closed" });
  expect(await beatOnce(workspaceId)).toEqual([]);
  for (let n = 0; n < 10; n += 1) {
    const raced = await remind(workspaceId, `race ${n}`, -minute);
    const [canceled] = await Promise.all([cancel(raced), beatOnce(workspaceId)]);
    await beatOnce(workspaceId);
    const { status } = (await readReminder(sql, { workspaceId, userId }, raced)) ?? {};
    expect(status).toBe(canceled.kind === "canceled" ? "canceled" : "reminded");
    expect((await titles(workspaceId)).includes(`race ${n}`)).toBe(status === "reminded");
  }
  expect(await cancelReminder(sql, { workspaceId: await newWorkspace(), userId, id, canceledBy: "user:1" })).toEqual({
    kind: "missing",
  });
});

test("reminders are listed by when they are due, a page at a time, each once", async () => {
  const workspaceId = await newWorkspace();
  const dueAt = new Date("2040-01-01");
  for (const text of ["b", "c"])
    await addReminder(sql, { workspaceId, text, dueAt, userId: randomUUID(), createdBy: "x" });
  await remind(workspaceId, "a", minute);
  const list = (cursorId?: string) =>
    listReminders(sql, { workspaceId, userId, status: "pending", cursorId, limit: 1 });
  const first = await list();
  const second = await list(first[0]?.id);
  const third = await list(second[0]?.id);
  expect([first, second, third].map((part) => part[0]?.text)).toEqual(["a", "b", "c"]);
  expect(third).toHaveLength(1);
});

test("an event asks to be prepared for at its time, once, and one that has begun asks no more", async () => {
  const workspaceId = await newWorkspace();
  await tell(workspaceId, { uid: "soon", startsAt: new Date(Date.now() + 10 * minute) });
  await tell(workspaceId, { uid: "later", startsInMs: 60 * minute });
  await tell(workspaceId, { uid: "begun", startsInMs: -minute });
  await tell(workspaceId, { uid: "plain", prepareMinutes: 0 });
  expect(await beatOnce(workspaceId)).toMatchObject([{ about: "event" }]);
  expect(await beatOnce(workspaceId)).toEqual([]);
  const left =
    await sql`select uid from calendar_events where workspace_id = ${workspaceId} and prepare_at is not null`;
  expect(left).toEqual([{ uid: "later" }]);
});

test("an event that is told again as it was asks nothing anew; one that moved does, and the task for its old time is canceled", async () => {
  const workspaceId = await newWorkspace();
  const startsAt = new Date(Date.now() + 10 * minute);
  await tell(workspaceId, { startsAt });
  const [old] = await beatOnce(workspaceId);
  await tell(workspaceId, { startsAt, title: "Review, room 2" });
  expect(await beatOnce(workspaceId)).toEqual([]);
  await tell(workspaceId, { startsInMs: 20 * minute });
  expect(await beatOnce(workspaceId)).toHaveLength(1);
  expect(await sql`select status, resolved_by, resolution from tasks where id = ${old?.id ?? ""}`).toEqual([
    { status: "canceled", resolved_by: "system:calendar", resolution: "the event was moved" },
  ]);
});

test("an event of another name or zone at the same time has its open task say so, and one that is closed stays", async () => {
  const workspaceId = await newWorkspace();
  const startsAt = new Date(Date.now() + 10 * minute);
  await tell(workspaceId, { startsAt, title: "Board" });
  const [task] = await beatOnce(workspaceId);
  expect(task?.title).toBe(`Prepare for Board, ${formatWallTime(startsAt, "UTC")}`);
  await tell(workspaceId, { startsAt, title: "Lunch", timeZone: "Asia/Tokyo" });
  const renamed = `Prepare for Lunch, ${formatWallTime(startsAt, "Asia/Tokyo")}`;
  expect(await titles(workspaceId)).toEqual([renamed]);
  await completeTask(sql, { workspaceId, userId, id: task?.id ?? "", doneBy: "user:1" });
  await tell(workspaceId, { startsAt, title: "Dinner" });
  expect(await sql`select title from tasks where workspace_id = ${workspaceId}`).toEqual([{ title: renamed }]);
});

test("what a person did with a task stays, whatever becomes of its event", async () => {
  const workspaceId = await newWorkspace();
  await tell(workspaceId);
  const [task] = await beatOnce(workspaceId);
  await completeTask(sql, { workspaceId, userId, id: task?.id ?? "", doneBy: "user:1" });
  expect(await transaction(sql, (tx) => removeCalendarEvent(tx, workspaceId, "e1"))).toBe(true);
  expect(await transaction(sql, (tx) => removeCalendarEvent(tx, workspaceId, "e1"))).toBe(false);
  expect(await sql`select status from tasks where id = ${task?.id ?? ""}`).toEqual([{ status: "done" }]);
});

test("another workspace's event of the same uid is another event", async () => {
  const [mine, other] = [await newWorkspace(), await newWorkspace()];
  await tell(mine);
  expect(await transaction(sql, (tx) => removeCalendarEvent(tx, other, "e1"))).toBe(false);
  await tell(other, { title: "Theirs" });
  const events = await listCalendarEvents(sql, { workspaceId: mine, from: new Date(), limit: 10 });
  expect(events.map(({ title }) => title)).toEqual(["Review"]);
});

test("a task says the hour that the clocks show there, on both sides of a change of the clocks", () => {
  expect(formatWallTime(new Date("2026-10-31T18:10:00Z"), "America/New_York")).toBe(
    "2026-10-31 14:10 America/New_York",
  );
  expect(formatWallTime(new Date("2026-11-01T19:10:00Z"), "America/New_York")).toBe(
    "2026-11-01 14:10 America/New_York",
  );
  expect(formatWallTime(new Date("2026-01-01T23:30:00Z"), "Europe/Berlin")).toBe("2026-01-02 00:30 Europe/Berlin");
  expect(formatWallTime(new Date("2026-01-01T23:30:00Z"), "Nowhere/Land")).toBe("2026-01-01 23:30 UTC");
  expect(["Europe/Berlin", "UTC"].every(isTimeZone)).toBe(true);
  expect(["", "+02:00", "Mars/Base", "x".repeat(80), "UTC; drop"].some(isTimeZone)).toBe(false);
});
