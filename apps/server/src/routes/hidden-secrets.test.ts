import { driveRun, makeEngine } from "@countersign/engine/testing/engine.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { afterAll, expect, test } from "vitest";
import { access } from "../access.ts";
import { givenPeople, type Role, send, startTestServer } from "../testing/harness.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

type Json = Record<string, unknown>;
type World = Awaited<ReturnType<typeof givenPeople>>;

/** Put together here, so that no text of this file has the shape of a real token. */
const token = ["Bearer ey", "Jhbciiiii", ".", "eyJzdWIiOiIx", ".", "c2lnbmF0dXJl"].join("");
const link = "https://ann:hunter2secret@example.com/x";
const secret = `${token} and ${link}`;

async function as(world: World, who: Role, method: string, path: string, body?: Json) {
  return await send(server, world.tokens[who], method, path, body === undefined ? {} : { body });
}

/** A run whose people and model speak of secrets wherever they can, and which waits for the answer to its question. */
async function givenAsking(over: { readonly options: readonly string[] }) {
  const world = await givenPeople(sql);
  const spec = { name: "agent", model: "scripted", toolset: ["human.ask", "tasks.create", "mail.send"] };
  await sql`update definition_versions set spec = ${JSON.stringify(spec)}::text::json where definition_id = ${world.definitionId}`;
  const started = await as(world, "admin", "POST", "/v1/runs", {
    definition: "agent",
    input: `${"x".repeat(40)} ${secret}`,
  });
  const runId = String(started.body["id"]);
  const steer = async (message: string) => await as(world, "admin", "POST", `/v1/runs/${runId}/steer`, { message });
  await steer(`now ${secret}`);
  const results: string[] = [];
  const engine = makeEngine(sql, createCatalog(), ({ results: given }) => {
    results.push(...given.slice(results.length).map(({ content }) => content));
    if (given.length > 1) return { say: `done with ${secret}` };
    if (given.length === 1) return { use: [{ tool: "tasks.create", args: { title: `task ${link}` } }] };
    const question = `${"y".repeat(185)} ${secret}`;
    return { use: [{ tool: "human.ask", args: { question, context: secret, ...over } }] };
  });
  await driveRun(engine, runId);
  const [task] = (await as(world, "operator", "GET", "/v1/tasks")).body["tasks"] as { id: string }[];
  return { world, runId, taskId: task?.id ?? "", steer, results, drive: async () => await driveRun(engine, runId) };
}

/** Every address that GET serves about runs and what they ask, with each id there is in each of its places. */
async function* everyAddress(): AsyncGenerator<string> {
  const tables = ["runs", "tasks", "approvals", "questions", "tool_calls"];
  const found = await Promise.all(tables.map((table) => sql.unsafe<{ id: string }[]>(`select id from ${table}`)));
  for (const { route } of access) {
    const [method, path = ""] = route.split(" ");
    if (method !== "GET" || !/^\/v1\/(?:runs|tasks|approvals)/.test(path) || /events$|result$/.test(path)) continue;
    const statuses = path === "/v1/tasks" || path === "/v1/approvals" ? ["open", "pending", "done", "decided"] : [];
    yield* statuses.map((status) => `${path}?status=${status}`);
    if (path.includes("{id}")) yield* found.flat().map(({ id }) => path.replace("{id}", id));
    else yield path;
  }
}

test("AZ62: what looks like a secret is hidden wherever a run and what it asks are shown", async () => {
  const { world, runId, taskId, steer, drive } = await givenAsking({ options: [`yes, ${token}`] });
  const shown: string[] = [];
  const look = async () => {
    for await (const address of everyAddress()) {
      const text = JSON.stringify((await as(world, "admin", "GET", address)).body);
      if (/eyJhbciiiii|hunter2/.test(text)) shown.push(`${address} ${text}`);
    }
  };
  await look();
  expect((await as(world, "admin", "POST", `/v1/tasks/${taskId}/answer`, { answer: `take ${secret}` })).status).toBe(
    200,
  );
  await steer(`then ${secret}`);
  await look();
  await drive();
  await look();
  expect(shown).toEqual([]);
  const { body } = await as(world, "admin", "GET", `/v1/runs/${runId}`);
  expect(body["title"]).toContain("[redacted");
  expect(JSON.stringify(body["output"])).toContain("[redacted");
});

test("an option in which a secret is hidden is answered by what is shown of it, and the run is told it as it stands", async () => {
  const { world, taskId, drive, results } = await givenAsking({ options: [`yes, ${token}`, "no"] });
  const question = (await as(world, "operator", "GET", `/v1/tasks/${taskId}`)).body["question"] as Json;
  const [option] = question["options"] as string[];
  expect(option).toBe("yes, Bearer [redacted token]");
  for (const _ of [1, 2])
    expect((await as(world, "operator", "POST", `/v1/tasks/${taskId}/answer`, { answer: option })).status).toBe(200);
  await drive();
  expect(results[0]).toContain(`yes, ${token}`);
});

test("an answer that two options are shown as is refused", async () => {
  const options = ["https://a:b@x.example", "https://c:d@x.example"];
  const { world, taskId } = await givenAsking({ options });
  const answer = "https://[redacted login]@x.example";
  const refused = await as(world, "operator", "POST", `/v1/tasks/${taskId}/answer`, { answer });
  expect(refused).toMatchObject({ status: 422, body: { code: "invalid_request" } });
  expect((await as(world, "operator", "POST", `/v1/tasks/${taskId}/answer`, { answer: options[1] })).status).toBe(200);
});
