import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { steerRun } from "./commits/steer-run.ts";
import type { Message } from "./model.ts";
import { buildMessages } from "./prompt.ts";
import { readSnapshot } from "./run-snapshot.ts";
import { driveRun, makeEngine, readingTool, sendingTool } from "./testing/engine.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";

const { sql } = await testDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["look", "send", "post"] };

async function decide(world: World, runId: string, answer: "approve" | "deny", feedback?: string) {
  const [pending] = await sql`select id, version, args_hash from approvals where run_id = ${runId} and status = 'pending'`;
  return await commitWithin(sql, decideApproval, {
    runId, approvalId: pending?.id, workspaceId: world.workspaceId, userId: world.approver, answer, version: pending?.version, argsHash: pending?.args_hash,
    ...(feedback === undefined ? {} : { feedback }),
  });
}

test("three parallel calls, one free, one gated, one denied by capability, end in one message with three results in order, and a steer sent meanwhile follows them", async () => {
  const world = await makeWorld(sql, spec);
  const sent: unknown[] = [];
  const seen: (readonly Message[])[] = [];
  const engine = makeEngine(
    sql,
    [
      readingTool("look", () => ({ kind: "done", content: "seen" })),
      sendingTool("send", (args) => {
        sent.push(args);
        return { kind: "done", content: "sent" };
      }),
      sendingTool("post", () => ({ kind: "done", content: "never" }), { requires: ["post"] }),
    ],
    ({ turn, request }) => {
      seen.push(request.messages);
      return turn === 0 ? { say: "working", use: [{ tool: "look", args: {} }, { tool: "send", args: { to: "a" } }, { tool: "post", args: {} }] } : { say: "done" };
    },
  );
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(await sql`select tool, status, result_code, result from tool_calls where run_id = ${runId} order by position`).toEqual([
    { tool: "look", status: "done", result_code: null, result: '"seen"' },
    { tool: "send", status: "waiting", result_code: null, result: null },
    { tool: "post", status: "denied", result_code: "capability_denied", result: '"capability denied: post"' },
  ]);
  await commitWithin(sql, steerRun, { runId, workspaceId: world.workspaceId, steerId: "0190a000-0000-7000-8000-000000000001", authorId: world.operator, content: '"hurry"' });
  expect((await decide(world, runId, "approve")).kind).toBe("decided");
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(sent).toEqual([{ to: "a" }]);
  const last = seen.at(-1)?.at(-1)?.content.map((block) => (block.type === "tool_result" ? block.content : block.type === "text" ? block.text : block.type));
  expect(last).toEqual(["seen", "sent", "capability denied: post", "hurry"]);
  expect(buildMessages(await readSnapshot(sql, runId)).map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  const [run] = await sql`select status, output, turns from runs where id = ${runId}`;
  expect(run).toEqual({ status: "completed", output: '"done"', turns: 2 });
});

test("a denial is the call's result, with the reviewer's feedback, and the run goes on", async () => {
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [readingTool("look", () => ({ kind: "done", content: "" })), sendingTool("send", () => ({ kind: "done", content: "sent" })), sendingTool("post", () => ({ kind: "done", content: "" }))],
    ({ results }) => (results.length === 0 ? { use: [{ tool: "send", args: { to: "a" } }] } : results.length === 1 ? { use: [{ tool: "send", args: { to: "a" } }] } : { say: results.map((result) => `${result.code} ${result.content}`).join("|") }));
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  await decide(world, runId, "deny", "not to him");
  expect(await driveRun(engine, runId)).toBe("ended");
  const [run] = await sql`select output from runs where id = ${runId}`;
  expect(JSON.parse(run?.output)).toMatch(/^user_denied denied by user: not to him\|already_denied /);
});
