import { transaction } from "@countersign/db/transaction.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { beat } from "@countersign/ops/heartbeat.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const later = "2040-01-01T09:00:00+01:00";
const at = (ms: number): string => new Date(Date.now() + ms).toISOString();

test("a reminder is set, listed by when it is due, and becomes a task when it is", async () => {
  const { tokens, workspaceId } = await givenPeople(sql);
  const set = (text: string, dueAt: string) =>
    send(server, tokens.operator, "POST", "/v1/reminders", { body: { text, dueAt } });
  const far = await set("far", later);
  expect(far).toMatchObject({
    status: 200,
    body: { text: "far", dueAt: "2040-01-01T08:00:00.000Z", status: "pending", createdBy: { name: "Olga Operator" } },
  });
  const due = await set("due", at(-1_000));
  const list = async (query = "") =>
    (await send(server, tokens.viewer, "GET", `/v1/reminders${query}`)).body["reminders"];
  expect(await list()).toMatchObject([{ text: "due" }, { text: "far" }]);
  await transaction(sql, (tx) => beat(tx, workspaceId));
  expect(await list()).toMatchObject([{ text: "far" }]);
  const [reminded] = (await list("?status=reminded")) as { id: string; taskId: string }[];
  expect(reminded?.id).toBe(due.body["id"]);
  expect(await send(server, tokens.viewer, "GET", `/v1/tasks/${reminded?.taskId}`)).toMatchObject({
    body: { title: "due", kind: "task", status: "open", createdBy: { name: "system:heartbeat" } },
  });
  expect(await send(server, tokens.operator, "POST", `/v1/reminders/${String(due.body["id"])}/cancel`)).toMatchObject({
    status: 409,
    body: { code: "already_closed", settlement: { status: "reminded", by: "system:heartbeat" } },
  });
});

test("a reminder is canceled once; whoever else cancels it is told by whom", async () => {
  const { tokens } = await givenPeople(sql);
  const set = await send(server, tokens.operator, "POST", "/v1/reminders", { body: { text: "x", dueAt: later } });
  const cancel = (token: string) => send(server, token, "POST", `/v1/reminders/${String(set.body["id"])}/cancel`);
  expect(await cancel(tokens.viewer)).toMatchObject({ status: 403 });
  expect(await cancel(tokens.operator)).toMatchObject({ status: 200, body: { status: "canceled" } });
  expect(await cancel(tokens.operator)).toMatchObject({ status: 200, body: { status: "canceled" } });
  expect(await cancel(tokens.admin)).toMatchObject({
    status: 409,
    body: { code: "already_closed", settlement: { by: "Olga Operator" } },
  });
});

test.each([
  { text: "" },
  { text: "a\nb" },
  { text: "x".repeat(301) },
  { dueAt: "tomorrow" },
  { dueAt: "2040-01-01T09:00:00" },
  { dueAt: "9999-12-31T23:59:59Z" },
])("a reminder with %j is refused", async (over) => {
  const { tokens } = await givenPeople(sql);
  const body = { text: "x", dueAt: later, ...over };
  expect(await send(server, tokens.operator, "POST", "/v1/reminders", { body })).toMatchObject({ status: 422 });
});

test("an event of a calendar is told, moved and removed; the task to prepare for it follows", async () => {
  const { tokens, workspaceId } = await givenPeople(sql);
  const tell = (over: object = {}) =>
    send(server, tokens.operator, "PUT", "/v1/calendar/review@example.org", {
      body: {
        title: "Review",
        startsAt: at(3_600_000),
        endsAt: at(7_200_000),
        timeZone: "Europe/Berlin",
        prepareMinutes: 90,
        ...over,
      },
    });
  const openTasks = async () => (await send(server, tokens.viewer, "GET", "/v1/tasks")).body["tasks"];
  expect(await tell()).toMatchObject({ status: 200, body: { uid: "review@example.org", timeZone: "Europe/Berlin" } });
  await transaction(sql, (tx) => beat(tx, workspaceId));
  expect(await openTasks()).toMatchObject([
    { title: expect.stringMatching(/^Prepare for Review, 20.*Europe\/Berlin$/) as string },
  ]);
  await tell({ startsAt: at(40 * 86_400_000), endsAt: at(41 * 86_400_000) });
  expect(await openTasks()).toEqual([]);
  const { body } = await send(server, tokens.viewer, "GET", "/v1/calendar");
  expect(body["events"]).toMatchObject([{ uid: "review@example.org", prepareMinutes: 90 }]);
  const remove = () => send(server, tokens.operator, "DELETE", "/v1/calendar/review@example.org");
  expect(await remove()).toMatchObject({ status: 200, body: { outcome: "removed" } });
  expect(await remove()).toMatchObject({ status: 404 });
  for (const odd of [
    { timeZone: "Mars/Base" },
    { timeZone: "+02:00" },
    { endsAt: at(1_000) },
    { prepareMinutes: -1 },
    { prepareMinutes: 50_000 },
    { title: "a\nb" },
  ]) {
    expect(await tell(odd)).toMatchObject({ status: 422, body: { code: "invalid_request" } });
  }
});

