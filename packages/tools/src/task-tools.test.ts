import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun, givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import { tasksCreate } from "./tasks-create.ts";
import { tasksDoneLog } from "./tasks-done-log.ts";
import { tasksDone } from "./tasks-done.ts";
import { tasksList } from "./tasks-list.ts";
import { callTool, type Caller } from "./testing/call-tool.ts";

const { sql } = await testDatabase();

async function newCaller(): Promise<Caller> {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  return { workspaceId: world.workspaceId, runId, userId: world.operator };
}

async function createdId(me: Caller, args: object): Promise<string> {
  const { content } = await callTool(sql, tasksCreate, me, args);
  return /^Created task (\S+)/.exec(content)?.[1] ?? "";
}

test("a task is created in up-next, listed with its id, done once, and in the log", async () => {
  const me = await newCaller();
  const id = await createdId(me, { title: "Write to Ann" });
  const list = await callTool(sql, tasksList, me, {});
  expect(list.content).toContain(`- ${id} [up-next] Write to Ann, since 2`);
  expect(list.content).toContain("1 open in the queue.");
  expect(await callTool(sql, tasksDone, me, { id })).toMatchObject({ kind: "done" });
  expect(await callTool(sql, tasksDone, me, { id })).toMatchObject({
    kind: "failed",
    content: expect.stringContaining("already closed: done"),
  });
  expect((await callTool(sql, tasksList, me, {})).content).toContain("no open tasks");
  const log = await callTool(sql, tasksDoneLog, me, { since: "2020-01-01" });
  expect(log.content).toContain(`[up-next] Write to Ann (by run:${me.runId}, id ${id})`);
  const later = await callTool(sql, tasksDoneLog, me, { since: "2999-01-01T00:00:00+02:00" });
  expect(later.content).toBe("No task was done since 2999-01-01T00:00:00+02:00.");
});

test("a section narrows the list", async () => {
  const me = await newCaller();
  await createdId(me, { title: "one", section: "later" });
  await createdId(me, { title: "two" });
  const { content } = await callTool(sql, tasksList, me, { section: "later" });
  expect(content).toContain("one");
  expect(content).not.toContain("two");
});

test("a card is listed as one, and no agent can mark it done", async () => {
  const world = await makeWorld(sql);
  const { runId } = await givenGatedRun(sql, world);
  const me = { workspaceId: world.workspaceId, runId, userId: world.operator };
  const [card] = await sql`select id, status from tasks where run_id = ${runId}`;
  const { content } = await callTool(sql, tasksList, me, {});
  expect(content).toContain(`${card?.["id"]} [needs-confirm] mail.send (card: approval, for a person)`);
  const result = await callTool(sql, tasksDone, me, { id: card?.["id"] });
  expect(result).toMatchObject({
    kind: "failed",
    content: expect.stringContaining("only a person resolves it"),
  });
  expect(await sql`select status from tasks where run_id = ${runId}`).toEqual([{ status: "open" }]);
});

test("another workspace's task is not there", async () => {
  const me = await newCaller();
  const other = await newCaller();
  const id = await createdId(me, { title: "mine" });
  expect((await callTool(sql, tasksList, other, {})).content).toContain("no open tasks");
  expect(await callTool(sql, tasksDone, other, { id })).toMatchObject({
    kind: "failed",
    content: `There is no task ${id}. Take an id from tasks.list.`,
  });
});

test.each([
  [tasksCreate, { title: "" }],
  [tasksCreate, { title: "a\nb" }],
  [tasksCreate, { title: "a\0" }],
  [tasksCreate, { title: "Approve the payment", section: "needs-confirm" }],
  [tasksDone, { id: "1" }],
  [tasksDone, {}],
  [tasksDoneLog, { since: "yesterday" }],
  [tasksDoneLog, { since: "2026-01-01T00:00:00" }],
  [tasksList, { section: 1 }],
])("the schema of $name refuses %j", (tool, args) => {
  expect(tool.schema.safeParse(args).success).toBe(false);
});
