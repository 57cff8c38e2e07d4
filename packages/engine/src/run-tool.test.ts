import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { CapabilityRefused } from "./engine.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, crashAt, decidePending, outcomeOf, stopPoint } from "./testing/driver.ts";
import { driveOut, driveRun, makeEngine, readingTool, sendingTool, takeRun } from "./testing/engine.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import type { OutsideContext, ToolResult } from "./tool.ts";

const { sql } = await testDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act", "look"] };
const done = (content: string): ToolResult => ({ kind: "done", content });

const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: {} }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

async function runOnce(tool: Parameters<typeof makeEngine>[1][number], over: Parameters<typeof makeEngine>[3] = {}) {
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [tool], actOnce, over);
  const runId = await givenRun(sql, world);
  const step = await driveRun(engine, runId);
  return { world, engine, runId, step, outcome: await outcomeOf(sql, runId) };
}

/** Waits until it is aborted, then answers or throws as told. */
const untilAborted =
  (then: () => ToolResult) =>
  async (_args: unknown, { signal }: OutsideContext) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return then();
  };

const fails = (): ToolResult => {
  throw new Error("aborted");
};

test.each(["read-only", "idempotent"] as const)(
  "a %s tool that runs out of time gives code timeout, and the run goes on",
  async (effect) => {
    const tool = readingTool("act", () => done(""), { effect, timeoutMs: 20, execute: untilAborted(fails) });
    const { outcome } = await runOnce(tool);
    expect(outcome).toBe("completed: timeout act did not answer within 0.02 s and was stopped");
  },
);

test("a tool whose effect can happen only once and that runs out of time is unknown, and a person is asked", async () => {
  for (const then of [fails, (): ToolResult => ({ kind: "failed", content: "stopped" })]) {
    const tool = readingTool("act", () => done(""), { effect: "once", timeoutMs: 20, execute: untilAborted(then) });
    const { runId, step, outcome } = await runOnce(tool);
    expect([step, outcome]).toEqual(["parked", "paused: outcome"]);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", result: expect.stringContaining("0.02 s") }]);
  }
});

test("a tool that knows what it did when it is stopped is believed", async () => {
  const tool = readingTool("act", () => done(""), {
    effect: "once",
    timeoutMs: 20,
    execute: untilAborted(() => done("sent before the end")),
  });
  expect((await runOnce(tool)).outcome).toBe("completed: ok sent before the end");
});

test("a tool that ignores its abort is left behind after a grace time", async () => {
  const tool = readingTool("act", () => new Promise(() => {}), { timeoutMs: 20 });
  const began = performance.now();
  expect((await runOnce(tool)).outcome).toMatch(/^completed: timeout /);
  expect(performance.now() - began).toBeLessThan(6_000);
});

test("a long-running tool has no limit", async () => {
  const tool = readingTool("act", () => new Promise((resolve) => setTimeout(() => resolve(done("at last")), 60)), {
    timeoutMs: 5,
    longRunning: true,
  });
  expect((await runOnce(tool)).outcome).toBe("completed: ok at last");
});

test.each([
  ["read-only", "completed: error the tool failed with an error of its own"],
  ["idempotent", "completed: error the tool failed with an error of its own"],
  ["once", "paused: outcome"],
])(
  "a %s tool that throws does not show its error's text to the model, but to the operator",
  async (effect, expected) => {
    const error = new Error("GET https://user:secret@host failed");
    const tool = readingTool("act", () => Promise.reject(error), { effect });
    const { engine, runId, outcome } = await runOnce(tool);
    expect(outcome).toBe(expected);
    expect(engine.events).toMatchObject([{ kind: "tool.failed", runId, tool: "act", error }]);
    const stored = await sql`select result from tool_calls where run_id = ${runId}`;
    expect(JSON.stringify(stored)).not.toContain("secret");
  },
);

test("a tool opens the credential it required, and no other", async () => {
  const asked: object[] = [];
  const over = {
    openCapability: async (request: object) => {
      asked.push(request);
      return { use: <T>(body: (secret: string) => Promise<T>) => body("s3cret") };
    },
  };
  const world = await makeWorld(sql, spec);
  const tool = sendingTool("act", () => done(""), {
    execute: async (_args: unknown, { acquire }: OutsideContext) => {
      const length = await (await acquire("mail.send")).use(async (secret) => secret.length);
      const refused = await acquire("shell").then(
        () => "opened",
        (error: Error) => error.message,
      );
      return done(`${length} ${refused}`);
    },
  });
  const engine = makeEngine(sql, [tool], actOnce, over);
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  await decidePending(sql, world, runId, "approve");
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok 6 act does not require shell");
  const [call] = await sql<{ id: string }[]>`select id from tool_calls where run_id = ${runId}`;
  expect(asked).toEqual([
    {
      workspaceId: world.workspaceId,
      runId,
      callId: call?.id,
      capability: "mail.send",
      renew: expect.any(Function) as unknown,
    },
  ]);
});

