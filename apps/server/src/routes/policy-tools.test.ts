import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { scopeOf, toolRule, writeRules } from "@countersign/engine/testing/policy.ts";
import { afterAll, expect, test } from "vitest";
import type { EffectivePolicy } from "../shapes/rules.ts";
import { type Answer, givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const ofRun = (runId: string) => `/v1/runs/${runId}/tools`;
const get = (token: string, path: string) => send(server, token, "GET", path);
const patch = (token: string, path: string, body: object) => send(server, token, "PATCH", path, { body });

function toolOf(answer: Answer, name: string): EffectivePolicy["tools"][number] | undefined {
  return (answer.body as unknown as EffectivePolicy).tools.find((tool) => tool.name === name);
}

test("each tool of a run is shown with its mode and the layer that it comes from", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("mail.send", "off"), toolRule("kb.read", "ask"));
  await writeRules(sql, world, scopeOf(world, { run: runId }), toolRule("kb.read", "allow"));
  const shown = await get(tokens.viewer, ofRun(runId));
  expect(shown.status).toBe(200);
  expect(shown.body).toMatchObject({
    scope: "run",
    id: runId,
    version: 1,
    dial: null,
    approvalPolicy: { level: "outbound" },
  });
  expect(toolOf(shown, "mail.send")).toMatchObject({
    effective: { mode: "off", layer: "workspace" },
    own: null,
    isOffered: false,
  });
  expect(toolOf(shown, "kb.read")).toMatchObject({
    effective: { mode: "allow", layer: "run" },
    own: { mode: "allow", version: 1 },
    isOffered: true,
  });
  expect(toolOf(shown, "kb.append")).toMatchObject({ effective: null, isOffered: true });
  expect((shown.body["tools"] as object[]).length).toBe(4);
});

test("choosing what would be inherited anyway takes the entry away, and so does null", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("kb.read", "ask"));
  const set = (mode: string | null) => patch(tokens.approver, ofRun(runId), { tools: { "kb.read": mode } });
  expect(toolOf(await set("allow"), "kb.read")).toMatchObject({ own: { mode: "allow" } });
  expect(toolOf(await set("ask"), "kb.read")).toMatchObject({
    own: null,
    effective: { mode: "ask", layer: "workspace" },
  });
  expect(toolOf(await set("off"), "kb.read")).toMatchObject({ own: { mode: "off" } });
  expect(toolOf(await set(null), "kb.read")).toMatchObject({ own: null });
  const left = await sql`select from rules where scope_id = ${runId} and revoked_at is null`;
  expect(left).toHaveLength(0);
});

test("a rule that says more than a mode is never written over by one, nor is a policy that has moved on", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const path = "/v1/policy/tools";
  const stored = () =>
    sql`select mode, entries, is_locked, expires_at from rules
         where scope_id = ${world.workspaceId} and revoked_at is null and target_name = 'mail.send'`;
  for (const more of [
    { mode: "deny", entries: [{ kind: "unit", unit: "boss@example.com" }] },
    { mode: "allowlist", entries: [{ kind: "unit", unit: "ann@example.com" }] },
    { mode: "ask", locked: true },
    { mode: "off", expiresAt: "2999-01-01T00:00:00Z" },
  ]) {
    const body = { changes: [{ target: { kind: "tool", name: "mail.send" }, ...more }] };
    expect(await patch(tokens.admin, "/v1/rules", body)).toMatchObject({ status: 200 });
    const before = await stored();
    expect(before).toHaveLength(1);
    for (const mode of ["allow", "ask", "off", null])
      expect(await patch(tokens.admin, path, { tools: { "mail.send": mode, "kb.read": "ask" } })).toMatchObject({
        status: 422,
        body: { code: "wrong_kind" },
      });
    expect(await stored()).toEqual(before);
  }
  const { version } = (await get(tokens.viewer, path)).body as unknown as EffectivePolicy;
  const set = (seen: number, mode: string) =>
    send(server, tokens.admin, "PATCH", path, {
      body: { tools: { "kb.read": mode } },
      headers: { "if-match": `"${seen}"` },
    });
  expect(await set(version, "ask")).toMatchObject({ status: 200 });
  expect(await set(version, "allow")).toMatchObject({ status: 412, body: { code: "stale" } });
  expect(toolOf(await get(tokens.viewer, path), "kb.read")).toMatchObject({ own: { mode: "ask" } });
});

