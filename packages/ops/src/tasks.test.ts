import { randomUUID } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import { completeTask, dismissTask, listSections, listTasks, putTask, readDoneLog } from "./tasks.ts";

const { sql } = await testDatabase();
const userId = randomUUID();
const createdBy = `user:${randomUUID()}`;

async function create(workspaceId: string, title: string, section?: string): Promise<string> {
  const put = await putTask(sql, { workspaceId, title, section, createdBy });
  return put.kind === "mismatch" ? "" : put.id;
}

function complete(workspaceId: string, id: string, doneBy = createdBy) {
  return transaction(sql, (tx) => completeTask(tx, { workspaceId, userId, id, doneBy }));
}

async function titles(workspaceId: string, section?: string): Promise<string[]> {
  const part = await transaction(sql, (tx) => listTasks(tx, { workspaceId, userId, section, limit: 100 }));
  return part.tasks.map((task) => task.title);
}

test("a new task waits in up-next unless another section is named, oldest first", async () => {
  const workspaceId = randomUUID();
  await create(workspaceId, "one");
  await create(workspaceId, "two", "later");
  await create(workspaceId, "three");
  expect(await titles(workspaceId)).toEqual(["one", "two", "three"]);
  expect(await titles(workspaceId, "up-next")).toEqual(["one", "three"]);
  expect(await titles(workspaceId, "none")).toEqual([]);
});

test("a list that goes on says so", async () => {
  const workspaceId = randomUUID();
  for (const title of ["one", "two", "three"]) await create(workspaceId, title);
  const list = (limit: number) => transaction(sql, (tx) => listTasks(tx, { workspaceId, userId, limit }));
  expect(await list(2)).toMatchObject({ isMore: true, tasks: [{ title: "one" }, { title: "two" }] });
  expect(await list(3)).toMatchObject({ isMore: false });
});

test("a done task leaves the list and enters the log, with who did it", async () => {
  const workspaceId = randomUUID();
  const id = await create(workspaceId, "one");
  expect(await complete(workspaceId, id, "run:7")).toEqual({ kind: "completed", title: "one", runId: null });
  expect(await titles(workspaceId)).toEqual([]);
  const log = await transaction(sql, (tx) => readDoneLog(tx, { workspaceId, userId, limit: 10 }));
  expect(log).toMatchObject({ isMore: false, tasks: [{ id, title: "one", doneBy: "run:7" }] });
  expect(log.tasks[0]?.doneAt).toBeInstanceOf(Date);
});

test("the log begins at the time asked for, latest first", async () => {
  const workspaceId = randomUUID();
  for (const day of ["01", "02", "03"]) {
    const id = await create(workspaceId, day);
    await complete(workspaceId, id);
    await sql`update tasks set resolved_at = ${`2026-05-${day}T12:00:00Z`}::text::timestamptz where id = ${id}`;
  }
  const log = await transaction(sql, (tx) =>
    readDoneLog(tx, { workspaceId, userId, since: new Date("2026-05-02T14:00:00+02:00"), limit: 10 }),
  );
  expect(log.tasks.map((task) => task.title)).toEqual(["03", "02"]);
});

test("of two who complete one task at once, one does and the other is told", async () => {
  const workspaceId = randomUUID();
  const id = await create(workspaceId, "one");
  const results = await Promise.all([complete(workspaceId, id), complete(workspaceId, id)]);
  expect(results.map((result) => result.kind).toSorted()).toEqual(["closed", "completed"]);
});

test("another workspace's task is missing, and stays open", async () => {
  const workspaceId = randomUUID();
  const id = await create(workspaceId, "one");
  expect(await complete(randomUUID(), id)).toEqual({ kind: "missing" });
  expect(await titles(workspaceId)).toEqual(["one"]);
});

test("the same task put again is there once; another under its id is refused", async () => {
  const workspaceId = randomUUID();
  const task = { id: randomUUID(), workspaceId, title: "one", createdBy };
  expect(await putTask(sql, task)).toEqual({ kind: "created", id: task.id });
  expect(await putTask(sql, task)).toEqual({ kind: "existing", id: task.id });
  expect(await putTask(sql, { ...task, title: "two" })).toEqual({ kind: "mismatch" });
  expect(await titles(workspaceId)).toEqual(["one"]);
});

test("a dismissed task leaves the list, once", async () => {
  const workspaceId = randomUUID();
  const id = await create(workspaceId, "one");
  expect(await dismissTask(sql, { workspaceId, userId, id, dismissedBy: createdBy })).toBe(true);
  expect(await dismissTask(sql, { workspaceId, userId, id, dismissedBy: createdBy })).toBe(false);
  expect(await titles(workspaceId)).toEqual([]);
});

test("the sections in which something is open are named once each, and another workspace's are not", async () => {
  const workspaceId = randomUUID();
  await create(workspaceId, "one", "later");
  const id = await create(workspaceId, "two", "someday");
  await create(workspaceId, "three", "later");
  await create(randomUUID(), "four", "elsewhere");
  expect(await listSections(sql, { workspaceId, userId })).toEqual(["later", "someday"]);
  await complete(workspaceId, id);
  expect(await listSections(sql, { workspaceId, userId })).toEqual(["later"]);
});

test("the log goes on after a task, by when it was done, each task once", async () => {
  const workspaceId = randomUUID();
  const ids = [];
  for (const title of ["one", "two", "three"]) ids.push(await create(workspaceId, title));
  for (const id of ids.toReversed()) await complete(workspaceId, id);
  const read = (cursorId?: string) => readDoneLog(sql, { workspaceId, userId, cursorId, limit: 2 });
  const first = await read();
  expect(first.tasks.map(({ title }) => title)).toEqual(["one", "two"]);
  expect((await read(first.tasks[1]?.id)).tasks.map(({ title }) => title)).toEqual(["three"]);
});
