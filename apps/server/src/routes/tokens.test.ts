import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const make = (token: string, body: object, headers?: Record<string, string>) =>
  send(server, token, "POST", "/v1/tokens", { body, ...(headers === undefined ? {} : { headers }) });

/** A program with its account, and what makes a token of it. */
async function givenService(role = "approver") {
  const world = await givenPeople(sql);
  const { body } = await send(server, world.tokens.admin, "POST", "/v1/users", {
    body: { name: "Sync", role, isService: true },
  });
  const userId = String(body["id"]);
  const tokenOf = async (over: object = {}): Promise<string> =>
    String((await make(world.tokens.admin, { userId, label: "sync", ...over })).body["token"]);
  return { ...world, userId, tokenOf };
}

/** Decides an approval of a fresh run; with `actFor` in somebody's name. */
async function decideFresh(world: Awaited<ReturnType<typeof givenPeople>>, token: string, actFor?: string) {
  const { approvalId } = await givenGatedRun(sql, world);
  const answer = await send(server, token, "POST", `/v1/approvals/${approvalId}/decision`, {
    body: { answer: "deny", argsDigest: "hash-of-args" },
    headers: { "if-match": '"1"', ...(actFor === undefined ? {} : { "act-for": actFor }) },
  });
  return { ...answer, approvalId };
}

test("a token is shown once, works, is listed without its value, and is refused from its revocation on", async () => {
  const { tokens, viewer, admin, workspaceId } = await givenPeople(sql);
  const made = await make(tokens.admin, { userId: viewer, label: "laptop" });
  const { id, token } = made.body as unknown as { id: string; token: string };
  expect(made).toMatchObject({
    status: 200,
    body: {
      label: "laptop",
      user: { name: "Vic Viewer" },
      mayDecide: false,
      createdBy: { id: admin },
      expiresAt: null,
    },
  });
  expect(await send(server, token, "GET", "/v1/runs")).toMatchObject({ status: 200 });

  const listed = await send(server, token, "GET", "/v1/tokens");
  expect(JSON.stringify(listed.body)).not.toContain(token);
  expect((listed.body["tokens"] as { user: object }[]).every(({ user }) => "id" in user && user.id === viewer)).toBe(
    true,
  );
  expect(await send(server, token, "DELETE", `/v1/tokens/${id}`)).toMatchObject({
    status: 200,
    body: { revokedAt: expect.any(String) as string },
  });
  for (let again = 0; again < 3; again += 1) {
    expect(await send(server, token, "GET", "/v1/runs")).toMatchObject({
      status: 401,
      body: { code: "unauthenticated" },
    });
  }
  expect(await send(server, tokens.admin, "DELETE", `/v1/tokens/${id}`)).toMatchObject({ status: 200 });
  const audit = await sql`
    select actor, action from audit where workspace_id = ${workspaceId} and subject = ${id} order by id`;
  expect(audit).toEqual([
    { actor: `user:${admin}`, action: "token.created" },
    { actor: `user:${viewer}`, action: "token.revoked" },
  ]);
});

test("a token expires when it was told to, and is not made for a past moment", async () => {
  const { tokens, viewer } = await givenPeople(sql);
  const past = new Date(Date.now() - 1_000).toISOString();
  expect(await make(tokens.admin, { userId: viewer, label: "x", expiresAt: past })).toMatchObject({ status: 422 });
  for (const expiresAt of [
    "tomorrow",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "2030-02-31T00:00:00Z",
    5,
  ]) {
    expect(await make(tokens.admin, { userId: viewer, label: "x", expiresAt })).toMatchObject({ status: 422 });
  }
  const expiresAt = "2040-01-01T00:00:00+02:00";
  const made = await make(tokens.admin, { userId: viewer, label: "x", expiresAt });
  expect(made.body).toMatchObject({ expiresAt: "2039-12-31T22:00:00.000Z" });
  const token = String(made.body["token"]);
  expect((await send(server, token, "GET", "/v1/me")).status).toBe(200);
  await sql`update tokens set expires_at = clock_timestamp() where id = ${String(made.body["id"])}`;
  expect(await send(server, token, "GET", "/v1/me")).toMatchObject({ status: 401 });
});

test("that a token was used is noted, at most once a minute, however many requests come at once", async () => {
  const { tokens, viewer } = await givenPeople(sql);
  const { body } = await make(tokens.admin, { userId: viewer, label: "x" });
  const id = String(body["id"]);
  const use = () => send(server, String(body["token"]), "GET", "/v1/me");
  const noted = async () => (await sql`select last_used_at, xmin::text as xmin from tokens where id = ${id}`)[0];
  expect(await noted()).toMatchObject({ last_used_at: null });
  await Promise.all(Array.from({ length: 20 }, use));
  const first = await noted();
  expect(first).toMatchObject({ last_used_at: expect.any(Date) as Date });
  await use();
  expect(await noted()).toEqual(first);
  await sql`update tokens set last_used_at = clock_timestamp() - interval '61 seconds' where id = ${id}`;
  await use();
  expect(Number((await noted())?.["last_used_at"])).toBeGreaterThanOrEqual(Number(first?.["last_used_at"]));
});

