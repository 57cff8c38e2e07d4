import { BrokerError } from "@countersign/broker/broker-error.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenGatedRun, givenQuestionRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { givenRemembered } from "@countersign/engine/testing/policy.ts";
import { proposeMemory } from "@countersign/ops/memory.ts";
import { addReminder } from "@countersign/ops/reminders.ts";
import { afterAll, expect, test } from "vitest";
import { type Answer, givenPeople, send, startTestServer } from "./testing/harness.ts";
import { listOperations } from "./testing/operations.ts";

const { sql, url, elsewhere } = await engineDatabase();
const server = await startTestServer(url);
const second = await startTestServer(url);
afterAll(() => Promise.all([server.stop(), second.stop()]));

interface Case {
  readonly path: string;
  readonly body?: object;
  readonly changed?: object;
  /** Counts what the request makes. */
  count(): Promise<number>;
}

type World = Awaited<ReturnType<typeof givenPeople>>;

async function countRows(table: string, where: string): Promise<number> {
  const [row] = await sql.unsafe<{ n: number }[]>(`select count(*)::int as n from ${table} where ${where}`);
  return row?.n ?? 0;
}

async function taskOf(runId: string): Promise<string> {
  const [task] = await sql<{ id: string }[]>`select id from tasks where run_id = ${runId}`;
  return task?.id ?? "";
}

const spec = { name: "keyed", model: "scripted", toolset: ["kb.read"] };
const digest = { argsDigest: "hash-of-args" };