test("a locked entry further out holds whatever a run chooses", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const locked = toolRule("kb.append", "ask", { rule: { mode: "ask", locked: true } });
  await writeRules(sql, world, scopeOf(world, "workspace"), locked);
  const chosen = await patch(tokens.approver, ofRun(runId), { tools: { "kb.append": "allow" } });
  expect(toolOf(chosen, "kb.append")).toMatchObject({
    own: { mode: "allow" },
    effective: { mode: "ask", layer: "workspace", locked: true },
  });
});

test("what a run chooses is no other run's", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const [one, other] = [await givenRun(sql, world), await givenRun(sql, world)];
  await patch(tokens.approver, ofRun(one), { tools: { "kb.read": "off" } });
  expect(toolOf(await get(tokens.viewer, ofRun(other)), "kb.read")).toMatchObject({ effective: null, isOffered: true });
});

test("a workspace and a definition are shown and set alike; unknown names and nothing at all are refused", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const path = `/v1/policy/tools?scope=definition&id=${world.definitionId}`;
  expect(toolOf(await patch(tokens.approver, path, { tools: { "mail.send": "deny" } }), "mail.send")).toMatchObject({
    effective: { mode: "deny", layer: "definition" },
  });
  expect(toolOf(await get(tokens.viewer, "/v1/policy/tools"), "mail.send")).toMatchObject({ effective: null });
  for (const body of [{ tools: { "mail.sent": "deny" } }, { families: { postal: "ask" } }, { tools: {} }, {}])
    expect((await patch(tokens.admin, "/v1/policy/tools", body)).status).toBe(422);
});

test("what the whole installation says can be seen and asked about, and is changed by nobody over HTTP", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("kb.read", "ask"));
  const path = "/v1/policy/tools?scope=app";
  expect(toolOf(await get(tokens.viewer, path), "kb.read")).toMatchObject({ effective: null, isOffered: true });
  expect(await patch(tokens.admin, path, { tools: { "kb.read": "ask" } })).toMatchObject({ status: 403 });
  const preset = await send(server, tokens.admin, "PUT", "/v1/policy/preset?scope=app", { body: { preset: "yolo" } });
  expect(preset).toMatchObject({ status: 403, body: { code: "forbidden" } });
  for (const [route, body] of [
    ["/v1/explain", { scope: "app", tool: "kb.read" }],
    ["/v1/simulate", { scope: "app", document: {} }],
  ] as const)
    expect(await send(server, tokens.viewer, "POST", route, { body })).toMatchObject({ status: 200 });
});

test("a dial is set live, with an expiry, and says how many approvals are judged again", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const { runId } = await givenGatedRun(sql, world);
  const path = `/v1/policy/dial?scope=run&id=${runId}`;
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  expect(await patch(tokens.approver, path, { dial: { level: "high", expiresAt } })).toMatchObject({
    status: 200,
    body: { outcome: "set", version: 1, waiting: 1 },
  });
  expect((await get(tokens.viewer, ofRun(runId))).body).toMatchObject({ dial: { level: "high", layer: "run" } });
  expect(await patch(tokens.approver, path, { dial: { level: "high", expiresAt } })).toMatchObject({
    body: { outcome: "unchanged", version: 1 },
  });
  expect(await patch(tokens.approver, path, { dial: null })).toMatchObject({ body: { outcome: "set", version: 2 } });
  expect((await get(tokens.viewer, ofRun(runId))).body).toMatchObject({ dial: null });
  const locked = await patch(tokens.approver, path, { dial: { level: "low", locked: true } });
  expect(locked).toMatchObject({ status: 422 });
});

test("a killed tool is shown as such, its approvals are counted, and it is lifted by name", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const { runId } = await givenGatedRun(sql, world);
  const body = { scope: "tool", name: "mail.send", reason: "it misbehaves" };
  expect(await send(server, tokens.admin, "POST", "/v1/kill", { body })).toMatchObject({
    status: 200,
    body: { scope: "tool", id: "mail.send", outcome: "killed", waiting: 1 },
  });
  expect(toolOf(await get(tokens.viewer, ofRun(runId)), "mail.send")).toMatchObject({ isKilled: true });
  for (const wrong of [
    { scope: "tool", reason: "which?" },
    { ...body, name: "mail.sent" },
    { ...body, scope: "server" },
  ])
    expect((await send(server, tokens.admin, "POST", "/v1/kill", { body: wrong })).status).toBeGreaterThanOrEqual(404);
  const lift = { scope: "tool", name: "mail.send" };
  expect(await send(server, tokens.admin, "POST", "/v1/lift", { body: lift })).toMatchObject({
    body: { outcome: "lifted" },
  });
  expect(await send(server, tokens.admin, "POST", "/v1/lift", { body: lift })).toMatchObject({
    body: { outcome: "already" },
  });
});
