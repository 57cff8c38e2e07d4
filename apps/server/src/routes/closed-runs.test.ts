import { driveRun, makeEngine } from "@countersign/engine/testing/engine.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRun } from "@countersign/engine/testing/fixtures.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { access } from "../access.ts";
import { givenPeople, type Role, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type World = Awaited<ReturnType<typeof givenPeople>>;
type Json = Record<string, unknown>;

const toolset = [
  "kb.read",
  "kb.remove",
  "files.attach",
  "tasks.create",
  "reminders.add",
  "memory.propose",
  "human.ask",
];
const secret = "zephyr";
const title = "Salaries of the Board";

interface Given {
  readonly world: World;
  readonly runId: string;
  readonly pageId: string;
  /** Every id there is by now, of whatever table. */
  readonly ids: readonly string[];
  readonly approvalId: string;
  readonly questionTask: string;
}

let given: Given;

async function as(world: World, who: Role, method: string, path: string, body?: Json) {
  return await send(server, world.tokens[who], method, path, body === undefined ? {} : { body });
}

/** Closes `dir` to all but the administrator and the operator. */
async function close(world: World, dir: string): Promise<void> {
  for (const rule of [
    { dir, level: "none" },
    { dir, userId: world.admin, level: "write" },
    { dir, userId: world.operator, level: "write" },
  ])
    expect((await as(world, "admin", "PUT", "/v1/access-rules", rule)).status).toBe(200);
}

const nodeIn = (text: string): string => /<!--([0-9a-f-]{36})-->/.exec(text)?.[1] ?? "";

beforeAll(async () => {
  const world = await givenPeople(sql);
  const spec = { name: "agent", model: "scripted", toolset };
  await sql`update definition_versions set spec = ${JSON.stringify(spec)}::text::json where definition_id = ${world.definitionId}`;
  const made = await as(world, "admin", "POST", "/v1/pages", {
    title,
    dir: "payroll",
    okf: `- the ${secret} earns 1\n- the other ${secret}\n`,
  });
  await close(world, "payroll");
  const engine = makeEngine(sql, createCatalog(), ({ results }) => {
    if (results.length === 0) return { use: [{ tool: "kb.read", args: { page: title } }] };
    if (results.length > 1) return { say: `all about the ${secret}` };
    return {
      use: [
        { tool: "kb.remove", args: { node: nodeIn(results[0]?.content ?? "") } },
        { tool: "files.attach", args: { name: `${secret}.txt`, text: `the ${secret}` } },
        { tool: "tasks.create", args: { title: `tell the ${secret}` } },
        { tool: "reminders.add", args: { text: `remind the ${secret}`, at: "2999-01-01T00:00:00Z" } },
        { tool: "memory.propose", args: { kind: "fact", text: `the ${secret} earns 1` } },
        { tool: "human.ask", args: { question: `pay the ${secret}?`, options: [`yes, ${secret}`] } },
      ],
    };
  });
  const runId = await givenRun(sql, world, { title: "Payroll", input: '"look"' });
  await driveRun(engine, runId);
  const [ask] = await sql<{ id: string; task: string }[]>`
    select q.id, q.task_id as task from questions q where run_id = ${runId}`;
  const [approval] = await sql<{ id: string }[]>`select id from approvals where run_id = ${runId}`;
  const tables = ["runs", "tasks", "approvals", "questions", "tool_calls", "files", "reminders", "memory_proposals"];
  const found = await Promise.all(tables.map((table) => sql.unsafe<{ id: string }[]>(`select id from ${table}`)));
  const definitions = await sql<{ id: string }[]>`select id from definitions`;
  const pages = await sql<
    { id: string }[]
  >`select id from pages union select id from nodes union select id from commands`;
  given = {
    world,
    runId,
    pageId: String(made.body["pageId"]),
    ids: [...found.flat(), ...definitions, ...pages].map(({ id }) => id),
    approvalId: approval?.id ?? "",
    questionTask: ask?.task ?? "",
  };
});

/** Every address that GET serves, with every id there is in each of its places. */
function* everyAddress(): Generator<string> {
  const { ids, runId, pageId } = given;
  const calls = ids;
  for (const { route } of access) {
    const [method, path = ""] = route.split(" ");
    if (method !== "GET" || path === "/metrics" || path.endsWith("/events")) continue;
    const queries: Record<string, readonly string[]> = {
      "/v1/tasks": ["?status=open", "?status=done", "?status=canceled"],
      "/v1/search": [`?q=${secret}`, `?q=${encodeURIComponent(title)}`],
      "/v1/grep": [`?pattern=${secret}`],
      "/v1/audit": [`?run=${runId}`],
      "/v1/files": ["", `?page=${pageId}`],
      "/v1/commands": [`?page=${pageId}`, ""],
      "/v1/suggestions": ["?least=1", `?scope=run&id=${runId}&least=1`],
      "/v1/rules": ["", `?scope=run&id=${runId}`],
      "/v1/policy/tools": [`?scope=run&id=${runId}`],
      "/v1/tokens": [`?user=${given.world.viewer}`],
    };
    for (const query of queries[path] ?? [""]) {
      if (path.includes("{callId}")) {
        for (const id of calls) yield path.replace("{id}", runId).replace("{callId}", id);
      } else if (path.includes("{id}")) for (const id of ids) yield `${path.replace("{id}", id)}${query}`;
      else yield `${path}${query}`;
    }
  }
}

test("whoever may not read a directory finds nothing of it at any address of the API, whatever run has read it", async () => {
  const { world, pageId } = given;
  const heard: string[] = [];
  for (const address of everyAddress()) {
    const { body, status } = await as(world, "viewer", "GET", address);
    const told = [secret, title, "payroll", pageId].filter((part) => JSON.stringify(body).includes(part));
    // A refusal repeats the id that was asked for.
    if (told.some((part) => !address.includes(part))) heard.push(`${status} ${address} tells ${told.join(", ")}`);
  }
  expect(heard).toEqual([]);
});

test("the run's own user and whoever may read what it read see all of it", async () => {
  const { world, runId, approvalId, questionTask } = given;
  expect(await sql`select from run_reads where run_id = ${runId}`).not.toHaveLength(0);
  for (const who of ["operator", "admin"] as const) {
    for (const path of [`/v1/runs/${runId}/tree`, `/v1/approvals/${approvalId}`, `/v1/tasks/${questionTask}`]) {
      const { status, body } = await as(world, who, "GET", path);
      expect([who, path, status, JSON.stringify(body).includes(secret)]).toEqual([who, path, 200, true]);
      expect(body["isClosed"]).toBeUndefined();
    }
    const { body } = await as(world, who, "GET", "/v1/files");
    expect(JSON.stringify(body)).toContain(`${secret}.txt`);
  }
});

test("a run that has read closed pages is refused with a code of its own, which names no page and says whom to ask", async () => {
  const { world, runId } = given;
  const call = (await sql<{ id: string }[]>`select id from tool_calls where run_id = ${runId} limit 1`)[0]?.id ?? "";
  const addresses = ["", "/tree", "/log", "/saying", "/events", `/calls/${call}/result`].map(
    (tail) => `/v1/runs/${runId}${tail}`,
  );
  for (const who of ["viewer", "approver"] as const)
    for (const address of addresses) {
      const { status, body } = await as(world, who, "GET", address);
      expect([address, status, body.code]).toEqual([address, 403, "closed_run"]);
      expect(body.detail).toBe("This run has read pages that are closed to you. Ask Ada Admin, who can change access.");
    }
  const explained = await as(world, "viewer", "POST", "/v1/explain", { call });
  expect([explained.status, explained.body.code]).toEqual([403, "closed_run"]);
});

test("of a closed run the list says what its starter called it and how it stands", async () => {
  const { world, runId } = given;
  const runsOf = async (who: Role) => (await as(world, who, "GET", "/v1/runs")).body["runs"] as Json[];
  expect((await runsOf("viewer")).find(({ id }) => id === runId)).toMatchObject({
    title: "Payroll",
    status: "paused",
    isClosed: true,
  });
  expect((await runsOf("admin")).find(({ id }) => id === runId)).not.toHaveProperty("isClosed");
});

test("who may decide sees in full what will happen, and still not the run; nobody else sees the card", async () => {
  const { world, runId, approvalId } = given;
  const seen = async (who: Role) => (await as(world, who, "GET", `/v1/approvals/${approvalId}`)).body;
  expect(await seen("approver")).toMatchObject({ card: { preview: expect.stringContaining(secret) } });
  expect(await seen("approver")).not.toHaveProperty("isClosed");
  expect(await seen("viewer")).toMatchObject({ card: null, args: "{}", isClosed: true });
  const card = String((await seen("viewer"))["taskId"]);
  expect((await as(world, "approver", "GET", `/v1/tasks/${card}`)).body).toMatchObject({
    approval: { card: { preview: expect.stringContaining(secret) } },
  });
  expect((await as(world, "viewer", "GET", `/v1/tasks/${card}`)).body).toMatchObject({
    title: "(closed to you)",
    isClosed: true,
    approval: { isClosed: true },
  });
  expect((await as(world, "approver", "GET", `/v1/approvals/${approvalId}/receipt`)).status).toBe(200);
  expect((await as(world, "approver", "GET", `/v1/runs/${runId}/tree`)).body.code).toBe("closed_run");
  const { argsDigest, version } = await seen("approver");
  const said = await send(server, world.tokens.approver, "POST", `/v1/approvals/${approvalId}/decision`, {
    body: { answer: "approve", argsDigest },
    headers: { "if-match": `"${String(version)}"` },
  });
  expect(said).toMatchObject({ status: 200, body: { approval: { card: { preview: expect.any(String) } } } });
});

test("nobody answers a question that is closed to them, and nobody speaks to a run they may not read", async () => {
  const { world, runId, questionTask } = given;
  expect((await as(world, "approver", "GET", `/v1/tasks/${questionTask}`)).body).toMatchObject({
    title: "(closed to you)",
    question: { question: "(closed to you)", options: [], isClosed: true },
  });
  for (const [act, body] of [
    ["answer", { answer: "yes" }],
    ["dismiss", {}],
  ] as const) {
    const answered = await as(world, "approver", "POST", `/v1/tasks/${questionTask}/${act}`, body);
    expect([answered.status, answered.body.code]).toEqual([403, "closed_run"]);
  }
  await as(world, "admin", "PUT", "/v1/access-rules", { dir: "payroll", userId: world.operator, level: "none" });
  const { body: waiting } = await as(world, "operator", "GET", "/v1/reminders");
  const [reminder] = waiting["reminders"] as Json[];
  const canceled = await as(world, "operator", "POST", `/v1/reminders/${String(reminder?.["id"])}/cancel`);
  expect([canceled.status, canceled.body.code]).toEqual([403, "closed_run"]);
  const steered = await as(world, "operator", "POST", `/v1/runs/${runId}/steer`, { message: "tell me" });
  expect([steered.status, steered.body.code]).toEqual([403, "closed_run"]);
  await as(world, "admin", "PUT", "/v1/access-rules", { dir: "payroll", userId: world.operator, level: "write" });
});

test("a run about a closed page is closed from its first moment", async () => {
  const { world, pageId } = given;
  const started = await as(world, "operator", "POST", "/v1/runs", { definition: "agent", input: "look", page: pageId });
  expect(started.status).toBe(200);
  const path = `/v1/runs/${String(started.body["id"])}`;
  expect((await as(world, "viewer", "GET", path)).body.code).toBe("closed_run");
  expect((await as(world, "admin", "GET", path)).status).toBe(200);
  const canceled = await as(world, "operator", "POST", `${path}/cancel`);
  expect(canceled).toMatchObject({ status: 200, body: { status: "canceled" } });
});

test("a stream that is open when its run reads a closed page tells that reader nothing from there on", async () => {
  const { world } = given;
  const engine = makeEngine(sql, createCatalog(), ({ results }) =>
    results.length === 0 ? { use: [{ tool: "kb.read", args: { page: title } }] } : { say: `the ${secret}` },
  );
  const runId = await givenRun(sql, world, { title: "Streamed" });
  const told = Object.fromEntries(
    await Promise.all(
      (["viewer", "admin"] as const).map(async (who) => {
        const response = await fetch(`${server.url}/v1/runs/${runId}/events`, {
          headers: { authorization: `Bearer ${world.tokens[who]}` },
        });
        const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        while (!text.includes("event: status")) text += (await reader?.read())?.value ?? "";
        const rest = (async () => {
          for (;;) {
            const part = await reader?.read();
            if (part === undefined || part.done) return text;
            text += part.value;
          }
        })();
        return [who, { rest }] as const;
      }),
    ),
  );
  await driveRun(engine, runId);
  expect(await told["admin"]?.rest).toContain(secret);
  const text = (await told["viewer"]?.rest) ?? "";
  expect(text).toContain("event: line");
  expect(text).not.toContain(secret);
  expect(text).not.toContain("event: end");
});