/** Every route that creates or decides, on something fresh; and the same with another body, where it has one. */
const cases: Record<string, (world: World) => Promise<Case> | Case> = {
  "POST /v1/runs": (world) => ({
    path: "/v1/runs",
    body: { definition: "agent", input: "a" },
    changed: { definition: "agent", input: "b" },
    count: () => countRows("runs", `workspace_id = '${world.workspaceId}'`),
  }),
  "POST /v1/runs/{id}/steer": async (world) => {
    const runId = await givenRun(sql, world, { startedBy: world.admin });
    const path = `/v1/runs/${runId}/steer`;
    const count = () => countRows("steers", `run_id = '${runId}'`);
    return { path, body: { message: "a" }, changed: { message: "b" }, count };
  },
  "POST /v1/runs/{id}/cancel": async (world) => {
    const runId = await givenRun(sql, world);
    const path = `/v1/runs/${runId}/cancel`;
    const count = () => countRows("runs", `id = '${runId}' and status = 'canceled'`);
    return { path, body: { reason: "a" }, changed: { reason: "b" }, count };
  },
  "POST /v1/runs/{id}/resume": async (world) => {
    const runId = await givenRun(sql, world);
    await sql`update runs set quarantined_at = clock_timestamp(), status = 'paused', waits_on = 'quarantine' where id = ${runId}`;
    const count = () => countRows("audit", `run_id = '${runId}' and action = 'run.resumed'`);
    return { path: `/v1/runs/${runId}/resume`, count };
  },
  "POST /v1/runs/{id}/grants/{capability}/revoke": async (world) => {
    const runId = await givenRun(sql, world);
    const path = `/v1/runs/${runId}/grants/mail.send/revoke`;
    return { path, count: () => countRows("audit", `run_id = '${runId}' and action = 'grant.revoked'`) };
  },
  "POST /v1/approvals/{id}/decision": async (world) => {
    const { approvalId } = await givenGatedRun(sql, world);
    return {
      path: `/v1/approvals/${approvalId}/decision`,
      body: { answer: "approve", ...digest },
      changed: { answer: "deny", ...digest },
      count: () => countRows("audit", `subject = '${approvalId}' and action = 'approval.decided'`),
    };
  },
  "POST /v1/tasks": (world) => ({
    path: "/v1/tasks",
    body: { title: "a" },
    changed: { title: "b" },
    count: () => countRows("tasks", `workspace_id = '${world.workspaceId}'`),
  }),
  "POST /v1/tasks/{id}/confirm": async (world) => {
    const { runId, approvalId } = await givenGatedRun(sql, world);
    const path = `/v1/tasks/${await taskOf(runId)}/confirm`;
    const count = () => countRows("audit", `subject = '${approvalId}' and action = 'approval.decided'`);
    return { path, body: digest, changed: { ...digest, note: "x" }, count };
  },
  "POST /v1/tasks/{id}/dismiss": async (world) => {
    const { runId, approvalId } = await givenGatedRun(sql, world);
    const path = `/v1/tasks/${await taskOf(runId)}/dismiss`;
    const count = () => countRows("audit", `subject = '${approvalId}' and action = 'approval.decided'`);
    return { path, body: digest, changed: { ...digest, feedback: "x" }, count };
  },
  "POST /v1/tasks/{id}/answer": async (world) => {
    const { runId } = await givenQuestionRun(sql, world);
    const path = `/v1/tasks/${await taskOf(runId)}/answer`;
    const count = () => countRows("questions", `run_id = '${runId}' and status = 'answered'`);
    return { path, body: { answer: "a" }, changed: { answer: "b" }, count };
  },
  "POST /v1/tasks/{id}/done": async (world) => {
    const made = await send(server, world.tokens.admin, "POST", "/v1/tasks", { body: { title: "a" } });
    const id = String(made.body["id"]);
    return { path: `/v1/tasks/${id}/done`, count: () => countRows("tasks", `id = '${id}' and status = 'done'`) };
  },
  "POST /v1/approvals/decisions": async (world) => {
    const { approvalId } = await givenGatedRun(sql, world);
    const decision = { approvalId, version: 1, argsDigest: "hash-of-args" };
    return {
      path: "/v1/approvals/decisions",
      body: { decisions: [{ ...decision, answer: "approve" }] },
      changed: { decisions: [{ ...decision, answer: "deny" }] },
      count: () => countRows("audit", `subject = '${approvalId}' and action = 'approval.decided'`),
    };
  },
  "POST /v1/approvals/{id}/extension": async (world) => {
    const { runId, approvalId } = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    return {
      path: `/v1/approvals/${approvalId}/extension`,
      body: { until: inHours(1) },
      changed: { until: inHours(2) },
      count: () => countRows("run_log", `run_id = '${runId}' and kind = 'approval.extended'`),
    };
  },
  "POST /v1/delegations": ({ workspaceId, viewer }) => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    return {
      path: "/v1/delegations",
      body: { to: viewer, until },
      changed: { to: viewer, until: "2040-01-01T00:00:00Z" },
      count: () => countRows("delegations", `workspace_id = '${workspaceId}'`),
    };
  },
  "POST /v1/memory/consolidate": async ({ workspaceId }) => {
    const say = { workspaceId, kind: "fact", text: "It rains.", proposedBy: "system" };
    for (let n = 0; n < 2; n += 1) await proposeMemory(sql, say);
    const count = () => countRows("memory_proposals", `workspace_id = '${workspaceId}' and status = 'duplicate'`);
    return { path: "/v1/memory/consolidate", count };
  },
  "POST /v1/memory/{id}/accept": async ({ workspaceId }) => {
    const { id } = await proposeMemory(sql, { workspaceId, kind: "fact", text: "It rains.", proposedBy: "system" });
    const count = () => countRows("nodes", `workspace_id = '${workspaceId}'`);
    return { path: `/v1/memory/${id}/accept`, count };
  },
  "POST /v1/memory/{id}/dismiss": async ({ workspaceId }) => {
    const { id } = await proposeMemory(sql, { workspaceId, kind: "fact", text: "It rains.", proposedBy: "system" });
    const count = () => countRows("memory_proposals", `id = '${id}' and status = 'dismissed'`);
    return { path: `/v1/memory/${id}/dismiss`, count };
  },
  "POST /v1/captures": ({ workspaceId }) => ({
    path: "/v1/captures",
    body: { url: "https://example.org", title: "a", markdown: "- a" },
    changed: { url: "https://example.org", title: "a", markdown: "- b" },
    count: () => countRows("captures", `workspace_id = '${workspaceId}'`),
  }),
  "POST /v1/reminders": ({ workspaceId }) => ({
    path: "/v1/reminders",
    body: { text: "a", dueAt: "2040-01-01T00:00:00Z" },
    changed: { text: "b", dueAt: "2040-01-01T00:00:00Z" },
    count: () => countRows("reminders", `workspace_id = '${workspaceId}'`),
  }),
  "POST /v1/reminders/{id}/cancel": async ({ workspaceId, operator: userId }) => {
    const dueAt = new Date("2040-01-01");
    const { id } = await addReminder(sql, { workspaceId, text: "a", dueAt, userId, createdBy: "system" });
    const count = () => countRows("reminders", `id = '${id}' and status = 'canceled'`);
    return { path: `/v1/reminders/${id}/cancel`, count };
  },
  "POST /v1/login-links": ({ viewer }) => ({
    path: "/v1/login-links",
    body: { userId: viewer },
    changed: {},
    count: () => countRows("login_links", `user_id = '${viewer}'`),
  }),
  "POST /v1/pages": ({ workspaceId }) => ({
    path: "/v1/pages",
    body: { title: "a" },
    changed: { title: "b" },
    count: () => countRows("pages", `workspace_id = '${workspaceId}'`),
  }),
  "POST /v1/import": ({ workspaceId }) => ({
    path: "/v1/import",
    body: { files: [{ path: "a.md", text: "- a\n" }] },
    changed: { files: [{ path: "b.md", text: "- b\n" }] },
    count: () => countRows("commands", `workspace_id = '${workspaceId}'`),
  }),
  "POST /v1/commands/{id}/undo": async (world) => {
    const made = await send(server, world.tokens.admin, "POST", "/v1/pages", { body: { title: "a" } });
    const id = String(made.body["commandId"]);
    return { path: `/v1/commands/${id}/undo`, count: () => countRows("commands", `undoes = '${id}'`) };
  },
  "POST /v1/rules/revoke": async (world) => {
    const [id, other] = [
      await givenRemembered(sql, world, "workspace", "kb.read"),
      await givenRemembered(sql, world, "workspace", "mail.send"),
    ];
    return {
      path: "/v1/rules/revoke",
      body: { rules: [{ id, version: 1 }] },
      changed: { rules: [{ id: other, version: 1 }] },
      count: () => countRows("audit", `subject in ('${id}', '${other}') and action = 'rule.revoked'`),
    };
  },
  "POST /v1/kill": async (world) => {
    const id = await givenRun(sql, world);
    return {
      path: "/v1/kill",
      body: { scope: "run", id, reason: "a" },
      changed: { scope: "run", id, reason: "b" },
      count: () => countRows("audit", `subject = 'run:${id}' and action = 'scope.killed'`),
    };
  },
  "POST /v1/lift": async (world) => {
    const id = await givenRun(sql, world);
    await send(server, world.tokens.admin, "POST", "/v1/kill", { body: { scope: "run", id, reason: "a" } });
    return {
      path: "/v1/lift",
      body: { scope: "run", id },
      changed: { scope: "run", id, reason: "b" },
      count: () => countRows("audit", `subject = 'run:${id}' and action = 'scope.lifted'`),
    };
  },
  "POST /v1/definitions": (world) => ({
    path: "/v1/definitions",
    body: { spec },
    changed: { spec: { ...spec, description: "b" } },
    count: () => countRows("definitions", `workspace_id = '${world.workspaceId}' and name = 'keyed'`),
  }),
  "POST /v1/definitions/{id}/versions": (world) => ({
    path: `/v1/definitions/${world.definitionId}/versions`,
    body: { spec: { ...spec, name: "agent" } },
    changed: { spec: { ...spec, name: "agent", description: "b" } },
    count: () => countRows("definition_versions", `definition_id = '${world.definitionId}' and version > 1`),
  }),
  "POST /v1/users": (world) => ({
    path: "/v1/users",
    body: { name: "a", role: "viewer" },
    changed: { name: "b", role: "viewer" },
    count: () => countRows("users", `workspace_id = '${world.workspaceId}' and name in ('a', 'b')`),
  }),
  "POST /v1/audit/checks": (world) => ({
    path: "/v1/audit/checks",
    count: () => countRows("audit_checks", `workspace_id = '${world.workspaceId}'`),
  }),
  "POST /v1/webhooks": (world) => ({
    path: "/v1/webhooks",
    body: { url: "https://93.184.215.14/a" },
    changed: { url: "https://93.184.215.14/b" },
    count: () => countRows("webhook_endpoints", `workspace_id = '${world.workspaceId}'`),
  }),
  "POST /v1/webhooks/deliveries/{id}/redeliver": async (world) => {
    const [id, deliveryId] = [crypto.randomUUID(), crypto.randomUUID()];
    await sql`insert into webhook_endpoints (id, workspace_id, url, events, secret_name, created_by)
              values (${id}, ${world.workspaceId}, 'https://93.184.215.14/a', ${["run.completed"]}, 'x', ${world.admin})`;
    await sql`insert into webhook_deliveries (id, workspace_id, endpoint_id, event, subject, payload)
              values (${deliveryId}, ${world.workspaceId}, ${id}, 'run.completed', ${id}, '{}')`;
    const path = `/v1/webhooks/deliveries/${deliveryId}/redeliver`;
    return { path, count: () => countRows("webhook_deliveries", `endpoint_id = '${id}'`) };
  },
  "POST /v1/tokens": (world) => ({
    path: "/v1/tokens",
    body: { userId: world.viewer, label: "a" },
    changed: { userId: world.viewer, label: "b" },
    count: () => countRows("tokens", `user_id = '${world.viewer}' and created_by is not null`),
  }),
};

