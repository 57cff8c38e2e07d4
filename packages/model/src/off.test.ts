import { killScope } from "@countersign/engine/commits/kill-scope.ts";
import { killTool } from "@countersign/engine/commits/kill-tool.ts";
import { loadAppPolicy } from "@countersign/engine/load-app-policy.ts";
import { callsOf } from "@countersign/engine/testing/driver.ts";
import { driveRun, makeEngine, readingTool } from "@countersign/engine/testing/engine.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { givenRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { authorOf, scopeOf, toolRule, writeRules } from "@countersign/engine/testing/policy.ts";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { RequestBody } from "./testing/check-request.ts";
import type { Answer } from "./testing/messages-server.ts";
import { aTestModel } from "./testing/model.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "claude-test", toolset: ["kb.look", "kb.list"] };
const toolNames = ({ tools }: RequestBody): unknown => tools?.map(({ name }) => name);

/** The model calls kb.look though nobody told it of such a tool, then ends. */
const forging = ({ messages }: RequestBody): Answer =>
  messages.length === 1 ? { say: [{ use: "kb--look", args: "{}" }] } : { say: [{ text: "well" }] };

async function drive(runId: string) {
  let looked = 0;
  const { server, model } = await aTestModel(forging);
  const tools = [
    readingTool("kb.look", () => ({ kind: "done", content: `looked ${(looked += 1)}` }), { family: "kb" }),
    readingTool("kb.list", () => ({ kind: "done", content: "listed" })),
  ];
  const engine = makeEngine(sql, tools, () => ({}), { model });
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(server.rejections).toEqual([]);
  return { looked, requests: server.requests, calls: await callsOf(sql, runId) };
}

test.each(["run", "definition", "workspace"] as const)(
  "AZ27: a tool turned off for the %s is in no request to the model, and a call of it all the same is refused",
  async (layer) => {
    const world = await makeWorld(sql, spec);
    const runId = await givenRun(sql, world);
    const at = layer === "run" ? { run: runId } : layer;
    await writeRules(sql, world, scopeOf(world, at), toolRule("kb.look", "off"));
    const { looked, requests, calls } = await drive(runId);
    expect(requests.map(toolNames)).toEqual([["kb--list"], ["kb--list"]]);
    expect(calls).toMatchObject([{ tool: "kb.look", status: "denied", code: "tool_off", attempt: 0 }]);
    expect(looked).toBe(0);
  },
);

test("AZ27: neither is one that the installation's policy file turns off, by its family", async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-off-"));
  const file = join(folder, "policy.json");
  const tools = new Map([
    [
      "kb.look",
      { tool: readingTool("kb.look", () => ({ kind: "done", content: "" }), { family: "kb" }), definitionHash: "" },
    ],
  ]);
  onTestFinished(async () => {
    writeFileSync(file, "{}");
    await loadAppPolicy(sql, file, tools);
    await rm(folder, { recursive: true });
  });
  writeFileSync(file, JSON.stringify({ rules: [{ target: { kind: "family", name: "kb" }, mode: "off" }] }));
  await loadAppPolicy(sql, file, tools);
  const world = await makeWorld(sql, spec);
  const { looked, requests, calls } = await drive(await givenRun(sql, world));
  expect(requests.map(toolNames)).toEqual([["kb--list"], ["kb--list"]]);
  expect(calls).toMatchObject([{ status: "denied", code: "tool_off" }]);
  expect(looked).toBe(0);
});

test("AZ27: a denied tool is in the request, and its call is refused by the rule", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("kb.look", "deny"));
  const { looked, requests, calls } = await drive(runId);
  expect(requests.map(toolNames)).toEqual([
    ["kb--look", "kb--list"],
    ["kb--look", "kb--list"],
  ]);
  expect(calls).toMatchObject([{ status: "denied", code: "policy_denied" }]);
  expect(looked).toBe(0);
});

test("AZ69: the calls of a killed tool are refused, and another workspace's go on", async () => {
  const [killed, other] = [await makeWorld(sql, spec), await makeWorld(sql, spec)];
  const off = { kind: "tool", name: "kb.look", workspaceId: killed.workspaceId, covers: ["kb.look"] } as const;
  await killTool(sql, off, authorOf(killed), "it misbehaves");
  const first = await drive(await givenRun(sql, killed));
  expect(first.calls).toMatchObject([{ status: "denied", code: "killed" }]);
  expect(first.looked).toBe(0);
  const second = await drive(await givenRun(sql, other));
  expect(second.looked).toBe(1);
});

test("AZ69: a killed scope holds a run whatever its rules say", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("kb.look", "allow"));
  await killScope(sql, scopeOf(world, "definition"), world.admin, "stop");
  await expect(drive(runId)).rejects.toThrow("was not ready");
});
