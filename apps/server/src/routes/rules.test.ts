import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { givenRemembered } from "@countersign/engine/testing/policy.ts";
import { afterAll, describe, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";
import { createToken } from "../tokens.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type People = Awaited<ReturnType<typeof givenPeople>>;

const tool = (name: string) => ({ kind: "tool", name });
const patch = (token: string, changes: object[], scope = "") =>
  send(server, token, "PATCH", `/v1/rules${scope}`, { body: { changes } });
const read = (token: string, scope = "") => send(server, token, "GET", `/v1/rules${scope}`);
const put = (token: string, body: unknown, version: number, scope = "?dryRun=false") =>
  send(server, token, "PUT", `/v1/rules${scope}`, { body, headers: { "if-match": `"${version}"` } });
const ofRun = (runId: string) => `?scope=run&id=${runId}`;

async function versionOf(token: string, scope = ""): Promise<number> {
  return (await read(token, scope)).body["version"] as number;
}

async function rulesOf(token: string, scope = ""): Promise<string[]> {
  const { body } = await read(token, scope);
  return (body["rules"] as { target: { name?: string }; mode: string }[]).map(
    ({ target, mode }) => `${target.name ?? "everything"} ${mode}`,
  );
}

test("a rule that is set is read with its version, moves the scope's ETag, rings, and says how many approvals it touches", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  await givenGatedRun(sql, world);
  const rings = server.rings();
  const set = await patch(tokens.admin, [{ target: tool("mail.send"), mode: "off", version: 0 }]);
  expect(set).toMatchObject({
    status: 200,
    body: { scope: "workspace", changes: [{ outcome: "written", version: 1, waiting: 1 }] },
  });
  expect(server.rings()).toBeGreaterThan(rings);
  const layer = await read(tokens.viewer);
  expect(layer.headers.get("etag")).toBe('"2"');
  expect(layer.body).toMatchObject({
    version: 2,
    rules: [
      { target: tool("mail.send"), mode: "off", version: 1, isRemembered: false, createdBy: { name: "Ada Admin" } },
    ],
  });
});

test("AZ23: a write on an older version of a rule than there is answers 412, and the newer intent stays", async () => {
  const { tokens } = await givenPeople(sql);
  await patch(tokens.admin, [{ target: tool("kb.read"), mode: "ask", version: 0 }]);
  await patch(tokens.admin, [{ target: tool("kb.read"), mode: "off", version: 1 }]);
  const late = await patch(tokens.admin, [{ target: tool("kb.read"), mode: "allow", version: 1 }]);
  expect(late).toMatchObject({ status: 412, body: { code: "stale" } });
  expect(await rulesOf(tokens.admin)).toEqual(["kb.read off"]);
});

test("what a change would make of a rule is shown first to whoever may look, refused as the change would be, and changes nothing", async () => {
  const { tokens } = await givenPeople(sql);
  await patch(tokens.admin, [{ target: tool("kb.read"), mode: "ask", locked: true }]);
  const look = (changes: object[]) => patch(tokens.viewer, changes, "?dryRun=true");
  const entries = [{ kind: "unit", unit: "ann@example.test" }];
  const expiresAt = "2040-01-01T00:00:00Z";
  const shown = await look([
    { target: tool("kb.read"), mode: "off", version: 1 },
    { target: tool("mail.send"), mode: "allowlist", entries, expiresAt, version: 0 },
    { target: { kind: "everything" }, mode: null },
  ]);
  expect(shown).toMatchObject({
    status: 200,
    body: {
      changes: [
        {
          outcome: "written",
          version: 1,
          isLoosening: false,
          waiting: 0,
          before: { mode: "ask", locked: true },
          after: { mode: "off" },
        },
        {
          outcome: "written",
          version: 0,
          isLoosening: true,
          after: { mode: "allowlist", entries, expiresAt: "2040-01-01T00:00:00.000Z" },
        },
        { outcome: "unchanged" },
      ],
    },
  });
  const same = await look([{ target: tool("kb.read"), mode: "ask", locked: true }]);
  expect(same).toMatchObject({ status: 200, body: { changes: [{ outcome: "unchanged", version: 1 }] } });
  expect(await look([{ target: tool("kb.read"), mode: "off", version: 7 }])).toMatchObject({
    status: 412,
    body: { code: "stale" },
  });
  const broken = { target: tool("mail.send"), mode: "deny", entries: [...entries, { kind: "pattern", pattern: "(" }] };
  expect(await look([broken])).toMatchObject({
    status: 422,
    body: { code: "invalid_policy", errors: [{ path: "json.changes.0.entries.1.pattern" }] },
  });
  expect(await rulesOf(tokens.admin)).toEqual(["kb.read ask"]);
  expect(await versionOf(tokens.admin)).toBe(2);
});

