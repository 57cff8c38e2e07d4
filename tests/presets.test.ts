import { demoDefinitions } from "@countersign/cli/local/demo.ts";
import { createScriptedModel, type Scenario } from "@countersign/engine/scripted-model.ts";
import { endEveryRun, until } from "@countersign/engine/testing/driver.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { aWorker, type TestWorker } from "@countersign/engine/testing/worker.ts";
import { defineTool, type Tool } from "@countersign/engine/tool.ts";
import { type PresetName, presetNames } from "@countersign/gate/presets.ts";
import { givenPeople, send, startTestServer } from "@countersign/server/testing/harness.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { afterAll, afterEach, expect, test } from "vitest";
import * as z from "zod";

const { sql, url } = await engineDatabase();
const ran: string[] = [];
const anything = z.looseObject({});

/** A tool that only notes that it ran. */
function standIn(name: string, facts: Partial<Pick<Tool, "tier" | "risk" | "needsApproval" | "requires">>): Tool {
  return defineTool<Record<string, unknown>>({
    ...facts,
    name,
    description: name,
    schema: anything,
    effect: "idempotent",
    execute: async (args) => {
      ran.push(callOf(name, args));
      return { kind: "done", content: "done" };
    },
  });
}

const callOf = (name: string, args: unknown): string =>
  [name, anything.parse(args)["action"]].filter(Boolean).join(" ");
const isReading = (args: unknown): boolean => /status|logs|list/.test(callOf("", args));

/** The demo's own tools as they declare themselves, and one of each name and kind that the presets speak of. */
const [demo] = demoDefinitions;
const ofDemo = ["kb.grep", "kb.read", "kb.append", "mail.send"];
const tools: readonly Tool[] = [
  ...createCatalog().flatMap(({ name, tier, risk, needsApproval, requires }) =>
    ofDemo.includes(name)
      ? standIn(name, {
          ...(tier === undefined ? {} : { tier }),
          ...(risk === undefined ? {} : { risk }),
          ...(needsApproval === undefined ? {} : { needsApproval }),
          ...(requires === undefined ? {} : { requires }),
        })
      : [],
  ),
  standIn("read_file", { tier: "read" }),
  standIn("manage_todos", { tier: "write", risk: "low" }),
  ...["write_file", "edit", "apply_patch"].map((name) => standIn(name, { tier: "write" })),
  standIn("custom", {}),
  standIn("bash", { tier: (args) => (isReading(args) ? "read" : "exec") }),
];

const bashReads = ["bash status", "bash logs", "bash list"];
const bashActs = ["bash exec", "bash start", "bash write", "bash stop"];
const reads = ["kb.grep", "kb.read", "read_file", ...bashReads];
const lowRisk = ["kb.append", "manage_todos"];
const files = ["write_file", "edit", "apply_patch"];
const writes = [...lowRisk, ...files];
/** Of no tier, which counts as one that runs programs: the demo's mail, and whatever declares nothing. */
const acts = ["mail.send", "custom", ...bashActs];
const all = [...reads, ...writes, ...acts];

/** The table of docs/authorization.md: what runs unasked. */
const unasked: Readonly<Record<PresetName, readonly string[]>> = {
  "always-ask": reads,
  write: [...reads, ...writes],
  yolo: all,
  unset: [...reads, ...lowRisk],
  "read-only": reads,
  "low-risk": [...reads, ...lowRisk],
  "high-risk": all,
  manual: [],
  safe: [...reads, ...lowRisk, "mail.send", "custom"],
  auto: all,
};

/** Calls everything once, all at the same time. */
const callEverything: Scenario = ({ turn }) =>
  turn === 0
    ? {
        use: all.map((call) => {
          const [tool = "", action] = call.split(" ");
          return { tool, args: action === undefined ? {} : { action } };
        }),
      }
    : { say: "all done" };

const server = await startTestServer(url, { tools });
afterAll(() => server.stop());

let worker: TestWorker | undefined;
afterEach(async () => {
  await worker?.stop();
  await endEveryRun(sql);
});

interface Waiting {
  readonly id: string;
  readonly tool: string;
  readonly args: string;
  readonly version: number;
  readonly args_hash: string;
}

async function waitingOf(runId: string): Promise<readonly Waiting[]> {
  return await sql<Waiting[]>`
    select a.id, c.tool, c.args, a.version, a.args_hash from approvals a join tool_calls c on c.id = a.call_id
     where a.run_id = ${runId} and a.status = 'pending'`;
}

test.each(presetNames)("%s: the demo's definition does under it what its line of the table says", async (preset) => {
  const people = await givenPeople(sql);
  const toolset = tools.map(({ name }) => name);
  const spec = { ...demo, toolset };
  const made = await send(server, people.tokens.admin, "POST", "/v1/definitions", { body: { spec } });
  expect(made).toMatchObject({ status: 200 });
  ran.length = 0;
  const model = createScriptedModel({ [spec.name ?? ""]: callEverything });
  worker = aWorker(url, tools, callEverything, { over: { model } });
  const started = await send(server, people.tokens.approver, "POST", "/v1/runs", {
    body: { definition: spec.name, input: "go", preset },
  });
  expect(started).toMatchObject({ status: 200 });
  const runId = String(started.body["id"]);

  const asks = all.filter((call) => !unasked[preset].includes(call));
  const stateOf = async () => (await sql`select status, waits_on from runs where id = ${runId}`)[0];
  const stands = asks.length === 0 ? { status: "completed" } : { status: "paused", waits_on: "approval" };
  await until(async () => {
    const state = await stateOf();
    return state?.["status"] === stands.status && ran.length + (await waitingOf(runId)).length === all.length;
  });
  expect(await stateOf()).toMatchObject(stands);
  expect(ran.toSorted()).toEqual([...unasked[preset]].toSorted());
  const waiting = await waitingOf(runId);
  expect(waiting.map(({ tool, args }) => callOf(tool, JSON.parse(args))).toSorted()).toEqual(asks.toSorted());

  // What asks is a question and no refusal: with an approval it runs as well.
  for (const { id, version, args_hash: argsDigest } of waiting) {
    const decided = await send(server, people.tokens.approver, "POST", `/v1/approvals/${id}/decision`, {
      body: { answer: "approve", argsDigest },
      headers: { "if-match": `"${version}"` },
    });
    expect(decided).toMatchObject({ status: 200 });
  }
  await until(async () => (await stateOf())?.["status"] === "completed", 30_000);
  expect(ran.toSorted()).toEqual(all.toSorted());
});

test("turned live, a preset lets run what waits, and what comes after it", async () => {
  const people = await givenPeople(sql);
  const spec = { ...demo, toolset: ["write_file"] };
  await send(server, people.tokens.admin, "POST", "/v1/definitions", { body: { spec } });
  ran.length = 0;
  const model = createScriptedModel({
    [spec.name ?? ""]: ({ turn }) => (turn < 2 ? { use: [{ tool: "write_file", args: { turn } }] } : { say: "done" }),
  });
  worker = aWorker(url, tools, callEverything, { over: { model } });
  const { body } = await send(server, people.tokens.approver, "POST", "/v1/runs", {
    body: { definition: spec.name, input: "go", preset: "manual" },
  });
  const runId = String(body["id"]);
  await until(async () => (await waitingOf(runId)).length === 1);
  const path = `/v1/policy/preset?scope=run&id=${runId}`;
  await send(server, people.tokens.approver, "PUT", path, { body: { preset: "write" } });
  await until(async () => (await sql`select from runs where id = ${runId} and status = 'completed'`).length === 1);
  expect(ran).toEqual(["write_file", "write_file"]);
});
