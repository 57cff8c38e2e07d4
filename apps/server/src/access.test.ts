import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { transaction } from "@countersign/db/transaction.ts";
import { storeBlob } from "@countersign/engine/blobs.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import { recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import {
  aCall,
  aTurn,
  claimRun,
  givenGatedRun,
  givenQuestionRun,
  givenRun,
  type World,
} from "@countersign/engine/testing/fixtures.ts";
import { givenRemembered } from "@countersign/engine/testing/policy.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { putCalendarEvent } from "@countersign/ops/calendar.ts";
import { putCapture } from "@countersign/ops/captures.ts";
import { putFile } from "@countersign/ops/files.ts";
import { proposeMemory } from "@countersign/ops/memory.ts";
import { addReminder } from "@countersign/ops/reminders.ts";
import { v7 as newId } from "uuid";
import { afterAll, expect, test } from "vitest";
import { type Access, access, answerTo, type Asker, askers, type Whose } from "./access.ts";
import { renderAccessPage } from "./access-page.ts";
import { problems } from "./problem.ts";
import { createLoginLink } from "./sessions.ts";
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

async function eventOf({ workspaceId }: World): Promise<string> {
  const uid = newId();
  const times = { startsAt: new Date(anEvent.startsAt), endsAt: new Date(anEvent.endsAt) };
  await transaction(sql, (tx) =>
    putCalendarEvent(tx, { ...anEvent, ...times, uid, prepareMinutes: 0, workspaceId, putBy: "system" }),
  );
  return uid;
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

const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex");

async function fileOf({ workspaceId }: World, createdBy = "system"): Promise<string> {
  const hash = await storeBlob(sql, workspaceId, Buffer.from("x"), "text/plain");
  const file = await putFile(sql, { workspaceId, hash, name: "a.txt", mediaType: "text/plain", createdBy });
  return file?.id ?? "";
}

/** A page with one bullet, made by an operator. */
async function pageOf({
  workspaceId,
  operator: userId,
}: World): Promise<{ id: string; nodeId: string; commandId: string }> {
  const title = newId();
  const made = await transaction(sql, (tx) => createPage({ tx, workspaceId, userId }, { title, okf: "- a\n" }));
  if (made.kind !== "created") throw new Error(made.kind);
  const [node] = await sql<{ id: string }[]>`select id from nodes where page_id = ${made.page.id}`;
  return { id: made.page.id, nodeId: node?.id ?? "", commandId: made.commandId };
}

async function proposalOf({ workspaceId }: World): Promise<string> {
  const proposal = { workspaceId, kind: "fact", text: `it is ${newId()}`, proposedBy: "system" };
  return (await proposeMemory(sql, proposal)).id;
}

async function captureOf({ workspaceId, operator: userId }: World): Promise<string> {
  const hash = await storeBlob(sql, workspaceId, Buffer.from("- x"), "text/markdown");
  const url = `https://example.org/${newId()}`;
  const put = await putCapture(sql, { workspaceId, url, title: "x", hash, userId });
  return put.kind === "refused" ? "" : put.id;
}

const anEvent = {
  title: "x",
  startsAt: "2040-01-01T00:00:00Z",
  endsAt: "2040-01-01T01:00:00Z",
  timeZone: "UTC",
};

async function runRoute(world: World, ownerId: string, rest: string, body?: unknown): Promise<Asked> {
  return { path: `/v1/runs/${await runOf(world, ownerId)}${rest}`, ...(body === undefined ? {} : { body }) };
}

async function ofRun(world: World, ownerId: string, path: string): Promise<string> {
  return `${path}?scope=run&id=${await runOf(world, ownerId)}`;
}

const askOf = (name: string) => ({ changes: [{ target: { kind: "tool", name }, mode: "ask" }] });

/** What to send, on a fresh object of the owner's, so that nothing but access can refuse it. */
const prepare: Record<string, Prepare> = {
  "GET /health/live": () => ({ path: "/health/live" }),
  "GET /health/ready": () => ({ path: "/health/ready" }),
  "POST /session": async (world) => {
    const { path } = await createLoginLink(sql, {
      workspaceId: world.workspaceId,
      userId: world.viewer,
      mayDecide: true,
    });
    return { path: "/session", body: { code: path.split("#")[1] } };
  },
  "POST /v1/login-links": (_world, owner) => ({ path: "/v1/login-links", body: { userId: owner } }),
  "POST /v1/runs": () => ({ path: "/v1/runs", body: { definition: "agent", input: "go" } }),
  "GET /v1/runs/{id}": (world, owner) => runRoute(world, owner, ""),
  "GET /v1/runs/{id}/tree": (world, owner) => runRoute(world, owner, "/tree"),
  "GET /v1/runs/{id}/log": (world, owner) => runRoute(world, owner, "/log"),
  "GET /v1/runs/{id}/calls/{callId}/result": async (world) => {
    const runId = await givenRun(sql, world);
    const hold = await claimRun(sql, runId);
    const call = aCall();
    await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
    await commitWithin(sql, completeCall, { ...hold, callId: call.id, status: "done", result: '"read"' });
    return { path: `/v1/runs/${runId}/calls/${call.id}/result` };
  },
  "GET /v1/runs/{id}/saying": (world, owner) => runRoute(world, owner, "/saying"),
  "GET /v1/runs/{id}/grants": (world, owner) => runRoute(world, owner, "/grants"),
  "POST /v1/runs/{id}/steer": (world, owner) => runRoute(world, owner, "/steer", { message: "hurry" }),
  "POST /v1/runs/{id}/cancel": (world, owner) => runRoute(world, owner, "/cancel"),
  "POST /v1/runs/{id}/resume": (world, owner) => runRoute(world, owner, "/resume"),
  "POST /v1/runs/{id}/grants/{capability}/revoke": (world, owner) => runRoute(world, owner, "/grants/mail.send/revoke"),
  "GET /v1/approvals/{id}": async (world) => ({
    path: `/v1/approvals/${(await cardOf(world, "approval")).approvalId}`,
  }),
  "POST /v1/approvals/{id}/decision": async (world) => ({
    path: `/v1/approvals/${(await cardOf(world, "approval")).approvalId}/decision`,
    body: { answer: "deny", ...decision },
    ...seen,
  }),
  "POST /v1/approvals/decisions": async (world) => ({
    path: "/v1/approvals/decisions",
    body: {
      decisions: [
        { approvalId: (await cardOf(world, "approval")).approvalId, version: 1, answer: "deny", ...decision },
      ],
    },
  }),
  "POST /v1/approvals/{id}/extension": async (world) => {
    const { approvalId } = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    const until = new Date(Date.now() + 3_600_000).toISOString();
    return { path: `/v1/approvals/${approvalId}/extension`, body: { until } };
  },
  "GET /v1/approvals/{id}/receipt": async (world) => ({
    path: `/v1/approvals/${(await cardOf(world, "approval")).approvalId}/receipt`,
  }),
  "POST /v1/delegations": (world) => ({
    path: "/v1/delegations",
    body: { to: world.viewer, until: new Date(Date.now() + 3_600_000).toISOString() },
  }),
  "DELETE /v1/delegations/{id}": async (world, owner) => {
    const id = newId();
    await sql`insert into delegations (id, workspace_id, from_user, to_user, expires_at)
              values (${id}, ${world.workspaceId}, ${owner}, ${newId()}, now() + interval '1 hour')`;
    await sql`update delegations set to_user = ${world.otherApprover} where id = ${id} and from_user <> ${world.otherApprover}`;
    await sql`update delegations set to_user = ${world.ids.admin} where id = ${id} and from_user = ${world.otherApprover}`;
    return { path: `/v1/delegations/${id}` };
  },
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
  "PUT /v1/uploads/{hash}": () => ({ path: `/v1/uploads/${sha256Of("x")}?name=a.txt`, body: "x" }),
  "GET /v1/files/{id}": async (world) => ({ path: `/v1/files/${await fileOf(world)}` }),
  "GET /v1/files/{id}/content": async (world) => ({ path: `/v1/files/${await fileOf(world)}/content` }),
  "DELETE /v1/files/{id}": async (world, owner) => ({ path: `/v1/files/${await fileOf(world, `user:${owner}`)}` }),
  "PUT /v1/file-space": () => ({ path: "/v1/file-space", body: { quotaBytes: null } }),
  "POST /v1/memory/{id}/accept": async (world) => ({ path: `/v1/memory/${await proposalOf(world)}/accept` }),
  "POST /v1/memory/{id}/dismiss": async (world) => ({ path: `/v1/memory/${await proposalOf(world)}/dismiss` }),
  "POST /v1/captures": () => ({
    path: "/v1/captures",
    body: { url: `https://example.org/${newId()}`, title: "x", markdown: "- a" },
  }),
  "GET /v1/captures/{id}": async (world) => ({ path: `/v1/captures/${await captureOf(world)}` }),
  "POST /v1/reminders": () => ({ path: "/v1/reminders", body: { text: "x", dueAt: "2040-01-01T00:00:00Z" } }),
  "POST /v1/reminders/{id}/cancel": async ({ workspaceId, operator }) => {
    const dueAt = new Date("2040-01-01");
    const made = await addReminder(sql, { workspaceId, text: "x", dueAt, userId: operator, createdBy: "system" });
    return { path: `/v1/reminders/${made.id}/cancel` };
  },
  "PUT /v1/calendar/{uid}": () => ({ path: `/v1/calendar/${newId()}`, body: anEvent }),
  "PUT /v1/calendar": () => ({ path: `/v1/calendar?uid=${newId()}`, body: anEvent }),
  "DELETE /v1/calendar/{uid}": async (world) => ({ path: `/v1/calendar/${await eventOf(world)}` }),
  "DELETE /v1/calendar": async (world) => ({ path: `/v1/calendar?uid=${await eventOf(world)}` }),
  "POST /v1/pages": () => ({ path: "/v1/pages", body: { title: newId() } }),
  "GET /v1/pages/{id}": async (world) => ({ path: `/v1/pages/${(await pageOf(world)).id}` }),
  "PUT /v1/pages/{id}": async (world) => ({
    path: `/v1/pages/${(await pageOf(world)).id}`,
    body: { okf: "- b\n" },
    ...seen,
  }),
  "PATCH /v1/pages/{id}": async (world) => ({
    path: `/v1/pages/${(await pageOf(world)).id}`,
    body: { title: newId() },
  }),
  "DELETE /v1/pages/{id}": async (world) => ({ path: `/v1/pages/${(await pageOf(world)).id}` }),
  "GET /v1/nodes/{id}": async (world) => ({ path: `/v1/nodes/${(await pageOf(world)).nodeId}` }),
  "PUT /v1/nodes/{id}": async (world) => ({
    path: `/v1/nodes/${(await pageOf(world)).nodeId}`,
    body: { okf: "- b\n" },
    ...seen,
  }),
  "DELETE /v1/nodes/{id}": async (world) => ({ path: `/v1/nodes/${(await pageOf(world)).nodeId}` }),
  "GET /v1/search": () => ({ path: "/v1/search?q=a" }),
  "GET /v1/grep": () => ({ path: "/v1/grep?pattern=a" }),
  "GET /v1/commands/{id}": async (world) => ({ path: `/v1/commands/${(await pageOf(world)).commandId}` }),
  "POST /v1/commands/{id}/undo": async (world) => ({ path: `/v1/commands/${(await pageOf(world)).commandId}/undo` }),
  "POST /v1/import": () => ({ path: "/v1/import", body: { files: [{ path: `${newId()}.md`, text: "- a\n" }] } }),
  "PUT /v1/access-rules a directory": () => ({ path: "/v1/access-rules", body: { dir: "elsewhere", level: "read" } }),
  "PUT /v1/access-rules a page": async (world) => ({
    path: "/v1/access-rules",
    body: { pageId: (await pageOf(world)).id, level: "read" },
  }),
  "DELETE /v1/access-rules/{id}": async (world) => {
    const id = newId();
    await sql`insert into directories (workspace_id, dir, key) values (${world.workspaceId}, ${id}, ${id})`;
    await sql`insert into access_rules (id, workspace_id, dir, user_id, level, created_by)
              values (${id}, ${world.workspaceId}, ${id}, null, 'read', ${world.admin})`;
    return { path: `/v1/access-rules/${id}` };
  },
  "GET /v1/kill": () => ({ path: "/v1/kill" }),
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
  "POST /v1/kill a tool": () => ({ path: "/v1/kill", body: { scope: "tool", name: "kb.append", reason: "x" } }),
  "POST /v1/lift a tool": () => ({ path: "/v1/lift", body: { scope: "tool", name: "kb.append" } }),
  "POST /v1/runs with a dial of its own": () => ({
    path: "/v1/runs",
    body: { definition: "agent", input: "go", dial: { level: "low" } },
  }),
  "POST /v1/runs with a preset": () => ({
    path: "/v1/runs",
    body: { definition: "agent", input: "go", preset: "unset" },
  }),
  "GET /v1/rules the workspace": () => ({ path: "/v1/rules" }),
  "GET /v1/rules a run": async (world, owner) => ({ path: await ofRun(world, owner, "/v1/rules") }),
  "PATCH /v1/rules the workspace": () => ({ path: "/v1/rules", body: askOf("kb.read") }),
  "PATCH /v1/rules the workspace, what would change": () => ({
    path: "/v1/rules?dryRun=true",
    body: askOf("kb.read"),
  }),
  "PATCH /v1/rules a definition": (world) => ({
    path: `/v1/rules?scope=definition&id=${world.definitionId}`,
    body: askOf("kb.read"),
  }),
  "PATCH /v1/rules a run": async (world, owner) => ({
    path: await ofRun(world, owner, "/v1/rules"),
    body: askOf("kb.read"),
  }),
  "PUT /v1/rules the workspace": async ({ workspaceId }) => {
    const [row] = await sql`select version from policies where scope_id = ${workspaceId}`;
    const headers = { "if-match": `"${String(row?.["version"])}"` };
    return { path: "/v1/rules", body: { rules: [] }, headers };
  },
  "PUT /v1/rules the workspace, what would change": () => ({ path: "/v1/rules?dryRun=true", body: { rules: [] } }),
  "PUT /v1/rules a run": async (world, owner) => ({
    path: await ofRun(world, owner, "/v1/rules"),
    body: { rules: [] },
    headers: { "if-match": '"0"' },
  }),
  "POST /v1/rules/revoke the workspace": () => ({
    path: "/v1/rules/revoke",
    body: { scope: "workspace", rules: "remembered" },
  }),
  "POST /v1/rules/revoke a run": async (world, owner) => ({
    path: "/v1/rules/revoke",
    body: { scope: "run", id: await runOf(world, owner), rules: "remembered" },
  }),
  "DELETE /v1/rules/{id} the workspace": async (world) => ({
    path: `/v1/rules/${await givenRemembered(sql, world, "workspace", newId())}`,
    ...seen,
  }),
  "DELETE /v1/rules/{id} a run": async (world, owner) => ({
    path: `/v1/rules/${await givenRemembered(sql, world, { run: await runOf(world, owner) }, "kb.read")}`,
    ...seen,
  }),
  "GET /v1/runs/{id}/tools": (world, owner) => runRoute(world, owner, "/tools"),
  "PATCH /v1/runs/{id}/tools": (world, owner) => runRoute(world, owner, "/tools", { tools: { "kb.read": "ask" } }),
  "GET /v1/policy/tools": () => ({ path: "/v1/policy/tools" }),
  "PATCH /v1/policy/tools the workspace": () => ({ path: "/v1/policy/tools", body: { tools: { "kb.read": null } } }),
  "PATCH /v1/policy/tools a definition": (world) => ({
    path: `/v1/policy/tools?scope=definition&id=${world.definitionId}`,
    body: { tools: { "kb.read": null } },
  }),
  "PATCH /v1/policy/dial the workspace": () => ({ path: "/v1/policy/dial", body: { dial: null } }),
  "PATCH /v1/policy/dial a run": async (world, owner) => ({
    path: await ofRun(world, owner, "/v1/policy/dial"),
    body: { dial: { level: "low" } },
  }),
  "PUT /v1/policy/preset the workspace": () => ({ path: "/v1/policy/preset", body: { preset: "unset" } }),
  "PUT /v1/policy/preset a definition": (world) => ({
    path: `/v1/policy/preset?scope=definition&id=${world.definitionId}`,
    body: { preset: "read-only" },
  }),
  "PUT /v1/policy/preset a run": async (world, owner) => ({
    path: await ofRun(world, owner, "/v1/policy/preset"),
    body: { preset: "yolo" },
  }),
  "POST /v1/explain": () => ({ path: "/v1/explain", body: { tool: "kb.read" } }),
  "POST /v1/explain a run": async (world, owner) => ({
    path: "/v1/explain",
    body: { scope: "run", id: await runOf(world, owner), tool: "kb.read" },
  }),
  "POST /v1/simulate": () => ({ path: "/v1/simulate", body: { document: {} } }),
  "GET /v1/suggestions the workspace": () => ({ path: "/v1/suggestions" }),
  "GET /v1/suggestions a run": async (world, owner) => ({ path: await ofRun(world, owner, "/v1/suggestions") }),
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
    body: { capability: "slack.send", value: "a-value-long-enough" },
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