/** Two change nothing, and their body is what is asked; the code of a login link is used up by itself. */
const unkeyed = ["POST /v1/explain", "POST /v1/simulate", "POST /session"];

test("every route that creates or decides takes an idempotency key, and says so", async () => {
  const posts = (await listOperations(server)).filter(
    ({ method, path }) => method === "POST" && !unkeyed.includes(`POST ${path}`),
  );
  expect(posts.map(({ path }) => `POST ${path}`).toSorted()).toEqual(Object.keys(cases).toSorted());
  const { body } = await send(server, undefined, "GET", "/openapi.json");
  const paths = body["paths"] as Record<string, { post?: { parameters?: { name: string }[] } }>;
  for (const { path } of posts) {
    expect({ path, names: paths[path]?.post?.parameters?.map(({ name }) => name) }).toMatchObject({
      path,
      names: expect.arrayContaining(["idempotency-key"]) as string[],
    });
  }
});

test.each(Object.entries(cases))(
  "UI15: %s with a key happens once: in flight 409, then replayed, and another request is refused",
  async (_route, prepare) => {
    const world = await givenPeople(sql);
    const { path, body, changed, count } = await prepare(world);
    const before = await count();
    const ask = (at: typeof server, sent: object | undefined, key = "k-1"): Promise<Answer> =>
      send(at, world.tokens.admin, "POST", path, {
        ...(sent === undefined ? {} : { body: sent }),
        headers: { "idempotency-key": key, "if-match": '"1"' },
      });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(i % 2 === 0 ? server : second, body)));
    const made = answers.filter(({ status }) => status === 200);
    expect(made.length).toBeGreaterThan(0);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer).toMatchObject({ status: 409, body: { code: "in_flight" } });
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    expect(made.filter(({ headers }) => !headers.has("idempotency-replayed"))).toHaveLength(1);
    expect(await count()).toBe(before + 1);

    const replay = await ask(second, body);
    expect(replay.headers.get("idempotency-replayed")).toBe("true");
    const first = made.find(({ headers }) => !headers.has("idempotency-replayed"));
    // What is shown once is not shown again.
    const shownAgain = ({ token: _token, secret: _secret, ...body }: Record<string, unknown>) =>
      path === "/v1/login-links" ? { ...body, path: null } : body;
    expect(replay.body["path"] ?? null).toBeNull();
    expect(shownAgain(replay.body)).toEqual(shownAgain(first?.body ?? {}));
    if (changed !== undefined) {
      expect(await ask(server, changed)).toMatchObject({ status: 422, body: { code: "key_reused" } });
    }
    expect(await count()).toBe(before + 1);
    expect(await ask(server, body, "not ascii \xe9")).toMatchObject({ status: 422 });
    expect(await ask(server, body, "x".repeat(201))).toMatchObject({ status: 422 });
  },
);

