import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { readingTool, sendingTool } from "@countersign/engine/testing/engine.ts";
import { scopeOf, toolRule, writeRules } from "@countersign/engine/testing/policy.ts";
import { presetNames, presetOf } from "@countersign/gate/presets.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { afterAll, expect, test } from "vitest";
import type { Layer } from "../shapes/rules.ts";
import { givenPeople, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const done = () => ({ kind: "done", content: "done" }) as const;
const asked = ["apply_patch", "write_file", "edit", "bash"];
const tools = [...createCatalog(), readingTool("look", done), ...asked.map((name) => sendingTool(name, done))];
const server = await startTestServer(url, { tools });
const plain = await startTestServer(url);
afterAll(() => Promise.all([server.stop(), plain.stop()]));

type People = Awaited<ReturnType<typeof givenPeople>>;

const query = (scope: string, id: string) => `?scope=${scope}&id=${id}`;

async function set(people: People, preset: string, where = "", headers = {}) {
  const token = people.tokens.admin;
  return await send(server, token, "PUT", `/v1/policy/preset${where}`, { body: { preset }, headers });
}

async function layerOf(people: People, where = ""): Promise<Layer> {
  return (await send(server, people.tokens.viewer, "GET", `/v1/rules${where}`)).body as unknown as Layer;
}

const written = ({ rules }: Layer) =>
  rules.map(({ target, mode }) => `${"name" in target ? target.name : ""} ${mode}`).toSorted();

test.each(presetNames)(
  "%s: a run, a definition and a workspace are set to it, and say that they are",
  async (preset) => {
    const people = await givenPeople(sql);
    const runId = await givenRun(sql, people);
    const { dial, rules = [] } = presetOf(preset);
    const places = ["", query("definition", people.definitionId), query("run", runId)];
    for (const where of places) {
      expect((await layerOf(people, where)).presets).toEqual([]);
      expect(await set(people, preset, where)).toMatchObject({ status: 200 });
      const layer = await layerOf(people, where);
      expect(layer).toMatchObject({ dial: { level: dial?.level }, approvalPolicy: { level: "none" } });
      expect(layer.presets).toContain(preset);
      expect(layer.rules).toHaveLength(rules.length);
      expect(await set(people, preset, where)).toMatchObject({ body: { changes: [], version: layer.version } });
    }
  },
);

test("what a preset left goes with it; what somebody wrote stays, and is never loosened", async () => {
  const people = await givenPeople(sql);
  await writeRules(sql, people, scopeOf(people, "workspace"), toolRule("look", "ask"), toolRule("edit", "deny"));
  const locked = { level: "none", locked: true };
  await send(server, people.tokens.admin, "PATCH", "/v1/policy/dial", { body: { dial: locked } });
  await set(people, "safe");
  const safe = await layerOf(people);
  expect(written(safe)).toEqual(["apply_patch ask", "bash ask", "edit deny", "look ask", "write_file ask"]);
  expect(safe).toMatchObject({ presets: ["safe"], dial: { level: "high", locked: true } });
  await set(people, "read-only");
  const after = await layerOf(people);
  expect(written(after)).toEqual(["edit deny", "look ask"]);
  expect(after.presets).toEqual(["read-only"]);
});

test("a setting of one's own is no preset, nor is one whose dial has expired", async () => {
  const people = await givenPeople(sql);
  await set(people, "safe");
  await writeRules(sql, people, scopeOf(people, "workspace"), toolRule("edit", "allow"));
  expect((await layerOf(people)).presets).toEqual(["yolo", "high-risk", "auto"]);
  await send(server, people.tokens.admin, "PATCH", "/v1/policy/dial", { body: { approvalPolicy: { level: "all" } } });
  expect((await layerOf(people)).presets).toEqual([]);
  await set(people, "write");
  await sql`update policies set dial_expires_at = now() - interval '1 s' where scope_id = ${people.workspaceId}`;
  expect((await layerOf(people)).presets).toEqual([]);
});

test("one version that is not as it was seen, or one tool that is not here, and nothing is set", async () => {
  const people = await givenPeople(sql);
  await set(people, "manual");
  const before = await layerOf(people);
  const stale = await set(people, "safe", "", { "if-match": `"${before.version - 1}"` });
  expect(stale).toMatchObject({ status: 412, body: { code: "stale" } });
  const put = { body: { preset: "safe" } };
  const refused = await send(plain, people.tokens.admin, "PUT", "/v1/policy/preset", put);
  expect(refused).toMatchObject({ status: 422, body: { code: "invalid_policy" } });
  for (const name of asked) expect(refused.body.detail).toContain(name);
  const body = { definition: "agent", input: "go", preset: "safe" };
  expect(await send(plain, people.tokens.admin, "POST", "/v1/runs", { body })).toMatchObject({ status: 422 });
  expect(await layerOf(people)).toEqual(before);
  expect((await sql`select from runs where workspace_id = ${people.workspaceId}`).length).toBe(0);
});

test("a preset that is turned live says how many approvals are judged again", async () => {
  const people = await givenPeople(sql);
  const { runId } = await givenGatedRun(sql, people);
  expect(await set(people, "yolo", query("run", runId))).toMatchObject({ status: 200, body: { waiting: 1 } });
});

test("a run starts with its preset, rules included, once for a key, and only by who may approve its calls", async () => {
  const people = await givenPeople(sql);
  const start = (preset: string, over: { token?: string; body?: object; headers?: Record<string, string> } = {}) =>
    send(server, over.token ?? people.tokens.approver, "POST", "/v1/runs", {
      body: { definition: "agent", input: "go", preset, ...over.body },
      ...(over.headers === undefined ? {} : { headers: over.headers }),
    });
  const rings = server.rings();
  for (const [n, how] of [{}, { headers: { "idempotency-key": "k" } }, { body: { key: "b" } }].entries()) {
    const started = await start("safe", how);
    expect(started).toMatchObject({ status: 200 });
    expect(server.rings()).toBe(rings + n + 1);
    const where = query("run", String(started.body["id"]));
    const layer = await layerOf(people, where);
    expect(layer).toMatchObject({ presets: ["safe"] });
    expect(written(layer)).toEqual(["apply_patch ask", "bash ask", "edit ask", "write_file ask"]);
    if (n > 0) {
      expect((await start("safe", how)).body["id"]).toBe(started.body["id"]);
      expect(await start("yolo", how)).toMatchObject({ status: 422, body: { code: "key_reused" } });
    }
  }
  for (const body of [{ dial: { level: "low" } }, { approvalPolicy: "all" }])
    expect(await start("yolo", { body })).toMatchObject({ status: 422, body: { code: "invalid_request" } });
  expect(await start("unset", { token: people.tokens.operator })).toMatchObject({ status: 403 });
  expect(await start("manual", { token: people.tokens.operator })).toMatchObject({ status: 200 });
});
