import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { v7 as newId } from "uuid";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
const lenient = await startTestServer(url, { mayWebhooksBePrivate: true });
afterAll(() => Promise.all([server.stop(), lenient.stop()]));

const inside = { url: "http://127.0.0.1:9/hook" };

test("an administrator registers an endpoint, is told its secret once, and removes it again", async () => {
  const world = await givenPeople(sql);
  const admin = world.tokens.admin;
  const made = await send(lenient, admin, "POST", "/v1/webhooks", {
    body: { ...inside, events: ["run.ended", "run.ended"] },
  });
  expect(made).toMatchObject({ status: 200, body: { url: inside.url, events: ["run.ended"], disabledAt: null } });
  const { id, secret } = made.body as unknown as { id: string; secret: string };
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/=]{40,}$/);
  const listed = await send(lenient, admin, "GET", "/v1/webhooks");
  expect(listed.body["webhooks"]).toMatchObject([{ id, url: inside.url }]);
  expect(JSON.stringify(listed.body)).not.toContain("whsec_");
  const stored =
    await sql`select to_jsonb(v)::text as row from secret_versions v join secrets s on s.id = v.secret_id where s.name = ${`webhook.${id}`}`;
  expect(stored).toHaveLength(1);
  expect(JSON.stringify(stored)).not.toContain(secret.slice(6, 30));
  expect(await sql`select 1 from webhook_follower where snapshot is not null`).toHaveLength(1);

  expect((await send(lenient, admin, "DELETE", `/v1/webhooks/${id}`)).status).toBe(200);
  expect((await send(lenient, admin, "DELETE", `/v1/webhooks/${id}`)).status).toBe(404);
  const audited = await sql<{ details: object }[]>`select action, details from audit where subject = ${id} order by id`;
  expect(audited).toMatchObject([{ action: "webhook.created" }, { action: "webhook.removed" }]);
  expect(audited[0]?.details).toEqual({ events: expect.any(Array) });
  expect(audited[1]?.details).toEqual(audited[0]?.details);
});

test("a registration that is sent again under its key makes one endpoint, and the replay holds no secret", async () => {
  const world = await givenPeople(sql);
  const asked = { body: inside, headers: { "idempotency-key": "once" } };
  const first = await send(lenient, world.tokens.admin, "POST", "/v1/webhooks", asked);
  const second = await send(lenient, world.tokens.admin, "POST", "/v1/webhooks", asked);
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(second.body).toEqual({ ...first.body, secret: "" });
  const kept =
    await sql`select answer from idempotency_keys where key = 'once' and workspace_id = ${world.workspaceId}`;
  expect(JSON.stringify(kept)).not.toContain("whsec_");
});

test.each([
  "http://example.com/",
  "https://127.0.0.1/",
  "https://localhost/",
  "https://[::1]/",
  "https://169.254.169.254/latest",
  "https://10.0.0.1/",
  "https://user:password@example.com/",
  "https://does-not-exist.invalid/",
  "nonsense",
])("UI23: %s is refused when it is registered", async (target) => {
  const world = await givenPeople(sql);
  const answer = await send(server, world.tokens.admin, "POST", "/v1/webhooks", { body: { url: target } });
  expect(answer).toMatchObject({ status: 422, body: { code: "invalid_request", errors: [{ path: "json.url" }] } });
  expect(await sql`select 1 from webhook_endpoints where workspace_id = ${world.workspaceId}`).toHaveLength(0);
});

test("nobody but an administrator, and nobody of another workspace, sees or changes endpoints and deliveries", async () => {
  const world = await givenPeople(sql);
  const other = await givenPeople(sql);
  const made = await send(lenient, world.tokens.admin, "POST", "/v1/webhooks", { body: inside });
  const { id } = made.body as unknown as { id: string };
  const deliveryId = newId();
  await sql`
    insert into webhook_deliveries (id, workspace_id, endpoint_id, event, subject, payload, queued_at)
    values (${deliveryId}, ${world.workspaceId}, ${id}, 'run.ended', ${newId()}, '{}', now())`;
  const routes = [
    ["GET", "/v1/webhooks"],
    ["POST", "/v1/webhooks"],
    ["DELETE", `/v1/webhooks/${id}`],
    ["GET", `/v1/webhooks/${id}/deliveries`],
    ["POST", `/v1/webhooks/deliveries/${deliveryId}/redeliver`],
  ] as const;
  for (const [method, path] of routes) {
    const body = path === "/v1/webhooks" && method === "POST" ? { body: inside } : {};
    expect((await send(lenient, world.tokens.approver, method, path, body)).status).toBe(403);
    if (path !== "/v1/webhooks") expect((await send(lenient, other.tokens.admin, method, path, body)).status).toBe(404);
  }
});

test("the log of deliveries shows every attempt, and a redelivery is a further delivery of the same message", async () => {
  const world = await givenPeople(sql);
  const admin = world.tokens.admin;
  const made = await send(lenient, admin, "POST", "/v1/webhooks", { body: inside });
  const { id } = made.body as unknown as { id: string };
  const deliveryId = newId();
  await sql`
    insert into webhook_deliveries (id, workspace_id, endpoint_id, event, subject, payload, queued_at, status, settled_at, attempts)
    values (${deliveryId}, ${world.workspaceId}, ${id}, 'run.ended', ${newId()}, '{"type":"run.ended"}', now(), 'failed', now(), 1)`;
  await sql`insert into webhook_attempts (delivery_id, n, took_ms, status_code, failure) values (${deliveryId}, 1, 12, 500, 'it did not accept it')`;
  const again = await send(lenient, admin, "POST", `/v1/webhooks/deliveries/${deliveryId}/redeliver`);
  expect(again.status).toBe(200);
  const [audited] = await sql`select action, details from audit where subject = ${deliveryId}`;
  expect(audited).toEqual({ action: "webhook.redelivered", details: { webhook: id, event: "run.ended" } });
  const page = await send(lenient, admin, "GET", `/v1/webhooks/${id}/deliveries?limit=1`);
  expect(page.body).toMatchObject({
    deliveries: [
      {
        id: again.body["id"],
        redelivers: deliveryId,
        status: "pending",
        payload: '{"type":"run.ended"}',
        attempts: [],
      },
    ],
  });
  const next = await send(
    lenient,
    admin,
    "GET",
    `/v1/webhooks/${id}/deliveries?cursor=${String(page.body["nextCursor"])}`,
  );
  expect(next.body).toMatchObject({
    deliveries: [{ id: deliveryId, status: "failed", attempts: [{ n: 1, statusCode: 500 }] }],
    nextCursor: null,
  });
  await send(lenient, admin, "DELETE", `/v1/webhooks/${id}`);
  expect((await send(lenient, admin, "POST", `/v1/webhooks/deliveries/${deliveryId}/redeliver`)).status).toBe(404);
});
