import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { appScope, killScope } from "@countersign/engine/commits/kill-scope.ts";
import { liftScope } from "@countersign/engine/commits/lift-scope.ts";
import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { agentSpec, givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

const turn = (token: string, which: "kill" | "lift", body: object) =>
  send(server, token, "POST", `/v1/${which}`, { body });

test("the installation's switch is the administrator's where there is one workspace, and nobody's over HTTP where there are more", async () => {
  const { tokens } = await givenPeople(sql);
  const app = { scope: "app", reason: "maintenance" };
  expect(await turn(tokens.admin, "kill", app)).toMatchObject({
    status: 200,
    body: { scope: "app", outcome: "killed" },
  });
  expect((await send(server, tokens.admin, "GET", "/v1/kill")).body).toMatchObject({
    switches: [{ scope: "app" }],
    scopes: ["app", "workspace", "definition", "run", "tool", "server"],
  });
  expect(await turn(tokens.admin, "lift", { scope: "app" })).toMatchObject({
    status: 200,
    body: { outcome: "lifted" },
  });
  await givenPeople(sql);
  expect(await turn(tokens.admin, "kill", app)).toMatchObject({
    status: 403,
    body: { code: "forbidden" },
  });
});

test("an administrator kills and lifts a workspace, a definition or a run; a second time says so, and the audit says who and why", async () => {
  const world = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  for (const [target, scopeId] of [
    [{ scope: "workspace" }, world.workspaceId],
    [{ scope: "workspace", id: world.workspaceId }, world.workspaceId],
    [{ scope: "definition", id: world.definitionId }, world.definitionId],
    [{ scope: "run", id: runId }, runId],
  ] as const) {
    const rings = server.rings();
    expect(await turn(world.tokens.admin, "kill", { ...target, reason: "drill" })).toMatchObject({
      status: 200,
      body: { scope: target.scope, id: scopeId, outcome: "killed" },
    });
    const read = await send(server, world.tokens.viewer, "GET", `/v1/runs/${runId}`);
    expect(read.body).toMatchObject({ status: "paused", waitsOn: "kill", heldBy: { scope: target.scope } });
    expect(await turn(world.tokens.admin, "kill", { ...target, reason: "again" })).toMatchObject({
      body: { outcome: "already" },
    });
    expect(await turn(world.tokens.admin, "lift", { ...target, reason: "drilled" })).toMatchObject({
      body: { outcome: "lifted" },
    });
    expect(await turn(world.tokens.admin, "lift", { ...target, reason: "over" })).toMatchObject({
      body: { outcome: "already" },
    });
    expect(server.rings()).toBeGreaterThan(rings);
  }
  const audit = await sql`
    select action, actor, subject, details from audit where workspace_id = ${world.workspaceId} order by id limit 2`;
  const said = { actor: `user:${world.admin}`, subject: `workspace:${world.workspaceId}` };
  const way = expect.stringMatching(/^token:/) as string;
  expect(audit).toEqual([
    { ...said, action: "scope.killed", details: { reason: "drill", way } },
    { ...said, action: "scope.lifted", details: { reason: "drilled", way } },
  ]);
});

test("a switch is refused to everybody but administrators, without a reason or a target, and for what is not the workspace's", async () => {
  const world = await givenPeople(sql);
  const foreign = await givenPeople(sql);
  const run = { scope: "run", id: await givenRun(sql, world), reason: "drill" };
  for (const role of ["viewer", "operator", "approver"] as const) {
    expect(await turn(world.tokens[role], "kill", run)).toMatchObject({
      status: 403,
      body: { code: "forbidden" },
    });
    expect(await turn(world.tokens[role], "lift", { scope: "workspace" })).toMatchObject({
      status: 403,
    });
  }
  for (const body of [
    { scope: "run", reason: "which?" },
    { scope: "run", id: run.id },
    { scope: "planet", reason: "big" },
    { ...run, reason: "nul \0" },
  ]) {
    expect(await turn(world.tokens.admin, "kill", body)).toMatchObject({
      status: 422,
      body: { code: "invalid_request" },
    });
  }
  for (const body of [
    run,
    { scope: "definition", id: world.definitionId, reason: "theirs" },
    { scope: "workspace", id: world.workspaceId, reason: "theirs" },
  ]) {
    expect(await turn(foreign.tokens.admin, "kill", body)).toMatchObject({
      status: 404,
      body: { code: "not_found" },
    });
  }
  const killed = await sql`select 1 from policies where killed_at is not null`;
  expect(killed).toHaveLength(0);
});

test("definitions are listed with their current version", async () => {
  const world = await givenPeople(sql);
  const { status, body } = await send(server, world.tokens.viewer, "GET", "/v1/definitions");
  expect(status).toBe(200);
  expect(body).toMatchObject({
    definitions: [{ id: world.definitionId, name: "agent", version: 1, spec: agentSpec }],
  });
});

test("whoever may see the queue sees which switches are on, of what, by whom and why; none of another workspace's, none of an ended run's", async () => {
  const world = await givenPeople(sql);
  const foreign = await givenPeople(sql);
  const runId = await givenRun(sql, world);
  const by = { id: world.admin, name: "Ada Admin" };
  const agent = { scope: "definition", id: world.definitionId, name: "agent" };
  const thrown = [
    [{ scope: "workspace" }, { scope: "workspace", id: world.workspaceId }],
    [{ scope: "definition", id: world.definitionId }, agent],
    [
      { scope: "run", id: runId },
      { scope: "run", id: runId, name: "a run" },
    ],
    [
      { scope: "tool", name: "mail.send" },
      { scope: "tool", id: null, name: "mail.send" },
    ],
  ] as const;
  for (const [target] of thrown)
    await turn(world.tokens.admin, "kill", {
      ...target,
      reason: `drill ${target.scope}, key sk-ant-api03-${"x".repeat(40)}`,
    });
  await turn(foreign.tokens.admin, "kill", { scope: "workspace", reason: "theirs" });

  const read = await send(server, world.tokens.viewer, "GET", "/v1/kill");
  const shown = thrown.map(([{ scope }, told]) => ({
    ...told,
    by,
    since: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    reason: expect.stringMatching(`^drill ${scope}, key (?!sk-ant)`) as string,
  }));
  expect(read.body).toMatchObject({ switches: shown.toReversed(), scopes: [] });
  const theirs = await send(server, world.tokens.admin, "GET", "/v1/kill");
  expect(theirs.body["scopes"]).toEqual(["workspace", "definition", "run", "tool", "server"]);

  await send(server, world.tokens.admin, "POST", `/v1/runs/${runId}/cancel`);
  await turn(world.tokens.admin, "lift", { scope: "tool", name: "mail.send" });
  const left = await send(server, world.tokens.viewer, "GET", "/v1/kill");
  expect(left.body).toMatchObject({ switches: [agent, { scope: "workspace" }] });
});

test("the switch of the installation is shown in every workspace, with who threw it in their own alone", async () => {
  const world = await givenPeople(sql);
  const foreign = await givenPeople(sql);
  await killScope(sql, appScope, world.admin, "maintenance");
  const shown = { scope: "app", id: null, name: null, reason: "maintenance" };
  const list = async (token: string) => await send(server, token, "GET", "/v1/kill");
  expect((await list(world.tokens.viewer)).body).toMatchObject({ switches: [{ ...shown, by: { name: "Ada Admin" } }] });
  const elsewhere = { id: null, name: "an administrator of another workspace" };
  expect((await list(foreign.tokens.viewer)).body).toMatchObject({ switches: [{ ...shown, by: elsewhere }] });
  const runId = await givenRun(sql, foreign);
  await turn(foreign.tokens.admin, "kill", { scope: "run", id: runId, reason: "narrower" });
  const run = await send(server, foreign.tokens.viewer, "GET", `/v1/runs/${runId}`);
  expect(run.body).toMatchObject({ heldBy: { scope: "app", by: elsewhere, reason: "maintenance" } });
  await liftScope(sql, appScope, world.admin);
});
