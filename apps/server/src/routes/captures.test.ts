import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const body = { url: "https://example.org/a#top", title: "A", markdown: "- one\n", source: "clipper/1" };

test("a capture waits for a worker, is there once per text of an address, and is listed newest first", async () => {
  const { tokens } = await givenPeople(sql);
  const capture = (over: object = {}) =>
    send(server, tokens.operator, "POST", "/v1/captures", { body: { ...body, ...over } });
  const first = await capture();
  expect(first).toMatchObject({
    status: 200,
    body: {
      status: "pending",
      url: "https://example.org/a#top",
      source: "clipper/1",
      pageId: null,
      capturedFor: { name: "Olga Operator" },
      handle: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as string,
    },
  });
  const again = await capture({ url: "https://example.org/a", title: "other" });
  expect(again.body["id"]).toBe(first.body["id"]);
  const changed = await capture({ markdown: "- two\n" });
  expect(changed.body["id"]).not.toBe(first.body["id"]);
  const { body: list } = await send(server, tokens.viewer, "GET", "/v1/captures?limit=1");
  expect(list["captures"]).toMatchObject([{ id: changed.body["id"] }]);
  const rest = await send(server, tokens.viewer, "GET", `/v1/captures?cursor=${String(list["nextCursor"])}`);
  expect(rest.body).toMatchObject({ captures: [{ id: first.body["id"] }], nextCursor: null });
});

test.each([
  { url: "javascript:alert(1)" },
  { url: "https://user:pass@example.org" },
  { url: "/etc/passwd" },
  { title: "two\nlines" },
  { title: "" },
  { markdown: "" },
  { markdown: "a\0" },
  { markdown: "\ud800" },
  { markdown: "x".repeat(500_001) },
  { screenshotFileId: "1" },
  { screenshotFileId: "01a22bc0-9a15-77e9-81d1-98ae4ae1746c" },
  { instructions: "do" },
])("a capture with %j is refused and stores nothing", async (over) => {
  const { tokens, workspaceId } = await givenPeople(sql);
  expect(await send(server, tokens.operator, "POST", "/v1/captures", { body: { ...body, ...over } })).toMatchObject({
    status: 422,
    body: { code: "invalid_request" },
  });
  expect(await sql`select from blobs where workspace_id = ${workspaceId}`).toEqual([]);
});

test("a viewer captures nothing, and another workspace's captures are not there", async () => {
  const [mine, other] = [await givenPeople(sql), await givenPeople(sql)];
  expect(await send(server, mine.tokens.viewer, "POST", "/v1/captures", { body })).toMatchObject({ status: 403 });
  const made = await send(server, mine.tokens.operator, "POST", "/v1/captures", { body });
  const path = `/v1/captures/${String(made.body["id"])}`;
  expect(await send(server, other.tokens.admin, "GET", path)).toMatchObject({ status: 404 });
  expect(await send(server, mine.tokens.viewer, "GET", path)).toMatchObject({ status: 200 });
});
