import { request } from "node:http";
import { connect as connectSocket } from "node:net";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { hashToken } from "./auth.ts";
import { givenPeople, send, startTestServer } from "./testing/harness.ts";
import { fillPath, goodBody, listOperations } from "./testing/operations.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url, { publicUrl: "https://sign.example.org" });
afterAll(() => server.stop());
const { port } = new URL(server.url);

/** Sends exactly this path and these headers: fetch would tidy both. */
async function sendRaw(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<{ status: number; code: unknown }> {
  return await new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const body = text === "" ? {} : (JSON.parse(text) as { code?: unknown });
        resolve({ status: response.statusCode ?? 0, code: body.code });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

test("UI20: a host name that is not the server's is refused before routing, whatever the route", async () => {
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "169.254.1.1",
  ]) {
    for (const path of ["/health/live", "/v1/runs", "/openapi.json", "/nowhere"]) {
      expect(await sendRaw("GET", path, { host })).toEqual({ status: 403, code: "host_not_allowed" });
    }
  }
  for (const host of [
    "localhost",
    `LOCALHOST:${port}`,
    `127.0.0.1:${port}`,
    "[::1]",
    `[::1]:${port}`,
    "sign.example.org",
  ]) {
    expect(await sendRaw("GET", "/health/live", { host })).toMatchObject({ status: 200 });
  }
});

test("UI20: a path that is not in its plain form is refused before routing", async () => {
  for (const path of [
    "/x/../v1/runs",
    "/./v1/runs",
    "/v1/runs/..",
    "/v1/%2e%2e/health/live",
    "/v1/.%2E/health/live",
    "//v1/runs",
    "/v1//runs",
    "/v1%2fruns",
    "/v1/runs%5C",
    "/v1/runs%00",
    `http://127.0.0.1:${port}/v1/runs`,
  ]) {
    const answer = await sendRaw("GET", path, { host: "localhost" });
    expect({ path, ...answer }).toEqual({ path, status: 400, code: "path_not_allowed" });
  }
});

test("UI20: what a page of another origin sends to change something is refused, as text and as JSON; a program's and our own page's is not", async () => {
  const { tokens } = await givenPeople(sql);
  const host = `localhost:${port}`;
  const body = JSON.stringify({ title: "from a page" });
  const post = async (headers: Record<string, string>) =>
    await sendRaw(
      "POST",
      "/v1/tasks",
      {
        host,
        authorization: `Bearer ${tokens.operator}`,
        "content-type": "application/json",
        "content-length": String(body.length),
        ...headers,
      },
      body,
    );
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "http://localhost:1" },
    { origin: `http://127.0.0.1:${port}` },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "cross-site", origin: `http://${host}` },
  ]) {
    for (const type of ["application/json", "text/plain"]) {
      expect(await post({ ...headers, "content-type": type })).toEqual({
        status: 403,
        code: "cross_site",
      });
    }
  }
  expect(await post({ "content-type": "text/plain" })).toEqual({
    status: 415,
    code: "unsupported_media_type",
  });
  const tasks = await sql`select 1 from tasks`;
  expect(tasks).toHaveLength(0);
  for (const headers of [
    {},
    { origin: `http://${host}` },
    { origin: "https://sign.example.org" },
    { "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
  ]) {
    expect(await post(headers)).toMatchObject({ status: 200 });
  }
});

test("UI20: on every route a forged host, and on every one that changes something a page of another origin, is refused whatever its token", async () => {
  const { tokens } = await givenPeople(sql);
  const operations = await listOperations(server);
  expect(operations.length).toBeGreaterThan(40);
  for (const operation of operations) {
    const { method, path } = operation;
    const authorization = `Bearer ${tokens.admin}`;
    const filled = fillPath(path, crypto.randomUUID());
    const sent = goodBody(operation, crypto.randomUUID());
    const body = sent === undefined ? undefined : JSON.stringify(sent);
    expect(await sendRaw(method, filled, { host: "evil.example", authorization }, body)).toEqual({
      status: 403,
      code: "host_not_allowed",
    });
    if (method === "GET") continue;
    for (const from of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }, { origin: "null" }]) {
      for (const type of ["application/json", "text/plain"]) {
        const headers = { host: "localhost", authorization, "content-type": type, ...from } as Record<string, string>;
        expect(await sendRaw(method, filled, headers, body)).toEqual({ status: 403, code: "cross_site" });
      }
    }
  }
  expect(await sql`select from audit`).toEqual([]);
});

test("on every route an expired or revoked token is refused, again and again", async () => {
  const { tokens, admin } = await givenPeople(sql);
  const operations = (await listOperations(server)).filter(({ path }) => path.startsWith("/v1/"));
  await sql`update tokens set revoked_at = clock_timestamp() where user_id = ${admin}`;
  const { approver } = tokens;
  await sql`update tokens set expires_at = clock_timestamp() where hash = ${hashToken(approver)}`;
  for (const operation of operations) {
    for (const token of [tokens.admin, approver]) {
      const body = goodBody(operation, crypto.randomUUID());
      const path = fillPath(operation.path, crypto.randomUUID());
      const answer = await send(server, token, operation.method, path, body === undefined ? {} : { body });
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    }
  }
});

test("an address or a host name that cannot be read is answered with 400 as a problem", async () => {
  for (const [path, host] of [
    ["*", "localhost"],
    ["/v1\\runs", "localhost"],
    ["/health/live", "local host"],
    ["/health/live", "a/b"],
    ["/health/live", "a@b"],
  ] as const) {
    expect(await sendRaw("GET", path, { host })).toEqual({ status: 400, code: "malformed_request" });
  }
});

test("a request that is no HTTP is answered with 400 and the server lives on", async () => {
  for (const bytes of ["GET /v1/runs HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"]) {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connectSocket(Number(port), "127.0.0.1", () => socket.end(bytes));
      let text = "";
      socket.on("data", (chunk) => (text += chunk.toString()));
      socket.on("end", () => resolve(text));
      socket.on("error", reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  }
  expect(await sendRaw("GET", "/health/live", { host: "localhost" })).toMatchObject({ status: 200 });
});
