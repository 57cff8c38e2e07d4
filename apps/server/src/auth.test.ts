import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "./testing/harness.ts";
import { createToken, type NewToken } from "./tokens.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

test("a token is known by its hash alone; its value is stored nowhere", async () => {
  const world = await givenPeople(sql);
  const { id, token } = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: world.viewer,
    label: "laptop",
    mayDecide: true,
  });
  expect(token).toMatch(/^cs_[\w-]{43}$/);
  const [row] = await sql`select to_json(t)::text as text from tokens t where id = ${id}`;
  expect(row?.["text"]).not.toContain(token);
  expect(row?.["text"]).not.toContain(token.slice(3));
  expect((await send(server, token, "GET", "/v1/runs")).status).toBe(200);
});

test("without a usable token the answer is 401 and says what to send", async () => {
  for (const authorization of [undefined, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "Bearer \xe9"]) {
    const headers = authorization === undefined ? {} : { headers: { authorization } };
    const answer = await send(server, undefined, "GET", "/v1/runs", headers);
    expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  }
  const unknown = await send(server, `cs_${"x".repeat(43)}`, "GET", "/v1/runs");
  expect(unknown).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
});

test("a token that has expired, was revoked, or whose user is disabled is refused from then on", async () => {
  const world = await givenPeople(sql);
  const make = async (over: Partial<NewToken> = {}) =>
    await createToken(sql, {
      workspaceId: world.workspaceId,
      userId: world.approver,
      label: "t",
      mayDecide: true,
      ...over,
    });
  const expired = await make({ expiresAt: new Date(Date.now() - 1_000) });
  const lasting = await make({ expiresAt: new Date(Date.now() + 3_600_000) });
  const revoked = await make();
  expect((await send(server, lasting.token, "GET", "/v1/runs")).status).toBe(200);
  expect((await send(server, revoked.token, "GET", "/v1/runs")).status).toBe(200);
  await sql`update tokens set revoked_at = clock_timestamp() where id = ${revoked.id}`;
  const refused = async (token: string) => (await send(server, token, "GET", "/v1/runs")).body.detail;
  expect(await refused(expired.token)).toContain("has expired");
  expect(await refused(revoked.token)).toContain("was revoked");
  await sql`update users set disabled_at = clock_timestamp() where id = ${world.approver}`;
  expect(await refused(lasting.token)).toContain("Abe Approver is disabled");
});

test("a token of a user of another workspace stands for nobody", async () => {
  const world = await givenPeople(sql);
  const other = await givenPeople(sql);
  const { token } = await createToken(sql, {
    workspaceId: world.workspaceId,
    userId: other.admin,
    label: "crossed",
    mayDecide: true,
  });
  expect(await send(server, token, "GET", "/v1/runs")).toMatchObject({ status: 401 });
});
