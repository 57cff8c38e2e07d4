import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { createLoginLink } from "../sessions.ts";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type People = Awaited<ReturnType<typeof givenPeople>>;

const ownPage = { "sec-fetch-site": "same-origin", "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0" };

async function linkOf({ workspaceId }: People, userId: string, mayDecide = true): Promise<string> {
  const { path } = await createLoginLink(sql, { workspaceId, userId, mayDecide });
  return path.slice(path.indexOf("#") + 1);
}

const signIn = (code: string) => send(server, undefined, "POST", "/session", { body: { code }, headers: ownPage });

/** The headers of a browser that signed in. */
async function browserOf(world: People, userId: string, mayDecide = true): Promise<Record<string, string>> {
  const answer = await signIn(await linkOf(world, userId, mayDecide));
  return { ...ownPage, cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

const ask = (headers: Record<string, string>, method: string, path: string, body?: unknown) =>
  send(server, undefined, method, path, { headers, ...(body === undefined ? {} : { body }) });

test("a link has the public address where the server was given one, whatever name it was asked under", async () => {
  const world = await givenPeople(sql);
  const plain = await send(server, world.tokens.viewer, "POST", "/v1/login-links", { body: {} });
  expect(plain.body["url"]).toBeNull();
  const known = await startTestServer(url, { publicUrl: "https://agents.example.org" });
  const made = await send(known, world.tokens.viewer, "POST", "/v1/login-links", { body: {} });
  expect(made.body["url"]).toBe(`https://agents.example.org${String(made.body["path"])}`);
  await known.stop();
});

test("under https a session is taken from this host alone: a cookie that a host beside it laid signs nobody in", async () => {
  const world = await givenPeople(sql);
  const known = await startTestServer(url, { publicUrl: "https://agents.example.org" });
  const code = await linkOf(world, world.operator);
  const signedIn = await send(known, undefined, "POST", "/session", { body: { code }, headers: ownPage });
  const cookie = signedIn.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^__Host-countersign_\d+=cs_[\w-]{43}; .*Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  const own = cookie.split(";")[0] ?? "";
  const laid = own.replace("__Host-", "");
  const me = (sent: string) => send(known, undefined, "GET", "/v1/me", { headers: { ...ownPage, cookie: sent } });
  expect(await me(laid)).toMatchObject({ status: 401 });
  expect(await me(`${laid}x; ${own}`)).toMatchObject({ status: 200, body: { id: world.operator } });
  await known.stop();
});

test("what an account is answered stays in no browser's cache", async () => {
  const { tokens } = await givenPeople(sql);
  for (const path of ["/v1/me", "/v1/tasks", "/v1/nothing"]) {
    const { headers } = await send(server, tokens.admin, "GET", path);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("a login link signs its person in once, by a cookie that no script reads and no other site sends", async () => {
  const world = await givenPeople(sql);
  const made = await send(server, world.tokens.operator, "POST", "/v1/login-links", { body: {} });
  const path = String(made.body["path"]);
  expect(path).toMatch(/^\/login#[\w-]{43}$/);
  const code = path.split("#")[1] ?? "";

  const answers = await Promise.all(Array.from({ length: 8 }, () => signIn(code)));
  const [first, ...others] = answers.toSorted((a, b) => a.status - b.status);
  expect(first).toMatchObject({ status: 200, body: { userId: world.operator } });
  for (const other of others) expect(other).toMatchObject({ status: 403, body: { code: "link_not_valid" } });

  const cookie = first?.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^countersign_\d+=cs_[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict$/);
  const headers = { ...ownPage, cookie: cookie.split(";")[0] ?? "" };
  expect(await ask(headers, "GET", "/v1/me")).toMatchObject({ status: 200, body: { id: world.operator } });
  const listed = await ask(headers, "GET", "/v1/tokens");
  expect(listed.body["tokens"]).toContainEqual(
    expect.objectContaining({ kind: "session", label: "Firefox on Linux", mayDecide: true }),
  );
  const [stored] = await sql`select string_agg(to_json(l)::text, ' ') as text from login_links l`;
  expect(stored?.["text"]).not.toContain(code);
});

test("AZ59, UI19: looking at a link, however often, uses up nothing", async () => {
  const world = await givenPeople(sql);
  const code = await linkOf(world, world.viewer);
  for (const method of ["GET", "HEAD", "GET"]) await send(server, undefined, method, "/login");
  expect((await signIn(code)).status).toBe(200);
});

test("a link that is late, of a disabled account, or of somebody's making up signs nobody in", async () => {
  const world = await givenPeople(sql);
  const late = await linkOf(world, world.viewer);
  await sql`update login_links set expires_at = clock_timestamp() where user_id = ${world.viewer}`;
  const disabled = await linkOf(world, world.operator);
  await sql`update users set disabled_at = clock_timestamp() where id = ${world.operator}`;
  for (const code of [late, disabled, "x", "0".repeat(43), "' or true --"]) {
    const answer = await signIn(code);
    expect(answer).toMatchObject({ status: 403, body: { code: "link_not_valid" } });
    expect(answer.headers.get("set-cookie")).toBeNull();
  }
});

test("signing out, a revocation and a disabled account end a session at once, and the browser's cookie with the first", async () => {
  const world = await givenPeople(sql);
  const headers = await browserOf(world, world.viewer);
  const { body } = await ask(headers, "GET", "/v1/me");
  const out = await ask(headers, "DELETE", `/v1/tokens/${String(body["tokenId"])}`);
  expect(out.status).toBe(200);
  expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
  expect(await ask(headers, "GET", "/v1/me")).toMatchObject({
    status: 401,
    body: { detail: expect.stringContaining("Sign in again") as string },
  });

  const other = await browserOf(world, world.viewer);
  const tokenId = String((await ask(other, "GET", "/v1/me")).body["tokenId"]);
  expect(await send(server, world.tokens.admin, "DELETE", `/v1/tokens/${tokenId}`)).toMatchObject({ status: 200 });
  expect((await ask(other, "GET", "/v1/me")).status).toBe(401);

  const last = await browserOf(world, world.operator);
  await sql`update users set disabled_at = clock_timestamp() where id = ${world.operator}`;
  expect((await ask(last, "GET", "/v1/me")).status).toBe(401);
});

test("a session changes something only where the browser says that the request is from the server's own page", async () => {
  const world = await givenPeople(sql);
  const { cookie = "" } = await browserOf(world, world.operator);
  const create = (headers: Record<string, string>) => ask({ cookie, ...headers }, "POST", "/v1/tasks", { title: "x" });
  for (const headers of [
    {},
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { origin: "null" },
  ]) {
    expect(await create(headers)).toMatchObject({ status: 403, body: { code: "cross_site" } });
  }
  expect((await create({ "sec-fetch-site": "same-origin" })).status).toBe(200);
  expect((await create({ origin: server.url })).status).toBe(200);
});

test("a session's value is no bearer token, and a token is no session", async () => {
  const world = await givenPeople(sql);
  const { cookie = "" } = await browserOf(world, world.viewer);
  const [name = "", value = ""] = cookie.split("=");
  expect((await send(server, value, "GET", "/v1/me")).status).toBe(401);
  expect((await ask({ cookie: `${name}=${world.tokens.viewer}` }, "GET", "/v1/me")).status).toBe(401);
});

test("the audit says that a decision came from a person's session, and a session has no right that its maker lacked", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  const decide = (headers: Record<string, string>) =>
    ask({ ...headers, "if-match": '"1"' }, "POST", `/v1/approvals/${approvalId}/decision`, {
      answer: "deny",
      argsDigest: "hash-of-args",
    });
  const weak = await browserOf(world, world.approver, false);
  expect(await decide(weak)).toMatchObject({ status: 403, body: { code: "may_not_decide" } });
  expect((await decide(await browserOf(world, world.approver))).status).toBe(200);
  const [row] = await sql`
    select details->>'way' as way from audit where subject = ${approvalId} and action = 'approval.decided'`;
  expect(row?.["way"]).toMatch(/^session:\S+ over web$/);
});

test("a page that was drawn for another account than the browser's session is of asks for nothing and changes nothing", async () => {
  const world = await givenPeople(sql);
  const headers = await browserOf(world, world.operator);
  const from = (userId: string) => ({ ...headers, "signed-in-as": userId });
  const refusal = { status: 409, body: { code: "another_account" } };
  for (const userId of [world.viewer, "nobody", ""]) {
    expect(await ask(from(userId), "GET", "/v1/me")).toMatchObject(refusal);
    expect(await ask(from(userId), "POST", "/v1/tasks", { title: "not mine" })).toMatchObject(refusal);
  }
  expect(await sql`select from tasks where workspace_id = ${world.workspaceId}`).toHaveLength(0);
  expect((await ask(from(world.operator.toUpperCase()), "POST", "/v1/tasks", { title: "mine" })).status).toBe(200);
  // Whoever sends a token names themselves by it.
  const answer = await send(server, world.tokens.viewer, "GET", "/v1/me", {
    headers: { "signed-in-as": world.operator },
  });
  expect(answer.status).toBe(200);
});

test("who signs in over a session ends it, and the audit says so; a link that does not work ends nothing", async () => {
  const world = await givenPeople(sql);
  const before = await browserOf(world, world.operator);
  const over = (code: string) => send(server, undefined, "POST", "/session", { body: { code }, headers: before });
  expect((await over("0".repeat(43))).status).toBe(403);
  expect((await ask(before, "GET", "/v1/me")).status).toBe(200);
  expect((await over(await linkOf(world, world.viewer))).status).toBe(200);
  expect((await ask(before, "GET", "/v1/me")).status).toBe(401);
  const rows = await sql`
    select actor, details->>'way' as way from audit
     where workspace_id = ${world.workspaceId} and action = 'token.revoked'`;
  expect(rows).toEqual([
    { actor: `user:${world.operator}`, way: expect.stringMatching(/^signing in anew over web, session:/) as string },
  ]);
});

test("over HTTPS the cookie's name is one that no sibling of the host can set", async () => {
  const world = await givenPeople(sql);
  const secure = await startTestServer(url, { publicUrl: "https://agents.example.org" });
  const code = await linkOf(world, world.viewer);
  const answer = await send(secure, undefined, "POST", "/session", { body: { code }, headers: ownPage });
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  expect(cookie).toMatch(/^__Host-countersign/);
  expect(answer.headers.get("set-cookie")).toMatch(/; Secure/);
  const me = (value: string) => send(secure, undefined, "GET", "/v1/me", { headers: { cookie: value } });
  expect((await me(cookie)).status).toBe(200);
  expect((await me(cookie.replace("__Host-", ""))).status).toBe(401);
  await secure.stop();
});
