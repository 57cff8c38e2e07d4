import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { decidePending } from "@countersign/engine/testing/driver.ts";
import { driveRun, makeEngine } from "@countersign/engine/testing/engine.ts";
import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { scopeOf, toolRule, writeRules } from "@countersign/engine/testing/policy.ts";
import type { Scenario } from "@countersign/engine/scripted-model.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { afterAll, expect, test } from "vitest";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await testDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type People = Awaited<ReturnType<typeof givenPeople>>;

const post = (token: string, path: string, body: object) => send(server, token, "POST", path, { body });

interface Row {
  readonly row: string;
  readonly said: { readonly verdict: string; readonly reason: string } | null;
  readonly isFirst: boolean;
}

/** Every way a call can be judged at once: allowed, asked, denied, off, invalid, unknown. */
const everything: Scenario = ({ turn }) =>
  turn === 0
    ? {
        use: [
          { tool: "kb.read", args: { page: "Shelves" } },
          { tool: "mail.send", args: { to: ["ann@example.com"], subject: "x", text: "y" } },
          { tool: "kb.append", args: { page: "Shelves", text: "a line" } },
          { tool: "kb.append", args: { wrong: true } },
          { tool: "tasks.create", args: { title: "x" } },
          { tool: "constructor", args: {} },
        ],
      }
    : { say: "well" };

async function givenJudged(): Promise<{ people: People; runId: string }> {
  const people = await givenPeople(sql);
  const runId = await givenRun(sql, people);
  await writeRules(sql, people, scopeOf(people, "workspace"), toolRule("kb.append", "deny"));
  await driveRun(makeEngine(sql, createCatalog(), everything), runId);
  return { people, runId };
}

async function recordedOf(runId: string) {
  return await sql<{ id: string; tool: string; verdict: string; row: string; reason: string }[]>`
    select id, tool, verdict, gate_row as row, gate_reason as reason from tool_calls where run_id = ${runId} order by position`;
}

test("AZ26: every recorded verdict of a run is explained by the row that gave it, also after a person decided", async () => {
  const { people, runId } = await givenJudged();
  await decidePending(sql, people, runId, "deny");
  const recorded = await recordedOf(runId);
  expect(new Set(recorded.map(({ row }) => row)).size).toBeGreaterThanOrEqual(4);
  for (const { id, tool, verdict, row, reason } of recorded) {
    const { status, body } = await post(people.tokens.viewer, "/v1/explain", { call: id });
    expect({ tool, status, recorded: body["recorded"] }).toMatchObject({
      tool,
      status: 200,
      recorded: { verdict, row, reason },
    });
    expect({ tool, now: body["now"] }).toMatchObject({ tool, now: { verdict, row, reason } });
    const first = (body["rows"] as Row[]).find(({ isFirst }) => isFirst);
    expect({ tool, first }).toMatchObject({ tool, first: { row, said: { reason } } });
  }
});

test("a recorded call is explained by what policy says now, beside what it said then", async () => {
  const { people, runId } = await givenJudged();
  const mail = (await recordedOf(runId)).find(({ tool }) => tool === "mail.send");
  await writeRules(sql, people, scopeOf(people, { run: runId }), toolRule("mail.send", "off"));
  const { body } = await post(people.tokens.viewer, "/v1/explain", { call: mail?.id });
  expect(body).toMatchObject({
    recorded: { verdict: "ask", row: "19" },
    now: { verdict: "deny", row: "4", reason: "tool_off@run" },
  });
});

test("a call that nobody made is explained at a workspace, a definition and a run, and nothing is written", async () => {
  const people = await givenPeople(sql);
  const runId = await givenRun(sql, people);
  await writeRules(sql, people, scopeOf(people, { run: runId }), toolRule("mail.send", "allow"));
  const call = { tool: "mail.send", args: '{"to":["ann@example.com"],"subject":"x","text":"y"}' };
  const before = await sql`select (select count(*) from tool_calls) as calls, (select count(*) from audit) as audit`;
  for (const [scope, row] of [
    [{}, "19"],
    [{ scope: "definition", id: people.definitionId }, "19"],
    [{ scope: "run", id: runId }, "16"],
  ] as const) {
    const { status, body } = await post(people.tokens.viewer, "/v1/explain", { ...call, ...scope });
    expect({ status, now: body["now"] }).toMatchObject({ status: 200, now: { row } });
    expect((body["rows"] as Row[]).length).toBeGreaterThan(20);
  }
  expect(await sql`select (select count(*) from tool_calls) as calls, (select count(*) from audit) as audit`).toEqual(
    before,
  );
  expect(await post(people.tokens.viewer, "/v1/explain", { tool: "mail.sent" })).toMatchObject({
    status: 200,
    body: { now: { verdict: "deny", row: "3" } },
  });
});

test("another workspace's call is not found", async () => {
  const { runId } = await givenJudged();
  const [call] = await recordedOf(runId);
  const { tokens } = await givenPeople(sql);
  expect(await post(tokens.admin, "/v1/explain", { call: call?.id })).toMatchObject({ status: 404 });
});

test("other rules are tried on the calls of the last days: what would have been allowed, asked and denied", async () => {
  const { people, runId } = await givenJudged();
  const document = { rules: [{ target: { kind: "tool", name: "mail.send" }, mode: "allow" }] };
  const simulated = await post(people.tokens.viewer, "/v1/simulate", { document, days: 1 });
  expect(simulated).toMatchObject({ status: 200, body: { judged: 6, isTruncated: false } });
  const { before, after, changes } = simulated.body as unknown as {
    before: Record<string, number>;
    after: Record<string, number>;
    changes: { tool: string; runId: string; before: { verdict: string }; after: { verdict: string } }[];
  };
  expect([before["ask"], after["ask"]]).toEqual([1, 0]);
  expect(
    changes.map(({ tool, ...change }) => `${tool} ${change.before.verdict} ${change.after.verdict}`).toSorted(),
  ).toEqual(["kb.append deny allow", "mail.send ask allow"]);
  expect(changes.every((change) => change.runId === runId)).toBe(true);
  const [rules] =
    await sql`select count(*)::int as n from rules where workspace_id = ${people.workspaceId} and revoked_at is null`;
  expect(rules).toEqual({ n: 1 });
});

test("a simulated document is checked as one that is applied, and is tried on its own scope alone", async () => {
  const { people } = await givenJudged();
  const bad = { rules: [{ target: { kind: "tool", name: "mail.sent" }, mode: "allow" }] };
  expect(await post(people.tokens.viewer, "/v1/simulate", { document: bad })).toMatchObject({
    status: 422,
    body: { code: "invalid_policy" },
  });
  const text = '{\n  "rule": [],\n  "rules": []\n}\n';
  const refused = await post(people.tokens.viewer, "/v1/simulate", { document: text });
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ line: 2 }] } });
  expect(refused.body.detail).toContain("Nothing was tried");
  const idle = await givenRun(sql, people);
  const document = { rules: [{ target: { kind: "everything" }, mode: "deny" }] };
  expect(await post(people.tokens.viewer, "/v1/simulate", { scope: "run", id: idle, document })).toMatchObject({
    body: { judged: 0, changeCount: 0 },
  });
});