describe("AZ24: what names nothing is refused on save, never a rule that matches nothing in silence", () => {
  test.each<[string, object, RegExp]>([
    ["a tool written otherwise", { target: tool("mail_send"), mode: "deny" }, /did you mean \\"mail\.send/],
    ["a tool nobody knows", { target: tool("mcp__x__y"), mode: "deny" }, /there is no tool/],
    ["a server nobody knows", { target: { kind: "server", name: "x" }, mode: "off" }, /there is no server/],
    ["a family nobody knows", { target: { kind: "family", name: "x" }, mode: "off" }, /there is no family/],
    [
      "a pattern nobody can parse",
      { target: tool("os.exec"), mode: "deny", entries: [{ kind: "pattern", pattern: "(" }] },
      /./,
    ],
    ["an allowlist of nothing", { target: tool("kb.read"), mode: "allowlist" }, /entries/],
    ["a mode nobody knows", { target: tool("kb.read"), mode: "sometimes" }, /mode/],
    ["a key nobody knows", { target: tool("kb.read"), mode: "ask", colour: "red" }, /colour/],
  ])("%s", async (_what, change, why) => {
    const { tokens } = await givenPeople(sql);
    const good = { target: tool("kb.read"), mode: "ask" };
    const refused = await patch(tokens.admin, [good, change]);
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toMatch(why);
    const [error] = refused.body["errors"] as { path: string }[];
    expect(error?.path).toMatch(/^json\.changes\.1/);
    expect(await rulesOf(tokens.admin)).toEqual([]);
  });
});

test("a target is changed once in a request: what is both set and taken away is refused as a whole", async () => {
  const { tokens } = await givenPeople(sql);
  const target = tool("mail.send");
  for (const modes of [
    ["deny", null],
    [null, "deny"],
    [null, null],
  ]) {
    const refused = await patch(
      tokens.admin,
      modes.map((mode) => ({ target, mode })),
    );
    expect(refused).toMatchObject({ status: 422, body: { code: "invalid_policy" } });
    expect(JSON.stringify(refused.body)).toContain("json.changes.1.target");
  }
  expect(await rulesOf(tokens.admin)).toEqual([]);
});

test("a lock is for a workspace; the installation's layer is its file's, and says so", async () => {
  const { tokens, ...world } = await givenPeople(sql);
  const locked = { target: tool("kb.read"), mode: "ask", locked: true };
  expect(await patch(tokens.admin, [locked])).toMatchObject({ status: 200 });
  expect(await patch(tokens.admin, [locked], `?scope=definition&id=${world.definitionId}`)).toMatchObject({
    status: 422,
    body: { code: "invalid_policy" },
  });
  const app = await patch(tokens.admin, [{ target: tool("kb.read"), mode: "ask" }], "?scope=app");
  expect(app).toMatchObject({ status: 403 });
  expect(app.body.detail).toContain("COUNTERSIGN_POLICY");
});

describe("a document", () => {
  const document = `{
  "rules": [
    { "target": { "kind": "tool", "name": "kb.read" }, "mode": "ask" },
    { "target": { "kind": "tool", "name": "mail.send" }, "mode": "deny" }
  ],
  "dial": { "level": "low" }
}`;

  test("that is not JSON is refused with the line where that shows", async () => {
    const { tokens } = await givenPeople(sql);
    const body = '{\n  "rules": [\n    {"mode": "ask"},\n  ]\n}\n';
    for (const isDryRun of [true, false]) {
      const refused = await send(server, tokens.admin, "PUT", `/v1/rules?dryRun=${isDryRun}`, { body });
      expect(refused).toMatchObject({ status: 400, body: { code: "malformed_json", errors: [{ line: 4 }] } });
      expect(refused.body.detail).toContain("line 4");
    }
  });

  test("is shown as a difference first, and changes nothing then", async () => {
    const { tokens } = await givenPeople(sql);
    await patch(tokens.admin, [{ target: tool("human.ask"), mode: "ask" }]);
    const before = await versionOf(tokens.admin);
    const planned = await send(server, tokens.viewer, "PUT", "/v1/rules?dryRun=true", { body: document });
    expect(planned).toMatchObject({ status: 200, body: { isDryRun: true, version: before } });
    expect(planned.body["changes"]).toEqual([
      { path: "tool:kb.read", after: { mode: "ask" } },
      { path: "tool:mail.send", after: { mode: "deny" } },
      { path: "tool:human.ask", before: { mode: "ask" } },
      { path: "dial", after: { level: "low" } },
    ]);
    expect(await versionOf(tokens.admin)).toBe(before);
  });

  test("takes the place of all that the scope says, leaves what decisions left, and the same again changes nothing", async () => {
    const { tokens, ...world } = await givenPeople(sql);
    await patch(tokens.admin, [{ target: tool("human.ask"), mode: "ask" }]);
    await givenRemembered(sql, world, "workspace", "kb.append");
    const applied = await put(tokens.admin, document, await versionOf(tokens.admin));
    expect(applied).toMatchObject({ status: 200, body: { isDryRun: false } });
    expect(await rulesOf(tokens.admin)).toEqual(["kb.read ask", "mail.send deny", "kb.append allow"]);
    const version = await versionOf(tokens.admin);
    expect(applied.body["version"]).toBe(version);
    expect(await put(tokens.admin, document, version)).toMatchObject({ status: 200, body: { changes: [], version } });
  });

  test("made on another version than there is answers 412, and without a version 428", async () => {
    const { tokens } = await givenPeople(sql);
    const version = await versionOf(tokens.admin);
    await patch(tokens.admin, [{ target: tool("human.ask"), mode: "ask" }]);
    expect(await put(tokens.admin, document, version)).toMatchObject({ status: 412, body: { code: "stale" } });
    expect(await send(server, tokens.admin, "PUT", "/v1/rules", { body: document })).toMatchObject({ status: 428 });
    expect(await rulesOf(tokens.admin)).toEqual(["human.ask ask"]);
  });

  test("AZ20: with one bad line is refused with that line, and the last good rules stay in force", async () => {
    const { tokens } = await givenPeople(sql);
    await put(tokens.admin, document, await versionOf(tokens.admin));
    const version = await versionOf(tokens.admin);
    for (const [broken, line] of [
      [document.replace("mail.send", "mail.sent"), 4],
      [document.replace('"deny"', '"never"'), 4],
      [document.replace('"dial"', '"dail"'), 6],
      [document.replace('"low"', '"everything"'), 6],
    ] as const) {
      const refused = await put(tokens.admin, broken, version);
      expect(refused).toMatchObject({ status: 422, body: { code: "invalid_policy", errors: [{ line }] } });
      expect(await rulesOf(tokens.admin)).toEqual(["kb.read ask", "mail.send deny"]);
    }
    expect(await versionOf(tokens.admin)).toBe(version);
  });
});

describe("AZ43: a rule is taken back by its id and version", () => {
  async function listed(people: People) {
    const runId = await givenRun(sql, people);
    const ids = [
      await givenRemembered(sql, people, { run: runId }, "kb.read"),
      await givenRemembered(sql, people, { run: runId }, "kb.append"),
      await givenRemembered(sql, people, { run: runId }, "mail.send"),
    ] as const;
    return { runId, ids };
  }

  test("also where somebody took another of the list meanwhile: no other goes", async () => {
    const people = await givenPeople(sql);
    const { runId, ids } = await listed(people);
    const remove = (token: string, id: string, version = 1) =>
      send(server, token, "DELETE", `/v1/rules/${id}`, { headers: { "if-match": `"${version}"` } });
    expect(await remove(people.tokens.otherApprover, ids[0])).toMatchObject({ status: 200 });
    expect(await remove(people.tokens.approver, ids[2], 7)).toMatchObject({ status: 412 });
    expect(await remove(people.tokens.approver, ids[2])).toMatchObject({
      status: 200,
      body: { rules: [{ id: ids[2], outcome: "revoked" }] },
    });
    expect(await remove(people.tokens.approver, ids[2])).toMatchObject({ body: { rules: [{ outcome: "already" }] } });
    expect(await rulesOf(people.tokens.viewer, ofRun(runId))).toEqual(["kb.append allow"]);
  });

  test("or all that decisions left in a run, at once", async () => {
    const people = await givenPeople(sql);
    const { runId } = await listed(people);
    const body = { scope: "run", id: runId, rules: "remembered", reason: "the run was opened again" };
    const revoked = await send(server, people.tokens.approver, "POST", "/v1/rules/revoke", { body });
    expect(revoked.body["rules"]).toMatchObject([
      { outcome: "revoked" },
      { outcome: "revoked" },
      { outcome: "revoked" },
    ]);
    expect(await rulesOf(people.tokens.viewer, ofRun(runId))).toEqual([]);
  });
});

describe("who may set policy", () => {
  async function givenApproverRule(approvers: object) {
    const people = await givenPeople(sql);
    await sql`
      update definition_versions set spec = (spec::jsonb || jsonb_build_object('approvers', ${JSON.stringify(approvers)}::text::jsonb))::json
       where definition_id = ${people.definitionId}`;
    return people;
  }
  const allow = [{ target: tool("mail.send"), mode: "allow" }];
  const ask = [{ target: tool("mail.send"), mode: "ask" }];

  test("whoever the definition names as approver, and nobody else of that role", async () => {
    const people = await givenApproverRule({ users: [] as string[], roles: ["operator"] });
    const runId = await givenRun(sql, people);
    expect(await patch(people.tokens.operator, allow, ofRun(runId))).toMatchObject({ status: 200 });
    expect(await patch(people.tokens.approver, allow, ofRun(runId))).toMatchObject({
      status: 403,
      body: { code: "not_an_approver" },
    });
  });

  test("one person alone cannot let run what several must approve, and can always make it ask", async () => {
    const people = await givenApproverRule({ quorum: 2 });
    const runId = await givenRun(sql, people);
    expect(await patch(people.tokens.approver, allow, ofRun(runId))).toMatchObject({ status: 403 });
    expect(await patch(people.tokens.approver, ask, ofRun(runId))).toMatchObject({ status: 200 });
    const dial = await send(server, people.tokens.approver, "PATCH", `/v1/policy/dial${ofRun(runId)}`, {
      body: { dial: { level: "high" } },
    });
    expect(dial).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
  });

  test("nor by putting a narrower, milder or shorter word in the place of what an administrator said", async () => {
    const people = await givenApproverRule({ quorum: 2 });
    const runId = await givenRun(sql, people);
    const { admin, approver } = people.tokens;
    const say = (token: string, mode: string | null, over: object = {}) =>
      patch(token, [{ target: tool("mail.send"), mode, ...over }], ofRun(runId));
    const entries = [{ kind: "unit", unit: "ann@example.com" }];
    const more = [...entries, { kind: "unit", unit: "bob@example.com" }];
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    await say(admin, "deny");
    for (const loose of [
      say(approver, "ask"),
      say(approver, "deny", { entries }),
      say(approver, "deny", { expiresAt }),
    ])
      expect(await loose).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
    await say(admin, "allowlist", { entries });
    expect(await say(approver, "ask", { entries })).toMatchObject({ status: 403 });
    expect(await say(approver, "ask")).toMatchObject({ status: 200 });
    await say(admin, "deny", { entries });
    expect(await say(approver, "deny", { entries: more })).toMatchObject({ status: 200 });
    const dial = { level: "none", expiresAt };
    const body = { body: { dial } };
    expect(await send(server, approver, "PATCH", `/v1/policy/dial${ofRun(runId)}`, body)).toMatchObject({
      status: 403,
    });
  });

  test("AZ57: an approver sets no rule that would answer for runs of their own, where these are not theirs to decide", async () => {
    const people = await givenApproverRule({ selfApproval: "forbid" });
    const ofDefinition = `?scope=definition&id=${people.definitionId}`;
    expect(await patch(people.tokens.approver, allow, ofDefinition)).toMatchObject({
      status: 403,
      body: { code: "not_an_approver" },
    });
    expect(await patch(people.tokens.approver, ask, ofDefinition)).toMatchObject({ status: 200 });
    expect(await patch(people.tokens.admin, allow, ofDefinition)).toMatchObject({ status: 200 });
  });

  test("AZ57: who started a run cannot let its calls run where that is forbidden", async () => {
    const people = await givenApproverRule({ selfApproval: "forbid" });
    const runId = await givenRun(sql, people, { startedBy: people.approver });
    expect(await patch(people.tokens.approver, allow, ofRun(runId))).toMatchObject({ status: 403 });
    expect(await patch(people.tokens.otherApprover, allow, ofRun(runId))).toMatchObject({ status: 200 });
    const start = { definition: "agent", input: "go", dial: { level: "high" } };
    expect(await send(server, people.tokens.approver, "POST", "/v1/runs", { body: start })).toMatchObject({
      status: 403,
    });
  });

  test("a token without the right to decide sets nothing", async () => {
    const people = await givenPeople(sql);
    const { workspaceId, admin: userId } = people;
    const { token } = await createToken(sql, { workspaceId, userId, label: "reads", mayDecide: false });
    for (const changes of [allow, ask])
      expect(await patch(token, changes)).toMatchObject({ status: 403, body: { code: "may_not_decide" } });
  });
});

test("a run starts with the dial and the policy it was given, and its audit says who gave them", async () => {
  const people = await givenPeople(sql);
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const body = { definition: "agent", input: "go", dial: { level: "high", expiresAt }, approvalPolicy: "none" };
  const started = await send(server, people.tokens.approver, "POST", "/v1/runs", { body });
  expect(started.status).toBe(200);
  const runId = started.body["id"] as string;
  const layer = await read(people.tokens.viewer, ofRun(runId));
  expect(layer.body).toMatchObject({
    version: 1,
    dial: { level: "high", expiresAt },
    approvalPolicy: { level: "none" },
  });
  const [audit] = await sql`select actor, details from audit where run_id = ${runId} and action = 'dial.set'`;
  expect(audit).toMatchObject({ actor: `user:${people.approver}`, details: { dial: "high", approvalPolicy: "none" } });
});

test("an operator may start a run that asks for everything, and none that asks for less", async () => {
  const people = await givenPeople(sql);
  const start = (more: object) =>
    send(server, people.tokens.operator, "POST", "/v1/runs", { body: { definition: "agent", input: "go", ...more } });
  expect(await start({ approvalPolicy: "all", dial: { level: "none" } })).toMatchObject({ status: 200 });
  for (const more of [{ approvalPolicy: "none" }, { dial: { level: "read" } }])
    expect(await start(more)).toMatchObject({ status: 403, body: { code: "not_an_approver" } });
});

test("a run that has ended takes no policy any more", async () => {
  const people = await givenPeople(sql);
  const runId = await givenRun(sql, people);
  await send(server, people.tokens.admin, "POST", `/v1/runs/${runId}/cancel`, { body: {} });
  expect(await patch(people.tokens.admin, [{ target: tool("kb.read"), mode: "ask" }], ofRun(runId))).toMatchObject({
    status: 409,
    body: { code: "run_ended" },
  });
});
