import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";
import { createToken } from "../tokens.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
const second = await startTestServer(url);
afterAll(() => Promise.all([server.stop(), second.stop()]));

test("an account is made with a role, once per name, and is in the audit", async () => {
  const { tokens, workspaceId, admin } = await givenPeople(sql);
  const make = (body: object) => send(server, tokens.admin, "POST", "/v1/users", { body });
  const made = await make({ name: "Nora New", role: "operator" });
  expect(made).toMatchObject({ status: 200, body: { name: "Nora New", role: "operator", isService: false } });
  expect(await make({ name: "Nora New", role: "viewer" })).toMatchObject({ status: 409, body: { code: "name_taken" } });
  for (const name of ["nora new", "NORA NEW", "Nоrа New"]) {
    const refused = await make({ name, role: "viewer" });
    expect(refused).toMatchObject({ status: 409, body: { code: "name_taken" } });
    expect(refused.body["detail"]).toContain('"Nora New"');
  }
  const service = await make({ name: "Billing", role: "operator", isService: true });
  expect(service.body).toMatchObject({ isService: true, disabledAt: null });
  for (const body of [
    { name: "x", role: "root" },
    { name: "a\u202eb", role: "viewer" },
    { name: "Nora  New", role: "viewer" },
    { name: "x" },
    {},
  ]) {
    expect((await make(body)).status).toBe(422);
  }
  const audit = await sql`
    select actor, action, subject, details->>'role' as role from audit where workspace_id = ${workspaceId} order by id`;
  expect(audit).toEqual([
    { actor: `user:${admin}`, action: "user.created", subject: made.body["id"], role: "operator" },
    { actor: `user:${admin}`, action: "user.created", subject: service.body["id"], role: "operator" },
  ]);
});

test("an address, with which somebody signs in and decides, is given with a token that may decide", async () => {
  const { tokens, workspaceId, admin, approver } = await givenPeople(sql);
  const { token } = await createToken(sql, { workspaceId, userId: admin, label: "syncs", mayDecide: false });
  const email = "else@example.com";
  const make = (by: string) => ({ body: { name: `Made by ${by.slice(-6)}`, role: "approver", email } });
  const refused = { status: 403, body: { code: "may_not_decide" } };
  expect(await send(server, token, "PATCH", `/v1/users/${approver}`, { body: { email } })).toMatchObject(refused);
  expect(await send(server, token, "POST", "/v1/users", make(token))).toMatchObject(refused);
  expect(await send(server, token, "PATCH", `/v1/users/${approver}`, { body: { name: "Abe" } })).toMatchObject({
    status: 200,
  });
  expect(await send(server, tokens.admin, "PATCH", `/v1/users/${approver}`, { body: { email } })).toMatchObject({
    status: 200,
  });
});

test("accounts are listed page by page, without a double or a gap", async () => {
  const { tokens } = await givenPeople(sql);
  const names: unknown[] = [];
  let path = "/v1/users?limit=2";
  for (;;) {
    const { body } = await send(server, tokens.admin, "GET", path);
    names.push(...(body["users"] as { name: string }[]).map(({ name }) => name));
    if (body["nextCursor"] === null) break;
    path = `/v1/users?limit=2&cursor=${body["nextCursor"] as string}`;
  }
  expect(names).toEqual(["Ada Admin", "Abe Approver", "Ann Approver", "Olga Operator", "Vic Viewer"]);
});

test("everybody sees who else is there, by id and name alone, without programs and those who are disabled", async () => {
  const { tokens, viewer, operator, approver, otherApprover, admin } = await givenPeople(sql);
  await send(server, tokens.admin, "POST", "/v1/users", { body: { name: "Sync", role: "admin", isService: true } });
  await send(server, tokens.admin, "PATCH", `/v1/users/${otherApprover}`, { body: { isDisabled: true } });
  const people: unknown[] = [];
  for (let path: string | undefined = "/v1/people?limit=3"; path !== undefined;) {
    const { body } = await send(server, tokens.viewer, "GET", path);
    people.push(...(body["people"] as unknown[]));
    path = body["nextCursor"] === null ? undefined : `/v1/people?limit=3&cursor=${body["nextCursor"] as string}`;
  }
  expect(people).toEqual(
    expect.arrayContaining([
      { id: admin, name: "Ada Admin" },
      { id: approver, name: "Abe Approver" },
      { id: operator, name: "Olga Operator" },
      { id: viewer, name: "Vic Viewer" },
    ]),
  );
  expect(people).toHaveLength(4);
});

