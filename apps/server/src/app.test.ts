import { Writable } from "node:stream";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { aTurn, claimRun, givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { access } from "./access.ts";
import { type Answer, givenPeople, send, startTestServer } from "./testing/harness.ts";
import { fillPath, goodBody, listOperations, type Operation } from "./testing/operations.ts";

const { sql, url } = await testDatabase();
const lines: string[] = [];
const log = pino(
  { level: "info" },
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  }),
);
const server = await startTestServer(url, { log });
afterAll(() => server.stop());

async function call(token: string | undefined, operation: Operation, id: string): Promise<Answer> {
  const body = goodBody(operation, id);
  return await send(server, token, operation.method, fillPath(operation.path, id), {
    headers: { "if-match": '"1"' },
    ...(body === undefined ? {} : { body }),
  });
}

/** One hash over every row of every table, but for when a token was last used. */
async function hashDatabase(): Promise<string> {
  const tables = await sql<{ name: string }[]>`
    select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by 1`;
  const hashes: unknown[] = [];
  for (const { name } of tables) {
    hashes.push(
      await sql.unsafe(`select md5(string_agg(r::text, '|' order by r::text)) as hash
         from (select to_jsonb(t) - 'last_used_at' as r from ${name} t) t`),
    );
  }
  return JSON.stringify(hashes);
}

function expectProblem(answer: Answer): void {
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(answer.status).toBeLessThan(500);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.body).toMatchObject({
    type: `urn:countersign:problem:${answer.body.code}`,
    status: answer.status,
    title: expect.any(String) as string,
    detail: expect.stringMatching(/./) as string,
    requestId: answer.headers.get("x-request-id"),
  });
}

test("the API describes itself as OpenAPI 3.1, every route with its refusals", async () => {
  const { body } = await send(server, undefined, "GET", "/openapi.json");
  expect(body["openapi"]).toBe("3.1.0");
  const operations = await listOperations(server);
  const routes = operations.map(({ method, path }) => `${method} ${path}`).toSorted();
  expect(routes).toEqual([...new Set(access.map(({ route }) => route))].toSorted());
  for (const { method, path } of operations) {
    const described = (body["paths"] as Record<string, Record<string, { responses: object; summary: string }>>)[path];
    const { responses, summary } = described?.[method.toLowerCase()] ?? { responses: {}, summary: "" };
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(["200", "4XX", "5XX"]));
    expect(summary).not.toBe("");
  }
  expect(JSON.stringify(body)).toContain("#/components/schemas/Problem");
});

test("the description says where the server is: its public address, else the one it was asked at", async () => {
  const { body } = await send(server, undefined, "GET", "/openapi.json");
  expect(body["servers"]).toEqual([{ url: server.url }]);
  const known = await startTestServer(url, { publicUrl: "https://agents.example.org/" });
  const described = await send(known, undefined, "GET", "/openapi.json");
  expect(described.body["servers"]).toEqual([{ url: "https://agents.example.org" }]);
  await known.stop();
});

test("every route under /v1 refuses a request without a token", async () => {
  const operations = (await listOperations(server)).filter(({ path }) => path.startsWith("/v1/"));
  for (const operation of operations) {
    const answer = await call(undefined, operation, crypto.randomUUID());
    expectProblem(answer);
    expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
  }
});

test("every route with an id answers 404 to another workspace and for an unknown id, and changes nothing", async () => {
  const world = await givenPeople(sql);
  const foreign = await givenPeople(sql);
  const { runId, approvalId } = await givenGatedRun(sql, world);
  const [card] = await sql<{ id: string }[]>`select id from tasks where approval_id = ${approvalId}`;
  const before = await hashDatabase();
  const operations = (await listOperations(server)).filter(({ path }) => path.includes("{id}"));
  expect(operations.length).toBeGreaterThan(10);
  for (const operation of operations) {
    for (const id of [runId, approvalId, card?.id ?? "", crypto.randomUUID()]) {
      const answer = await call(foreign.tokens.admin, operation, id);
      expectProblem(answer);
      expect(answer).toMatchObject({ status: 404, body: { code: "not_found" } });
    }
  }
  for (const path of ["/v1/runs", "/v1/approvals", "/v1/tasks"]) {
    const listed = await send(server, foreign.tokens.admin, "GET", path);
    expect(Object.values(listed.body)).toContainEqual([]);
  }
  expect(await hashDatabase()).toBe(before);
});

test("AZ59, UI19: no GET and no HEAD changes anything, with a session or without; a decision needs a POST", async () => {
  const world = await givenPeople(sql);
  const { runId, approvalId } = await givenGatedRun(sql, world, { expiresMs: 3_600_000 });
  await sql`update approvals set expires_at = clock_timestamp() - interval '1 second' where id = ${approvalId}`;
  const [card] = await sql<{ id: string }[]>`select id from tasks where approval_id = ${approvalId}`;
  const before = await hashDatabase();
  const operations = await listOperations(server);
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const requests = [runId, approvalId, card?.id ?? ""].flatMap((id) =>
      [undefined, world.tokens.admin].flatMap((token) =>
        ["GET", "HEAD", "GET", "HEAD"].map((method) => send(server, token, method, fillPath(path, id))),
      ),
    );
    for (const answer of await Promise.all(requests)) expect(answer.status).toBeLessThan(500);
  }
  expect(await hashDatabase()).toBe(before);
  // A dozen requests for each path there is.
});