test.each(["a/b@x", "a\\b", "..", "a//b", "a?b=c&d#e%2Ff", "Besprechung 7 é+1"])(
  "an event of the uid %j, as a calendar outside made it, is told and removed by its uid in the query",
  async (uid) => {
    const { tokens } = await givenPeople(sql);
    const path = `/v1/calendar?${new URLSearchParams({ uid }).toString()}`;
    const body = { title: "Review", startsAt: at(3_600_000), endsAt: at(7_200_000), timeZone: "UTC" };
    expect(await send(server, tokens.operator, "PUT", path, { body })).toMatchObject({ status: 200, body: { uid } });
    const moved = { ...body, title: "Moved" };
    expect(await send(server, tokens.operator, "PUT", path, { body: moved })).toMatchObject({ status: 200 });
    const listed = await send(server, tokens.viewer, "GET", "/v1/calendar");
    expect(listed.body["events"]).toMatchObject([{ uid, title: "Moved" }]);
    expect(await send(server, tokens.operator, "DELETE", path)).toMatchObject({ status: 200, body: { uid } });
    expect(await send(server, tokens.operator, "DELETE", path)).toMatchObject({ status: 404 });
  },
);

test("an event without a uid, or with one that is no line of up to 255 characters, is refused", async () => {
  const { tokens } = await givenPeople(sql);
  const body = { title: "Review", startsAt: at(3_600_000), endsAt: at(7_200_000), timeZone: "UTC" };
  for (const query of ["", "?uid=", "?uid=a%00b", "?uid=a%0Ab", `?uid=${"x".repeat(256)}`]) {
    for (const method of ["PUT", "DELETE"]) {
      const answer = await send(server, tokens.operator, method, `/v1/calendar${query}`, { body });
      expect(answer).toMatchObject({ status: 422, body: { code: "invalid_request" } });
    }
  }
});

test("the queue names its sections, and its log says what was done, by whom, page after page", async () => {
  const { tokens } = await givenPeople(sql);
  const ids: string[] = [];
  for (const [title, section] of [
    ["one", "later"],
    ["two", "someday"],
    ["three", "later"],
  ]) {
    const made = await send(server, tokens.operator, "POST", "/v1/tasks", { body: { title, section } });
    ids.push(String(made.body["id"]));
  }
  const get = async (path: string) => (await send(server, tokens.viewer, "GET", path)).body;
  expect(await get("/v1/tasks/sections")).toEqual({ sections: ["later", "someday"] });
  for (const id of ids.toReversed()) await send(server, tokens.operator, "POST", `/v1/tasks/${id}/done`);
  expect(await get("/v1/tasks/sections")).toEqual({ sections: [] });
  const first = await get("/v1/tasks/done-log?limit=2");
  expect(first["done"]).toMatchObject([{ title: "one", doneBy: { name: "Olga Operator" } }, { title: "two" }]);
  const rest = await get(`/v1/tasks/done-log?limit=2&cursor=${String(first["nextCursor"])}`);
  expect(rest).toMatchObject({ done: [{ title: "three" }], nextCursor: null });
  expect(await get("/v1/tasks/done-log?since=2040-01-01T00:00:00Z")).toEqual({ done: [], nextCursor: null });
});