test("UI15: a keyed request is replayed, whatever has become of what it was checked against", async () => {
  const { tokens, definitionId } = await givenPeople(sql);
  const lenient = await startTestServer(url, { mayWebhooksBePrivate: true });
  const bare = await startTestServer(url, {
    tools: [],
    sealingKey: () => Promise.reject(new BrokerError("key_missing", "There is no key.")),
  });
  const requests = [
    ["/v1/webhooks", { url: "http://127.0.0.1:9/hook" }],
    ["/v1/definitions", { spec }],
    [`/v1/definitions/${definitionId}/versions`, { spec: { ...spec, name: "agent" } }],
  ] as const;
  const answers = [];
  for (const at of [lenient, bare]) {
    for (const [path, body] of requests) {
      const answer = await send(at, tokens.admin, "POST", path, {
        body,
        headers: { "idempotency-key": path, "if-match": '"1"' },
      });
      answers.push([path, answer.status, answer.headers.get("idempotency-replayed")]);
    }
  }
  await Promise.all([lenient.stop(), bare.stop()]);
  expect(answers).toEqual([
    ...requests.map(([path]) => [path, 200, null]),
    ...requests.map(([path]) => [path, 200, "true"]),
  ]);
});

test("a request whose key is held by one in flight is refused at once, and answered with its answer after it", async () => {
  const { tokens, admin } = await givenPeople(sql);
  const ask = () =>
    send(server, tokens.admin, "POST", "/v1/tasks", { body: { title: "a" }, headers: { "idempotency-key": "held" } });
  const lock = `idempotency ${admin} held`;
  await transaction(elsewhere, async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
    expect(await ask()).toMatchObject({ status: 409, body: { code: "in_flight" } });
  });
  expect(await ask()).toMatchObject({ status: 200 });
});

