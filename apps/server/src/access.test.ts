import { readFileSync } from "node:fs";
import { join } from "node:path";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenGatedRun, givenQuestionRun, givenRun, type World } from "@countersign/engine/testing/fixtures.ts";
import { v7 as newId } from "uuid";
import { afterAll, expect, test } from "vitest";
import { type Access, access, answerTo, type Asker, askers, type Whose } from "./access.ts";
import { renderAccessPage } from "./access-page.ts";
import { problems } from "./problem.ts";
import { givenPeople, send, startTestServer } from "./testing/harness.ts";
import { createToken } from "./tokens.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type People = Awaited<ReturnType<typeof givenPeople>> & {
  readonly serviceToken: string;
  readonly ids: Readonly<Record<Exclude<Asker, "nobody">, string>>;
};

async function givenEverybody(): Promise<People> {
  const world = await givenPeople(sql);
  const { workspaceId, viewer, operator, approver, admin } = world;
  const service = newId();
  await sql`insert into users (id, workspace_id, name, role, is_service) values (${service}, ${workspaceId}, 'Sync', 'admin', true)`;
  const { token } = await createToken(sql, { workspaceId, userId: service, label: "sync", mayDecide: false });
  return { ...world, serviceToken: token, ids: { viewer, operator, approver, admin, service } };
}