test("a changed role and a disabled account count from the next request on; enabling brings the tokens back", async () => {
  const { tokens, viewer } = await givenPeople(sql);
  const change = (body: object) => send(server, tokens.admin, "PATCH", `/v1/users/${viewer}`, { body });
  const start = () => send(second, tokens.viewer, "POST", "/v1/runs", { body: { definition: "agent", input: "x" } });
  expect(await start()).toMatchObject({ status: 403 });
  expect(await change({ role: "operator" })).toMatchObject({ status: 200, body: { role: "operator" } });
  expect(await start()).toMatchObject({ status: 200 });
  expect(await change({ isDisabled: true })).toMatchObject({ status: 200 });
  expect(await start()).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
  expect((await change({ isDisabled: false })).body).toMatchObject({ disabledAt: null });
  expect(await start()).toMatchObject({ status: 200 });
  expect(await change({})).toMatchObject({ status: 422 });
  expect(await change({ name: "Olga Operator" })).toMatchObject({ status: 409, body: { code: "name_taken" } });
  const audit = await sql`select details::text as text from audit where subject = ${viewer} order by id`;
  expect(audit.map((row) => JSON.parse(String(row["text"])) as object)).toMatchObject([
    { roleBefore: "viewer", role: "operator" },
    { isDisabled: true },
    { isDisabled: false },
  ]);
});

test("a workspace keeps an administrator, also when two step down at once; a program's account is none", async () => {
  const { tokens, admin, approver, workspaceId } = await givenPeople(sql);
  const change = (token: string, id: string, body: object, at = server) =>
    send(at, token, "PATCH", `/v1/users/${id}`, { body });
  await send(server, tokens.admin, "POST", "/v1/users", { body: { name: "Sync", role: "admin", isService: true } });
  for (const body of [{ role: "viewer" }, { isDisabled: true }]) {
    expect(await change(tokens.admin, admin, body)).toMatchObject({ status: 409, body: { code: "last_admin" } });
  }
  expect(await change(tokens.admin, approver, { role: "admin" })).toMatchObject({ status: 200 });
  const both = await Promise.all([
    change(tokens.admin, admin, { role: "viewer" }),
    change(tokens.approver, approver, { isDisabled: true }, second),
  ]);
  expect(both.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const [left] = await sql`
    select count(*)::int as n from users
     where workspace_id = ${workspaceId} and role = 'admin' and disabled_at is null and not is_service`;
  expect(left).toEqual({ n: 1 });
});

test("a person sees who they are, their own account and their workspace, and no other", async () => {
  const { tokens, viewer, approver, workspaceId } = await givenPeople(sql);
  await givenPeople(sql);
  expect(await send(server, tokens.viewer, "GET", "/v1/me")).toMatchObject({
    status: 200,
    body: { id: viewer, role: "viewer", mayDecide: false, via: null, workspace: { id: workspaceId } },
  });
  expect((await send(server, tokens.approver, "GET", "/v1/me")).body).toMatchObject({ mayDecide: true });
  const { body } = await send(server, tokens.viewer, "GET", "/v1/workspaces");
  expect(body).toMatchObject({ workspaces: [{ id: workspaceId }] });
  expect(await send(server, tokens.viewer, "GET", `/v1/users/${viewer}`)).toMatchObject({ status: 200 });
  expect(await send(server, tokens.viewer, "GET", `/v1/users/${approver}`)).toMatchObject({ status: 403 });
});

test("two accounts have no names that a reader takes for one: by spaces, case or forms of characters", async () => {
  const world = await givenPeople(sql);
  const make = (name: string) =>
    send(server, world.tokens.admin, "POST", "/v1/users", { body: { name, role: "viewer" } });
  expect((await make("Zoë Reader")).status).toBe(200);
  for (const name of [
    " Zoë Reader",
    "Zoë Reader ",
    "Zoë  Reader",
    "Zoë\u00A0Reader",
    "Zoë\u3000Reader",
    "Zoë\uFFFCReader",
  ]) {
    expect(await make(name)).toMatchObject({ status: 422, body: { code: "invalid_request" } });
  }
  for (const name of ["zoë reader", "ZOË READER", "Zoe\u0308 Reader", "Ｚoë Reader"]) {
    expect(await make(name)).toMatchObject({ status: 409, body: { code: "name_taken" } });
  }
  const other = await make("Another");
  const rename = (id: unknown, name: string) =>
    send(server, world.tokens.admin, "PATCH", `/v1/users/${String(id)}`, { body: { name } });
  expect((await rename(other.body["id"], "zoë reader")).body.code).toBe("name_taken");
  expect((await rename(other.body["id"], "another")).status).toBe(200);
});