test("a refusal keeps no key, so the same request may be sent again when it can succeed", async () => {
  const { tokens } = await givenPeople(sql);
  const ask = () =>
    send(server, tokens.operator, "POST", "/v1/runs", {
      body: { definition: "later", input: "x" },
      headers: { "idempotency-key": "early" },
    });
  expect(await ask()).toMatchObject({ status: 404 });
  await send(server, tokens.admin, "POST", "/v1/definitions", { body: { spec: { ...spec, name: "later" } } });
  expect(await ask()).toMatchObject({ status: 200 });
});

test("a refused decision with a key leaves its audit row, and no key", async () => {
  const world = await givenPeople(sql);
  const { approvalId } = await givenGatedRun(sql, world);
  const refused = await send(server, world.tokens.operator, "POST", `/v1/approvals/${approvalId}/decision`, {
    body: { answer: "approve", ...digest },
    headers: { "idempotency-key": "k", "if-match": '"1"' },
  });
  expect(refused).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  expect(await countRows("audit", `subject = '${approvalId}' and action = 'approval.decision_refused'`)).toBe(1);
  expect(await countRows("idempotency_keys", `workspace_id = '${world.workspaceId}'`)).toBe(0);
});

test("a key is its sender's own, and the worker is told of what a keyed request made ready", async () => {
  const { tokens } = await givenPeople(sql);
  const start = (token: string) =>
    send(server, token, "POST", "/v1/runs", {
      body: { definition: "agent", input: "x" },
      headers: { "idempotency-key": "shared" },
    });
  const rings = server.rings();
  const [mine, theirs] = [await start(tokens.operator), await start(tokens.admin)];
  expect(server.rings()).toBe(rings + 2);
  expect(mine.body["id"]).not.toBe(theirs.body["id"]);
  await start(tokens.operator);
  expect(server.rings()).toBe(rings + 2);
});

test("keys of more than two days are removed, a few with each new one", async () => {
  const { tokens, admin, workspaceId } = await givenPeople(sql);
  await sql`
    insert into idempotency_keys (sender, key, workspace_id, request_hash, answer, created_at)
    select ${admin}, 'old ' || n, ${workspaceId}, 'x', '{}', clock_timestamp() - interval '49 hours' from generate_series(1, 6) n`;
  for (const key of ["n1", "n2"]) {
    await send(server, tokens.admin, "POST", "/v1/tasks", {
      body: { title: key },
      headers: { "idempotency-key": key },
    });
  }
  expect(await sql`select key from idempotency_keys where workspace_id = ${workspaceId} order by key`).toEqual([
    { key: "n1" },
    { key: "n2" },
  ]);
});