interface Asked {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

type Prepare = (world: World & { ids: People["ids"] }, ownerId: string) => Promise<Asked> | Asked;

const spec = { name: "agent", model: "scripted", toolset: ["kb.read"] };
const seen = { headers: { "if-match": '"1"' } };
const decision = { argsDigest: "hash-of-args" };

async function runOf(world: World, ownerId: string): Promise<string> {
  return await givenRun(sql, world, { startedBy: ownerId });
}

async function cardOf(world: World, kind: "approval" | "question"): Promise<{ taskId: string; approvalId: string }> {
  const given = kind === "approval" ? await givenGatedRun(sql, world) : await givenQuestionRun(sql, world);
  const [task] = await sql<{ id: string; approval_id: string }[]>`
    select id, approval_id from tasks where run_id = ${given.runId}`;
  return { taskId: task?.id ?? "", approvalId: task?.approval_id ?? "" };
}

async function plainTask(world: World): Promise<string> {
  const id = newId();
  await sql`insert into tasks (id, workspace_id, kind, status, section, title, created_by)
            values (${id}, ${world.workspaceId}, 'task', 'open', 'up-next', 'x', 'system')`;
  return id;
}

async function webhookOf({ workspaceId, admin }: World): Promise<{ id: string; deliveryId: string }> {
  const [id, deliveryId] = [newId(), newId()];
  await sql`insert into webhook_endpoints (id, workspace_id, url, events, secret_name, created_by)
            values (${id}, ${workspaceId}, 'https://93.184.215.14/hook', ${["run.completed"]}, 'x', ${admin})`;
  await sql`insert into webhook_deliveries (id, workspace_id, endpoint_id, event, subject, payload)
            values (${deliveryId}, ${workspaceId}, ${id}, 'run.completed', ${newId()}, '{}')`;
  return { id, deliveryId };
}

async function runRoute(world: World, ownerId: string, rest: string, body?: unknown): Promise<Asked> {
  return { path: `/v1/runs/${await runOf(world, ownerId)}${rest}`, ...(body === undefined ? {} : { body }) };
}

/** What to send, on a fresh object of the owner's, so that nothing but access can refuse it. */
const prepare: Record<string, Prepare> = {
  "GET /health/live": () => ({ path: "/health/live" }),
  "GET /health/ready": () => ({ path: "/health/ready" }),
  "POST /v1/runs": () => ({ path: "/v1/runs", body: { definition: "agent", input: "go" } }),
  "GET /v1/runs/{id}": (world, owner) => runRoute(world, owner, ""),
  "GET /v1/runs/{id}/tree": (world, owner) => runRoute(world, owner, "/tree"),
  "GET /v1/runs/{id}/log": (world, owner) => runRoute(world, owner, "/log"),
  "GET /v1/runs/{id}/grants": (world, owner) => runRoute(world, owner, "/grants"),
  "POST /v1/runs/{id}/steer": (world, owner) => runRoute(world, owner, "/steer", { message: "hurry" }),
  "POST /v1/runs/{id}/cancel": (world, owner) => runRoute(world, owner, "/cancel"),
  "POST /v1/runs/{id}/grants/{capability}/revoke": (world, owner) => runRoute(world, owner, "/grants/mail.send/revoke"),
  "GET /v1/approvals/{id}": async (world) => ({
    path: `/v1/approvals/${(await cardOf(world, "approval")).approvalId}`,
  }),
  "POST /v1/approvals/{id}/decision": async (world) => ({
    path: `/v1/approvals/${(await cardOf(world, "approval")).approvalId}/decision`,
    body: { answer: "deny", ...decision },
    ...seen,
  }),
  "POST /v1/tasks": () => ({ path: "/v1/tasks", body: { title: "x" } }),
  "GET /v1/tasks/{id}": async (world) => ({ path: `/v1/tasks/${await plainTask(world)}` }),
  "POST /v1/tasks/{id}/confirm": async (world) => ({
    path: `/v1/tasks/${(await cardOf(world, "approval")).taskId}/confirm`,
    body: decision,
    ...seen,
  }),
  "POST /v1/tasks/{id}/dismiss an approval": async (world) => ({
    path: `/v1/tasks/${(await cardOf(world, "approval")).taskId}/dismiss`,
    body: decision,
    ...seen,
  }),
  "POST /v1/tasks/{id}/dismiss a question": async (world) => ({
    path: `/v1/tasks/${(await cardOf(world, "question")).taskId}/dismiss`,
  }),
  "POST /v1/tasks/{id}/dismiss a task": async (world) => ({ path: `/v1/tasks/${await plainTask(world)}/dismiss` }),
  "POST /v1/tasks/{id}/answer": async (world) => ({
    path: `/v1/tasks/${(await cardOf(world, "question")).taskId}/answer`,
    body: { answer: "blue" },
  }),
  "POST /v1/tasks/{id}/done": async (world) => ({ path: `/v1/tasks/${await plainTask(world)}/done` }),
  "POST /v1/kill the workspace": () => ({ path: "/v1/kill", body: { scope: "workspace", reason: "x" } }),
  "POST /v1/kill a run": async (world, owner) => ({
    path: "/v1/kill",
    body: { scope: "run", id: await runOf(world, owner), reason: "x" },
  }),
  "POST /v1/kill a definition": (world) => ({
    path: "/v1/kill",
    body: { scope: "definition", id: world.definitionId, reason: "x" },
  }),
  "POST /v1/lift the workspace": () => ({ path: "/v1/lift", body: { scope: "workspace" } }),
  "POST /v1/lift a run": async (world, owner) => ({
    path: "/v1/lift",
    body: { scope: "run", id: await runOf(world, owner) },
  }),
  "POST /v1/definitions": () => ({ path: "/v1/definitions", body: { spec: { ...spec, name: newId() } } }),
  "GET /v1/definitions/{id}": (world) => ({ path: `/v1/definitions/${world.definitionId}` }),
  "GET /v1/definitions/{id}/versions": (world) => ({ path: `/v1/definitions/${world.definitionId}/versions` }),
  "POST /v1/definitions/{id}/versions": async (world) => {
    const [row] = await sql`select current_version from definitions where id = ${world.definitionId}`;
    return {
      path: `/v1/definitions/${world.definitionId}/versions`,
      body: { spec: { ...spec, description: newId() } },
      headers: { "if-match": `"${String(row?.["current_version"])}"` },
    };
  },
  "GET /v1/tools/{name}": () => ({ path: "/v1/tools/mail.send" }),
  "PUT /v1/secrets/{name}": () => ({
    path: "/v1/secrets/smtp",
    body: { capability: "mail.send", value: "a value long enough" },
  }),
  "DELETE /v1/secrets/{name}": async (world) => {
    const name = `s-${newId()}`;
    await sql`insert into secrets (id, workspace_id, name, capability, current_version)
              values (${newId()}, ${world.workspaceId}, ${name}, ${name}, 1)`;
    return { path: `/v1/secrets/${name}` };
  },
  "GET /metrics from the server's machine": () => ({ path: "/metrics" }),
  "GET /v1/runs/{id}/events": (world, owner) => runRoute(world, owner, "/events"),
  "POST /v1/webhooks": () => ({ path: "/v1/webhooks", body: { url: "https://93.184.215.14/hook" } }),
  "DELETE /v1/webhooks/{id}": async (world) => ({ path: `/v1/webhooks/${(await webhookOf(world)).id}` }),
  "GET /v1/webhooks/{id}/deliveries": async (world) => ({
    path: `/v1/webhooks/${(await webhookOf(world)).id}/deliveries`,
  }),
  "POST /v1/webhooks/deliveries/{id}/redeliver": async (world) => ({
    path: `/v1/webhooks/deliveries/${(await webhookOf(world)).deliveryId}/redeliver`,
  }),
  "POST /v1/users": () => ({ path: "/v1/users", body: { name: newId(), role: "viewer" } }),
  "GET /v1/users/{id}": (_world, owner) => ({ path: `/v1/users/${owner}` }),
  "PATCH /v1/users/{id}": (_world, owner) => ({ path: `/v1/users/${owner}`, body: { isDisabled: false } }),
  "GET /v1/tokens one account's": (_world, owner) => ({ path: `/v1/tokens?user=${owner}` }),
  "POST /v1/tokens a token that may not decide": (world) => ({
    path: "/v1/tokens",
    body: { userId: world.viewer, label: "x" },
  }),
  "POST /v1/tokens a token that may decide": (world) => ({
    path: "/v1/tokens",
    body: { userId: world.viewer, label: "x", mayDecide: true },
  }),
  "DELETE /v1/tokens/{id}": async (world, owner) => {
    const made = await createToken(sql, {
      workspaceId: world.workspaceId,
      userId: owner,
      label: "x",
      mayDecide: false,
    });
    return { path: `/v1/tokens/${made.id}` };
  },
};

const nameOf = ({ route, on }: Access): string => (on === undefined ? route : `${route} ${on}`);

/** Lists take nothing, so they need no preparation. */
function preparationOf(entry: Access): Prepare {
  return prepare[nameOf(entry)] ?? (() => ({ path: entry.route.split(" ")[1] ?? "" }));
}

function tokenOf(people: People, asker: Asker): string | undefined {
  if (asker === "nobody") return undefined;
  return asker === "service" ? people.serviceToken : people.tokens[asker];
}

const here = await givenEverybody();
const elsewhere = await givenEverybody();

test.each(access.map((entry) => ({ name: nameOf(entry), entry })))(
  "$name: each cell of the table holds",
  async ({ entry }) => {
    const [method = ""] = entry.route.split(" ");
    const whoses: Whose[] = entry.object === undefined ? ["own"] : ["own", "another's", "other workspace's"];
    for (const asker of askers) {
      for (const whose of whoses) {
        const world = whose === "other workspace's" ? elsewhere : here;
        const own = here.ids[asker === "nobody" ? "viewer" : asker];
        const ownerId = whose === "own" ? own : whose === "another's" ? here.otherApprover : elsewhere.operator;
        const { path, ...request } = await preparationOf(entry)(world, ownerId);
        const answer = await send(server, tokenOf(here, asker), method, path, request);
        const expected = answerTo(entry, asker, whose);
        const cell = `${asker}, ${whose}`;
        if (expected === "allowed")
          expect({ cell, status: answer.status, body: answer.body }).toMatchObject({ cell, status: 200 });
        else {
          const { status } = problems[expected];
          expect({ cell, status: answer.status, code: answer.body.code }).toEqual({ cell, status, code: expected });
        }
        await sql`update policies set killed_at = null, killed_by = null, kill_reason = null where scope <> 'app'`;
      }
    }
  },
);

test("docs/access.md is the page of this table", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/access.md"), "utf8");
  expect(page, "run `npm run docs -w @countersign/server`").toBe(renderAccessPage());
});