test("a replayed idempotency key answers without the token, which is stored nowhere", async () => {
  const { tokens, viewer } = await givenPeople(sql);
  const key = { "idempotency-key": "laptop-1" };
  const first = await make(tokens.admin, { userId: viewer, label: "laptop" }, key);
  const again = await make(tokens.admin, { userId: viewer, label: "laptop" }, key);
  expect(again).toMatchObject({ status: 200, body: { id: first.body["id"], token: null } });
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  const stored = await sql`select answer from idempotency_keys`;
  expect(JSON.stringify(stored)).not.toContain(String(first.body["token"]).slice(3));
});

test("no token gives a right that its maker's has not: one that may not decide makes none that may", async () => {
  const { userId, tokenOf, viewer } = await givenService("admin");
  const service = await tokenOf();
  expect(await make(service, { userId: viewer, label: "x", mayDecide: true })).toMatchObject({
    status: 403,
    body: { code: "may_not_decide" },
  });
  expect(await make(service, { userId, label: "x" })).toMatchObject({ status: 200, body: { mayDecide: false } });
});

test("tokens are made for enabled accounts of the workspace only, and only a service's names people it acts for", async () => {
  const { tokens, viewer, operator, userId } = await givenService();
  const other = await givenPeople(sql);
  const refused = async (body: object) => (await make(tokens.admin, { label: "x", ...body })).status;
  expect(await refused({ userId: other.viewer })).toBe(404);
  expect(await refused({ userId: viewer, actsFor: [operator] })).toBe(422);
  expect(await refused({ userId, actsFor: [other.operator] })).toBe(422);
  expect(await refused({ userId, actsFor: [userId] })).toBe(422);
  await sql`update users set disabled_at = clock_timestamp() where id = ${viewer}`;
  expect(await refused({ userId: viewer })).toBe(422);
  expect(await refused({ userId, actsFor: [viewer] })).toBe(422);
});

test("a service acts for the people its token names and for nobody else, and both are in what it did", async () => {
  const { operator, admin, userId, tokenOf } = await givenService();
  const token = await tokenOf({ actsFor: [operator] });
  const actFor = (id: string) => send(server, token, "GET", "/v1/me", { headers: { "act-for": id } });
  expect((await actFor(operator)).body).toMatchObject({ id: operator, role: "operator", via: { id: userId } });
  for (const id of [admin, "nobody", "", crypto.randomUUID()]) {
    expect(await actFor(id)).toMatchObject({ status: 403, body: { code: "may_not_act_for" } });
  }
  const run = await send(server, token, "POST", "/v1/runs", {
    body: { definition: "agent", input: "x" },
    headers: { "act-for": operator },
  });
  expect(run.body).toMatchObject({ startedBy: { id: operator } });
  await sql`update users set disabled_at = clock_timestamp() where id = ${operator}`;
  expect(await actFor(operator)).toMatchObject({ status: 403, body: { code: "may_not_act_for" } });
});

test("a service decides only with a token that may, and for somebody with no more than its own role", async () => {
  const trusted = await givenService("approver");
  const { approver, userId } = trusted;
  expect(await decideFresh(trusted, await trusted.tokenOf())).toMatchObject({
    status: 403,
    body: { code: "may_not_decide" },
  });
  expect(await decideFresh(trusted, await trusted.tokenOf({ mayDecide: true }))).toMatchObject({
    status: 200,
    body: { approval: { decidedBy: { name: "Sync" } } },
  });
  const acting = await trusted.tokenOf({ mayDecide: true, actsFor: [approver] });
  const decided = await decideFresh(trusted, acting, approver);
  expect(decided).toMatchObject({ status: 200, body: { approval: { decidedBy: { id: approver } } } });
  const [row] = await sql`select actor, details->>'way' as way from audit where subject = ${decided.approvalId}`;
  expect(row).toEqual({
    actor: `user:${approver}`,
    way: expect.stringMatching(`^token:\\S+ of user:${userId} over http$`) as string,
  });

  const weak = await givenService("operator");
  const weakToken = await weak.tokenOf({ mayDecide: true, actsFor: [weak.approver] });
  const refused = await decideFresh(weak, weakToken, weak.approver);
  expect(refused).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  const [kept] = await sql`select action from audit where subject = ${refused.approvalId}`;
  expect(kept).toEqual({ action: "approval.decision_refused" });
});

test("those that still sign in are listed apart, however many there were before", async () => {
  const { tokens, viewer } = await givenPeople(sql);
  const labels = async (query: string) => {
    const { body } = await send(server, tokens.viewer, "GET", `/v1/tokens?limit=2${query}`);
    return (body["tokens"] as { label: string }[]).map(({ label }) => label);
  };
  const [first] = await labels("");
  for (const label of ["old", "older", "spent", "kept"]) await make(tokens.admin, { userId: viewer, label });
  await sql`update tokens set revoked_at = clock_timestamp() where user_id = ${viewer} and label in ('old', 'older')`;
  await sql`update tokens set expires_at = clock_timestamp() where user_id = ${viewer} and label = 'spent'`;
  expect(await labels("&standing=live")).toEqual([first, "kept"]);
  expect(await labels("")).toEqual([first, "old"]);
});
