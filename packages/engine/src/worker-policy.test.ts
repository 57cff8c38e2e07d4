import { afterEach, expect, test } from "vitest";
import type { ModelRequest } from "./model.ts";
import { endEveryRun, outcomeOf, until } from "./testing/driver.ts";
import { readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { runRow } from "./testing/rows.ts";
import { scopeOf, toolRule, writeRules } from "./testing/policy.ts";
import { aWorker, type TestWorker } from "./testing/worker.ts";

const { url, sql } = await engineDatabase();

let worker: TestWorker | undefined;
afterEach(async () => {
  await worker?.stop();
  await endEveryRun(sql);
});

test("a run that a worker holds goes by a changed policy from its next turn on, without being let go of", async () => {
  const world = await makeWorld(sql, {
    name: "agent",
    model: "scripted",
    toolset: ["look", "list"],
    limits: { turns: 100_000, toolCalls: 100_000 },
  });
  const look = readingTool("look", () => ({ kind: "done", content: "seen" }));
  const list = readingTool("list", () => ({ kind: "done", content: "listed" }));
  let turns = 0;
  // Looks for as long as it is told of the tool, which is for ever unless the run is read anew.
  const model = async ({ tools }: ModelRequest) => {
    turns += 1;
    const isOffered = tools.some(({ name }) => name === "look");
    const usage = { inputTokens: 1, outputTokens: 1, costMicros: 0 };
    return isOffered
      ? {
          content: [{ type: "tool_use" as const, id: `toolu_${turns}`, name: "look", argsText: "{}" }],
          stopReason: "tool_use" as const,
          usage,
        }
      : { content: [{ type: "text" as const, text: "it is gone" }], stopReason: "end_turn" as const, usage };
  };
  const runId = await givenRun(sql, world);
  worker = aWorker(url, [look, list], () => ({}), { over: { model } });
  await until(() => turns > 2);
  const { epoch } = await runRow(sql, runId);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("look", "off"));
  await until(async () => (await runRow(sql, runId)).status === "completed");
  expect(await outcomeOf(sql, runId)).toBe("completed: it is gone");
  expect((await runRow(sql, runId)).epoch).toBe(epoch);
});

test("an approval that waits for a tool that is turned off is settled by a sweep, and its run goes on", async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act"] });
  const runId = await givenRun(sql, world);
  const act = sendingTool("act", () => ({ kind: "done", content: "sent" }));
  worker = aWorker(url, [act], ({ results }) =>
    results.length === 0
      ? { use: [{ tool: "act", args: {} }] }
      : { say: results.map(({ code }) => code ?? "ok").join(" ") },
  );
  await until(async () => (await runRow(sql, runId)).waits_on === "approval");
  const [change] = await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("act", "off"));
  expect(change?.waiting).toBe(1);
  await until(async () => (await runRow(sql, runId)).status === "completed");
  expect(await outcomeOf(sql, runId)).toBe("completed: tool_off");
  const settled = await sql`select status, settled_reason as reason from approvals where run_id = ${runId}`;
  expect(settled).toEqual([{ status: "superseded", reason: "tool_off@workspace" }]);
});