test("a credential that cannot be had is a failed result in words, even for a tool whose effect can happen only once", async () => {
  const tool = readingTool("act", () => Promise.reject(new CapabilityRefused("no secret is stored for mail.send")), {
    effect: "once",
  });
  expect((await runOnce(tool)).outcome).toBe("completed: error no secret is stored for mail.send");
});

test("a tool reads the database in a transaction that cannot write", async () => {
  const tool = readingTool("act", () => done(""), {
    execute: async (_args: unknown, { read, workspaceId }: OutsideContext) => {
      const [row] = await read((tx) => tx`select name from workspaces where id = ${workspaceId}`);
      const refused = await read((tx) => tx`update workspaces set name = 'mine'`).then(
        () => "wrote",
        (error: Error) => error.message,
      );
      return done(`${row?.["name"]}; ${refused}`);
    },
  });
  expect((await runOnce(tool)).outcome).toBe("completed: ok test; cannot execute UPDATE in a read-only transaction");
});

test("at most ten calls of a run are under way at once, and all of them run", async () => {
  let now = 0;
  let most = 0;
  const tool = readingTool("act", async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setTimeout(resolve, 5));
    now -= 1;
    return done("seen");
  });
  const world = await makeWorld(sql, spec);
  const scenario: Scenario = ({ results }) =>
    results.length === 0
      ? { use: Array.from({ length: 25 }, () => ({ tool: "act", args: {} })) }
      : { say: `${results.filter(({ isError }) => !isError).length} done` };
  const runId = await givenRun(sql, world);
  expect(await driveRun(makeEngine(sql, [tool], scenario), runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toBe("completed: 25 done");
  expect(most).toBe(10);
});

test.each(["once", "idempotent"] as const)(
  "after a crash a %s tool with verify() asks the outside world first",
  async (effect) => {
    for (const [found, outcome, executions] of [
      [done("it was sent"), "completed: ok it was sent", 1],
      [{ kind: "absent" }, "completed: ok attempt 2", 2],
      [{ kind: "unknown", content: "the server is down" }, "paused: outcome", 1],
      [{ kind: "failed", content: "it bounced" }, "completed: error it bounced", 1],
    ] as const) {
      const middle = stopPoint<ToolResult>();
      const keys: string[] = [];
      const asked: string[] = [];
      const tool = readingTool("act", () => done(""), {
        effect,
        execute: async (_args: unknown, { idempotencyKey }: OutsideContext) => {
          keys.push(idempotencyKey);
          return keys.length === 1 ? await middle.stay() : done(`attempt ${keys.length}`);
        },
        verify: async (_args: unknown, { idempotencyKey }: OutsideContext) => {
          asked.push(idempotencyKey);
          return found;
        },
      });
      const world = await makeWorld(sql, spec);
      const engine = makeEngine(sql, [tool], actOnce);
      const runId = await givenRun(sql, world);
      await crashAt(engine, await takeRun(engine, runId), middle.reached);
      await driveRun(engine, runId);
      expect(await outcomeOf(sql, runId)).toBe(outcome);
      expect(keys).toHaveLength(executions);
      expect(new Set([...keys, ...asked]).size).toBe(1);
    }
  },
);

test("verify() is not asked on a first attempt, nor where the claim began it", async () => {
  let asked = 0;
  const tool = sendingTool("act", () => done("sent"), {
    verify: async () => {
      asked += 1;
      return { kind: "absent" };
    },
  });
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [tool], actOnce);
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  await decidePending(sql, world, runId, "approve");
  await driveRun(engine, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok sent");
  expect(asked).toBe(0);
});

test("a run that is taken away aborts its tools: what can be repeated is left for the next worker, what cannot is unknown", async () => {
  for (const [effect, status] of [
    ["read-only", "requested"],
    ["idempotent", "executing"],
    ["once", "unknown"],
  ] as const) {
    const started = stopPoint();
    const tool = readingTool("act", () => done(""), {
      effect,
      execute: async (args: unknown, context: OutsideContext) => {
        void started.stay();
        return await untilAborted(fails)(args, context);
      },
    });
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], actOnce);
    const runId = await givenRun(sql, world);
    const held = await takeRun(engine, runId);
    const driving = driveOut(engine, held);
    await started.reached;
    held.isLeaving = true;
    held.abort.abort();
    expect(await driving).toBe(effect === "once" ? "parked" : "given_back");
    expect(await callsOf(sql, runId)).toMatchObject([{ status }]);
    const [run] = await sql`select lease_id, epoch from runs where id = ${runId}`;
    expect(run).toEqual({ lease_id: null, epoch: held.hold.epoch });
  }
});