test("whatever a body, an id or a query holds, the answer is a problem with a message, never a failure of the server", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const before = await hashDatabase();
  const bodies: unknown[] = [
    "",
    "{",
    '"text"',
    "[]",
    "null",
    "1e999",
    '{"__proto__": {"answer": "approve"}}',
    `{"input": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    { definition: 1, input: [], title: {}, message: null, answer: true, scope: "x", reason: 5 },
    { definition: "a\0", input: "", message: "", answer: "\0", title: "\ud800", reason: "\0", scope: "run" },
    { definition: "agent", input: "x", message: "x", answer: "deny", title: "x", scope: "app", reason: "x", more: 1 },
    Buffer.from([0x7b, 0xff, 0xfe]).toString("latin1"),
  ];
  const operations = await listOperations(server);
  // A route that takes no body ignores one.
  for (const { method, path } of operations.filter(({ hasBody }) => hasBody)) {
    for (const body of bodies) {
      const answer = await send(server, world.tokens.admin, method, fillPath(path, runId), {
        body,
        headers: { "if-match": '"1"' },
      });
      expectProblem(answer);
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"]) {
      const answer = await send(server, world.tokens.admin, method, fillPath(path, runId), {
        body: "{}",
        headers: { "content-type": type },
      });
      expectProblem(answer);
      expect(answer).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    }
  }
  for (const operation of operations.filter(({ path }) => path.includes("{id}"))) {
    for (const id of ["1", "null", "%27", "%zz", "%ff", `${runId}x`, "x".repeat(5_000)]) {
      const answer = await call(world.tokens.admin, operation, id);
      expectProblem(answer);
      expect(answer).toMatchObject({ status: 422, body: { code: "invalid_request" } });
    }
  }
  for (const query of [
    "limit=0",
    "limit=-1",
    "limit=1e9",
    "limit=x",
    "limit=NaN",
    "status=odd",
    `cursor=${"x".repeat(300)}`,
  ]) {
    for (const path of ["/v1/runs", "/v1/approvals", "/v1/tasks"]) {
      expectProblem(await send(server, world.tokens.admin, "GET", `${path}?${query}`));
    }
    if (query.startsWith("status")) continue;
    for (const path of [
      "definitions",
      "secrets",
      "audit",
      "users",
      "tokens",
      `definitions/${world.definitionId}/versions`,
    ]) {
      expectProblem(await send(server, world.tokens.admin, "GET", `/v1/${path}?${query}`));
    }
  }
  for (const query of ["after=-1", "after=99999999999", "wait=31", "wait=-1", "wait=Infinity", "limit=5000"]) {
    expectProblem(await send(server, world.tokens.admin, "GET", `/v1/runs/${runId}/log?${query}`));
  }
  expectProblem(await send(server, world.tokens.admin, "GET", "/v1/tasks?section=%00"));
  expectProblem(await send(server, world.tokens.admin, "PUT", `/v1/runs/${runId}`));
  expectProblem(await send(server, world.tokens.admin, "GET", "/v1/nowhere"));
  expect(await hashDatabase()).toBe(before);
});

test("a refused request names each wrong place", async () => {
  const { tokens } = await givenPeople(sql);
  const { body } = await send(server, tokens.admin, "POST", "/v1/runs", {
    body: { definition: 1, title: "" },
  });
  const errors = body["errors"] as { path: string }[];
  expect(errors.map(({ path }) => path).toSorted()).toEqual([
    "json.definition",
    "json.input",
    "json.title",
    "json.title",
  ]);
});

test("a body over one megabyte is refused, declared or not", async () => {
  const { tokens } = await givenPeople(sql);
  const body = JSON.stringify({ title: "x".repeat(1_100_000) });
  const declared = await send(server, tokens.admin, "POST", "/v1/tasks", { body });
  expect(declared).toMatchObject({ status: 413, body: { code: "too_large" } });
  const chunked = await fetch(`${server.url}/v1/tasks`, {
    method: "POST",
    headers: { authorization: `Bearer ${tokens.admin}`, "content-type": "application/json" },
    body: new Blob([body]).stream(),
    duplex: "half",
  });
  expect(chunked.status).toBe(413);
});

test("the request id is the caller's where usable, else a new one, in the header, the problem and the log; no token is ever logged", async () => {
  const { tokens } = await givenPeople(sql);
  const given = await send(server, tokens.viewer, "GET", "/v1/nowhere?secret=s3cret", {
    headers: { "x-request-id": "trace-1.a:b" },
  });
  expect(given.headers.get("x-request-id")).toBe("trace-1.a:b");
  expect(given.body["requestId"]).toBe("trace-1.a:b");
  const odd = await send(server, tokens.viewer, "GET", "/v1/runs", {
    headers: { "x-request-id": 'a"b {}' },
  });
  expect(odd.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(logged).toContainEqual(
    expect.objectContaining({ requestId: "trace-1.a:b", path: "/v1/nowhere", status: 404 }),
  );
  expect(lines.join("")).not.toContain("cs_");
  expect(lines.join("")).not.toContain("s3cret");
});

test("readiness asks for the database and for this version's migrations; liveness for neither", async () => {
  expect(await send(server, undefined, "GET", "/health/live")).toMatchObject({
    status: 200,
    body: { status: "live" },
  });
  expect(await send(server, undefined, "GET", "/health/ready")).toMatchObject({
    status: 200,
    body: { status: "ready" },
  });
  const [last] = await sql<{ name: string }[]>`
    delete from migrations where name = (select max(name) from migrations) returning name`;
  const behind = await send(server, undefined, "GET", "/health/ready");
  expect(behind).toMatchObject({ status: 503, body: { code: "not_ready" } });
  expect(behind.body.detail).toContain(last?.name);
  await sql`insert into migrations (name, sha256) values (${last?.name ?? ""}, '')`;
});

test("where the database does not answer the answer is 503, and liveness stays", async () => {
  const lost = await startTestServer("postgres://nobody@127.0.0.1:1/none");
  try {
    expect(await send(lost, "cs_x", "GET", "/v1/runs")).toMatchObject({
      status: 503,
      body: { code: "database_unavailable" },
    });
    expect(await send(lost, undefined, "GET", "/health/ready")).toMatchObject({ status: 503 });
    expect(await send(lost, undefined, "GET", "/health/live")).toMatchObject({ status: 200 });
  } finally {
    await lost.stop();
  }
});

test("many readers who wait for a line hold no connection: others are answered meanwhile, and each reader gets the line", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const path = `/v1/runs/${runId}/log?after=1&wait=20`;
  const before = server.requests();
  const waiting = Array.from({ length: 60 }, () => send(server, world.tokens.viewer, "GET", path));
  await expect.poll(() => server.requests()).toBe(before + 60);
  const startedAt = performance.now();
  expect((await send(server, world.tokens.viewer, "GET", "/v1/tasks")).status).toBe(200);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
  await commitWithin(sql, recordTurn, aTurn(hold, { output: '"done"' }));
  for (const answer of await Promise.all(waiting)) {
    expect(answer.body).toMatchObject({ lines: [{ seq: 2 }, { seq: 3 }], hasEnded: true });
  }
});

test("an id in capitals names the same, wherever it is sent", async () => {
  const world = await givenPeople(sql);
  const { runId, callId, approvalId } = await givenGatedRun(sql, world);
  const page = await send(server, world.tokens.admin, "POST", "/v1/pages", { body: { title: "a" } });
  const pageId = String(page.body["pageId"]);
  const spec = { name: "caps", model: "scripted", toolset: ["kb.read"] };
  const { viewer, admin, approver } = world.tokens;
  const ask = async (spelled: (id: string) => string) => {
    const requests: readonly (readonly [string, string, string, object?])[] = [
      [viewer, "GET", `/v1/runs/${spelled(runId)}`],
      [viewer, "GET", `/v1/runs/${spelled(runId)}/tree?around=${spelled(callId)}`],
      [viewer, "GET", `/v1/approvals/${spelled(approvalId)}`],
      [viewer, "GET", `/v1/tokens?user=${spelled(world.viewer)}`],
      [viewer, "GET", `/v1/users/${spelled(world.viewer)}`],
      [viewer, "GET", `/v1/rules?scope=workspace&id=${spelled(world.workspaceId)}`],
      [viewer, "POST", "/v1/explain", { call: spelled(callId) }],
      [admin, "POST", "/v1/kill", { scope: "workspace", id: spelled(world.workspaceId), reason: "x" }],
      [admin, "POST", "/v1/lift", { scope: "workspace", id: spelled(world.workspaceId) }],
      [
        admin,
        "POST",
        "/v1/definitions?dryRun=true",
        { spec: { ...spec, approvers: { users: [spelled(world.viewer)] } } },
      ],
      [admin, "POST", "/v1/runs", { definition: "agent", input: "x", page: spelled(pageId), key: "k" }],
      [approver, "POST", "/v1/delegations", { to: spelled(world.viewer), until: "2040-01-01T00:00:00Z" }],
    ];
    const answers = [];
    for (const [token, method, path, body] of requests) {
      const answer = await send(server, token, method, path, body === undefined ? {} : { body });
      answers.push({
        asked: `${method} ${path.toLowerCase()}`,
        status: answer.status,
        warnings: answer.body["warnings"],
      });
    }
    return answers;
  };
  const usual = await ask((id) => id);
  expect(usual.filter(({ status }) => status !== 200)).toEqual([]);
  expect(await ask((id) => id.toUpperCase())).toEqual(usual);
  const made = await send(server, admin, "POST", "/v1/definitions", {
    body: { spec: { ...spec, approvers: { users: [world.approver.toUpperCase()] } } },
  });
  expect(made).toMatchObject({ status: 200, body: { spec: { approvers: { users: [world.approver] } } } });
});
