import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { advance } from "@countersign/engine/advance.ts";
import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { callsOf, crashAt, decidePending, outcomeOf } from "@countersign/engine/testing/driver.ts";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { driveRun, makeEngine, takeRun, type TestEngine } from "@countersign/engine/testing/engine.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { afterAll, expect, test } from "vitest";
import { osExec } from "./os-exec.ts";
import { runsWith, until } from "./testing/processes.ts";

const { sql } = await engineDatabase();
const folder = mkdtempSync(join(tmpdir(), "countersign-exec-run-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tool = osExec({ user: "same", environment: { PATH: process.env["PATH"] } });
const spec = { name: "agent", model: "scripted", toolset: ["os.exec"], approvalPolicy: "none", dial: "high" };

/** A run whose agent asks for one command; everything is allowed that can be. */
async function givenCommand(command: string): Promise<{ engine: TestEngine; world: World; runId: string }> {
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [tool], ({ results }) =>
    results.length === 0
      ? { use: [{ tool: "os.exec", args: { command } }] }
      : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  return { engine, world, runId };
}

let counter = 0;
function longCommand(): { command: string; log: string; isRunning: () => boolean } {
  counter += 1;
  const log = join(folder, `log-${counter}`);
  const it = `87${process.pid}.${counter}`;
  return { command: `echo ran >> ${log}; sleep ${it}`, log, isRunning: () => runsWith(`sleep\0${it}`).length > 0 };
}

test("a command waits for a person under the loosest policy there is, and runs once it is approved", async () => {
  const { engine, world, runId } = await givenCommand("echo hello");
  expect(await outcomeOf(sql, runId)).toBe("paused: approval");
  await decidePending(sql, world, runId, "approve");
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok exit code 0\nhello\n");
});

test("a crash during the command makes its outcome unknown, and it is not run again", async () => {
  const { command, log, isRunning } = longCommand();
  const { engine, world, runId } = await givenCommand(command);
  await decidePending(sql, world, runId, "approve");
  const held = await takeRun(engine, runId);
  await crashAt(engine, held, until(isRunning));
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", attempt: 1 }]);
  expect(readFileSync(log, "utf8")).toBe("ran\n");
  await decidePending(sql, world, runId, "give_up");
  await driveRun(engine, runId);
  expect(readFileSync(log, "utf8")).toBe("ran\n");
  held.abort.abort();
  await until(() => !isRunning());
});

test("a worker that loses the run ends the command, and leaves the outcome to a person", async () => {
  const { command, isRunning } = longCommand();
  const { engine, world, runId } = await givenCommand(command);
  await decidePending(sql, world, runId, "approve");
  const held = await takeRun(engine, runId);
  const driving = (async () => {
    while ((await advance(engine, held)) === "go_on");
  })();
  await until(isRunning);
  held.abort.abort();
  await driving;
  expect(isRunning()).toBe(false);
  expect(await callsOf(sql, runId)).toMatchObject([
    { status: "unknown", result: expect.stringContaining("stopped in the middle") },
  ]);
});

test("a command that was denied, or whose run was canceled before it, is never run", async () => {
  const denied = longCommand();
  const first = await givenCommand(denied.command);
  await decidePending(sql, first.world, first.runId, "deny");
  await driveRun(first.engine, first.runId);
  const canceled = longCommand();
  const second = await givenCommand(canceled.command);
  await commitWithin(sql, cancelRun, {
    runId: second.runId,
    workspaceId: second.world.workspaceId,
    userId: second.world.operator,
    reason: "not needed",
  });
  expect([existsSync(denied.log), existsSync(canceled.log)]).toEqual([false, false]);
});
