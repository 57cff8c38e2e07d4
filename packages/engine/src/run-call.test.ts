import { hashArguments } from "@countersign/gate/canonical.ts";
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { advance } from "./advance.ts";
import { cancelRun } from "./commits/cancel-run.ts";
import { killScope } from "./commits/kill-scope.ts";
import { recoverRuns } from "./commits/recover-runs.ts";
import { commitWithin } from "./commit.ts";
import type { Scenario } from "./scripted-model.ts";
import { bumpPolicy, callsOf, crashAt, decidePending, outcomeOf, stopPoint, until } from "./testing/driver.ts";
import {
  driveOut,
  driveRun,
  makeEngine,
  readingTool,
  sendingTool,
  takeRun,
  type TestEngine,
} from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { scopeOf } from "./testing/policy.ts";
import { countRows, runRow } from "./testing/rows.ts";
import { aWorker } from "./testing/worker.ts";
import { defineTool, type Tool, type ToolResult } from "./tool.ts";

const { sql, url } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act", "look"] };
const anything = z.looseObject({});
const done = (content: string): ToolResult => ({ kind: "done", content });

/** Asks for `act` once and says what came of it. */
const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: { to: "ann" } }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

/** A tool that stops in the middle of its first attempt, before or after its effect, and does not in later ones. */
function crashingTool(effect: "read-only" | "idempotent" | "once", over: object = {}) {
  const middle = stopPoint<ToolResult>();
  const keys: string[] = [];
  const tool = readingTool("act", () => done(""), {
    effect,
    execute: async (_args: unknown, context: { idempotencyKey: string }) => {
      keys.push(context.idempotencyKey);
      return keys.length === 1 ? await middle.stay() : done(`attempt ${keys.length}`);
    },
    ...over,
  });
  return { tool, middle, keys };
}

async function givenCrash(
  tool: Tool,
  middle: { reached: Promise<void> },
): Promise<{ world: World; engine: TestEngine; runId: string }> {
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [tool], actOnce);
  const runId = await givenRun(sql, world);
  await crashAt(engine, await takeRun(engine, runId), middle.reached);
  return { world, engine, runId };
}

describe("after a crash in the middle of a call", () => {
  test("a reading tool is run again", async () => {
    const { tool, middle, keys } = crashingTool("read-only");
    const { engine, runId } = await givenCrash(tool, middle);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe("completed: ok attempt 2");
    expect(keys).toHaveLength(2);
  });

  test("AZ36: an idempotent tool is run again with the same key, as the second attempt", async () => {
    const { tool, middle, keys } = crashingTool("idempotent");
    const { engine, runId } = await givenCrash(tool, middle);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "executing", attempt: 1 }]);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "done", attempt: 2, result: "attempt 2" }]);
  });

  test("AZ36, DU18: any other tool is not run again: its effect is unknown and a person is asked", async () => {
    const { tool, middle, keys } = crashingTool("once", { details: () => ["to ann"] });
    const { engine, runId } = await givenCrash(tool, middle);
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(keys).toHaveLength(1);
    expect(await outcomeOf(sql, runId)).toBe("paused: outcome");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", code: "unknown", attempt: 1 }]);
    const [asked] = await sql`
      select a.kind, a.status, a.expires_at, t.title, t.status as card, a.card::json as body
        from approvals a join tasks t on t.id = a.task_id where a.run_id = ${runId}`;
    expect(asked).toMatchObject({ kind: "outcome", status: "pending", expires_at: null, card: "open" });
    expect(asked?.["title"]).toBe("Did it happen? act: to ann");
    expect(asked?.["body"]).toMatchObject({
      args: '{"to":"ann"}',
      details: ["to ann"],
      known: expect.stringContaining("stopped"),
    });
  });

  test.each([
    ["done", "ann had it on Monday", "completed: ok ann had it on Monday", 1],
    ["retry", undefined, "completed: ok attempt 2", 2],
    [
      "give_up",
      "let it be",
      "completed: unknown unknown whether it happened; a person decided not to run it again: let it be",
      1,
    ],
  ] as const)(
    "AZ36: the person's %s on an unknown outcome is followed",
    async (answer, feedback, outcome, attempts) => {
      const { tool, middle, keys } = crashingTool("once");
      const { world, engine, runId } = await givenCrash(tool, middle);
      await driveRun(engine, runId);
      const decided = await decidePending(sql, world, runId, answer, feedback === undefined ? {} : { feedback });
      expect(decided.kind).toBe("decided");
      expect(await driveRun(engine, runId)).toBe("ended");
      expect(await outcomeOf(sql, runId)).toBe(outcome);
      expect(new Set(keys).size).toBe(1);
      expect(keys).toHaveLength(attempts);
    },
  );

  test.each([
    [
      "the permission to approve",
      async (world: World) => sql`update users set role = 'viewer' where id = ${world.approver}`,
    ],
    ["the run's grant", async (_world: World, runId: string) => sql`update runs set grants = '{}' where id = ${runId}`],
  ])(
    "a further attempt that is refused for want of %s leaves the outcome unknown again, and loops nowhere",
    async (_what, change) => {
      for (const effect of ["read-only", "idempotent"] as const) {
        const { tool, middle, keys } = crashingTool(effect, { needsApproval: true, requires: ["mail.send"] });
        const world = await makeWorld(sql, spec);
        const engine = makeEngine(sql, [tool], actOnce);
        const runId = await givenRun(sql, world);
        await driveRun(engine, runId);
        await decidePending(sql, world, runId, "approve");
        await crashAt(engine, await takeRun(engine, runId), middle.reached);
        await change(world, runId);
        expect(await driveRun(engine, runId)).toBe("parked");
        expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", attempt: 1 }]);
        expect(keys).toHaveLength(1);
        await decidePending(sql, world, runId, "give_up", { userId: world.otherApprover });
        expect(await driveRun(engine, runId)).toBe("ended");
      }
    },
  );

  test("a person's retry carries a tool that asks under every policy, since the outcome card shows why it asks", async () => {
    const { tool, middle } = crashingTool("once", { alwaysGate: true });
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], actOnce);
    const runId = await givenRun(sql, world);
    await driveRun(engine, runId);
    await decidePending(sql, world, runId, "approve");
    await crashAt(engine, await takeRun(engine, runId), middle.reached);
    await driveRun(engine, runId);
    await decidePending(sql, world, runId, "retry");
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe("completed: ok attempt 2");
  });

  test("a call whose tool a worker does not have waits, ready, for one that has it: approved, or cut off by a crash", async () => {
    const without = makeEngine(sql, [readingTool("look", () => done(""))], actOnce);
    const waitsFor = async (engine: TestEngine, runId: string): Promise<void> => {
      await expect(takeRun(without, runId)).rejects.toThrow("was not ready to be claimed");
      expect(await runRow(sql, runId)).toMatchObject({ status: "running", is_ready: true, is_leased: false });
      expect(await driveRun(engine, runId)).toBe("ended");
      expect(await outcomeOf(sql, runId)).toMatch(/^completed: ok/);
    };
    const { tool, middle } = crashingTool("idempotent");
    const { world, engine, runId } = await givenCrash(tool, middle);
    await waitsFor(engine, runId);

    const asking = makeEngine(sql, [sendingTool("act", () => done("sent"))], actOnce);
    const approved = await givenRun(sql, world);
    await driveRun(asking, approved);
    await decidePending(sql, world, approved, "approve");
    await waitsFor(asking, approved);
  });

  test("a worker that holds a run when a call of it is approved that it has no tool for gives it back", async () => {
    const world = await makeWorld(sql, { ...spec, toolset: ["act", "look"] });
    const scenario: Scenario = ({ results }) =>
      results.length === 0 ? { use: ["act", "look"].map((tool) => ({ tool, args: {} })) } : { say: "ok" };
    const look = readingTool("look", () => done("seen"));
    const act = sendingTool("act", () => done("sent"));
    const engine = makeEngine(sql, [act, look], scenario);
    const runId = await givenRun(sql, world);
    // The turn is recorded, and its worker goes before it has looked.
    const first = await takeRun(engine, runId);
    await advance(engine, first);
    first.isLeaving = true;
    expect(await driveOut(engine, first)).toBe("given_back");

    const middle = stopPoint<ToolResult>();
    const without = makeEngine(sql, [readingTool("look", () => middle.stay())], scenario);
    const held = await takeRun(without, runId);
    const driving = driveOut(without, held);
    await middle.reached;
    await decidePending(sql, world, runId, "approve");
    held.hasNews = true;
    held.news.resolve();
    middle.letGo(done("seen"));
    expect(await driving).toBe("given_back");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "requested" }, { status: "done" }]);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "done", result: "sent" }, { status: "done" }]);
  });
});

describe("a transactional tool", () => {
  /** Writes a task, and then does as told. */
  function writingTool(after: (attempt: number) => Promise<ToolResult>, over: object = {}) {
    let attempts = 0;
    const tool = defineTool<Record<string, unknown>>({
      name: "act",
      description: "act",
      schema: anything,
      needsApproval: false,
      effect: "transactional",
      execute: async (_args, { tx, workspaceId, callId }) => {
        attempts += 1;
        await tx`insert into tasks (id, workspace_id, kind, status, section, title, created_by)
                 values (gen_random_uuid(), ${workspaceId}, 'task', 'open', 'today', ${callId}, 'test')`;
        return await after(attempts);
      },
      ...over,
    });
    return { tool, attempts: () => attempts };
  }

  async function tasksOf(world: World): Promise<number> {
    const [row] = await sql<
      { n: number }[]
    >`select count(*)::int as n from tasks where workspace_id = ${world.workspaceId} and kind = 'task'`;
    return row?.n ?? 0;
  }

  test("writes once, together with its result: nobody sees the one without the other", async () => {
    const middle = stopPoint<ToolResult>();
    const { tool } = writingTool(() => middle.stay());
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], actOnce);
    const runId = await givenRun(sql, world);
    const driving = driveRun(engine, runId);
    await middle.reached;
    expect(await tasksOf(world)).toBe(0);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "requested", attempt: 0 }]);
    middle.letGo(done("written"));
    expect(await driving).toBe("ended");
    expect(await tasksOf(world)).toBe(1);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "done", attempt: 1, result: "written" }]);
  });

  test.each(["canceled", "killed"])(
    "that takes its time holds nothing up: its run is %s meanwhile, and its writes are taken back",
    async (how) => {
      const middle = stopPoint<ToolResult>();
      const { tool } = writingTool(() => middle.stay());
      const world = await makeWorld(sql, spec);
      const { workspaceId, admin } = world;
      const engine = makeEngine(sql, [tool], actOnce);
      const runId = await givenRun(sql, world);
      const driving = driveRun(engine, runId);
      await middle.reached;
      if (how === "canceled")
        await commitWithin(sql, cancelRun, { runId, workspaceId, userId: admin, reason: "not needed" });
      else await killScope(sql, scopeOf(world, "workspace"), world.admin, "stop");
      middle.letGo(done("written"));
      expect(await driving).toBe(how === "canceled" ? "lost" : "given_back");
      expect(await tasksOf(world)).toBe(0);
      expect(await callsOf(sql, runId)).toMatchObject([
        { attempt: 0, result: how === "canceled" ? "not needed" : null },
      ]);
    },
  );

  test("that works longer than a lease lasts keeps it, and writes once", async () => {
    const { tool, attempts } = writingTool(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return done("written");
    });
    const world = await makeWorld(sql, spec);
    const worker = aWorker(url, [tool], actOnce, { leaseMs: 1_000, renewMs: 100 });
    const runId = await givenRun(sql, world);
    await until(async () => (await outcomeOf(sql, runId)).startsWith("completed"));
    await worker.stop();
    expect(attempts()).toBe(1);
    expect(await tasksOf(world)).toBe(1);
  });

  test("and another of one turn go one after the other, in the order in which the model asked for them", async () => {
    const order: string[] = [];
    const { tool } = writingTool(async () => done("written"), {
      execute: async (args: { name: string }) => {
        order.push(`${args.name} begins`);
        await new Promise((resolve) => setTimeout(resolve, args.name === "first" ? 200 : 0));
        order.push(`${args.name} ends`);
        return done(args.name);
      },
    });
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], ({ turn }) =>
      turn === 0 ? { use: ["first", "second"].map((name) => ({ tool: "act", args: { name } })) } : { say: "ok" },
    );
    await driveRun(engine, await givenRun(sql, world));
    expect(order).toEqual(["first begins", "first ends", "second begins", "second ends"]);
  });

  test("whose worker dies in the middle leaves nothing, and writes exactly once when it is run again", async () => {
    const middle = stopPoint<ToolResult>();
    const { tool, attempts } = writingTool((attempt) =>
      attempt === 1 ? middle.stay() : Promise.resolve(done("written")),
    );
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], actOnce);
    const runId = await givenRun(sql, world);
    const held = await takeRun(engine, runId);
    const driving = driveOut(engine, held);
    await middle.reached;
    // The process is gone, and with it the connection: the server takes the transaction back.
    held.abort.abort();
    expect(await driving).toBe("lost");
    await sql`update runs set lease_until = clock_timestamp() - interval '1 second' where id = ${runId}`;
    await recoverRuns(sql, 100, 100);
    expect(await tasksOf(world)).toBe(0);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(attempts()).toBe(2);
    expect(await tasksOf(world)).toBe(1);
  });

  test("whose connection is lost in the middle is run again by the same worker, and writes exactly once", async () => {
    const { tool, attempts } = writingTool(() => Promise.resolve(done("written")), {});
    let isFirst = true;
    const breaking = {
      ...tool,
      execute: async (args: never, context: { tx: typeof sql }) => {
        const result = await (tool as Extract<Tool, { effect: "transactional" }>).execute(args, context as never);
        if (isFirst) {
          isFirst = false;
          await context.tx`select pg_terminate_backend(pg_backend_pid())`;
        }
        return result;
      },
    } as unknown as Tool;
    const world = await makeWorld(sql, spec);
    const runId = await givenRun(sql, world);
    expect(await driveRun(makeEngine(sql, [breaking], actOnce), runId)).toBe("ended");
    expect(attempts()).toBe(2);
    expect(await tasksOf(world)).toBe(1);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "done", attempt: 1 }]);
  });

  test.each<[string, () => Promise<ToolResult>, string]>([
    [
      "throws",
      () => Promise.reject(new Error("broken at https://secret@host")),
      "error the tool failed; nothing of it was stored",
    ],
    ["fails", async () => ({ kind: "failed", content: "the page has changed" }), "error the page has changed"],
    ["cannot tell", async () => ({ kind: "unknown", content: "who knows" }), "error who knows"],
  ])("that %s leaves nothing but a failed call", async (_how, after, said) => {
    const { tool } = writingTool(after);
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], actOnce);
    const runId = await givenRun(sql, world);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await tasksOf(world)).toBe(0);
    expect(await outcomeOf(sql, runId)).toBe(`completed: ${said}`);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "failed", code: "error", attempt: 0 }]);
    expect(await outcomeOf(sql, runId)).not.toContain("secret");
  });

  test("whose statement fails and who swallows the error leaves nothing but a failed call", async () => {
    const world = await makeWorld(sql, spec);
    const { tool } = writingTool(async () => done("never"));
    const swallowing = {
      ...tool,
      execute: async (args: never, context: { tx: typeof sql }) => {
        const result = await (tool as Extract<Tool, { effect: "transactional" }>).execute(args, context as never);
        await context.tx`select 1 / 0`.catch(() => undefined);
        return result;
      },
    } as unknown as Tool;
    const runId = await givenRun(sql, world);
    expect(await driveRun(makeEngine(sql, [swallowing], actOnce), runId)).toBe("ended");
    expect(await tasksOf(world)).toBe(0);
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "failed", code: "error" }]);
  });

  test("that does not end in its time is taken back, with code timeout, and its row locks with it", async () => {
    const { tool } = writingTool(() => new Promise(() => {}), { timeoutMs: 40 });
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [tool], actOnce);
    const runId = await givenRun(sql, world);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await tasksOf(world)).toBe(0);
    expect(await outcomeOf(sql, runId)).toBe("completed: timeout act did not answer within 0.04 s and was stopped");
  });

  test("is judged again in the commit of its writes: a grant revoked after the turn stops it", async () => {
    const { tool } = writingTool(async () => done("written"), { requires: ["mail.send"] });
    const world = await makeWorld(sql, spec);
    const scenario: Scenario = (stage) => actOnce(stage);
    const engine = makeEngine(sql, [tool], scenario);
    const runId = await givenRun(sql, world);
    const held = await takeRun(engine, runId);
    await sql`update runs set grants = '{}' where id = ${runId}`;
    expect(await driveOut(engine, held)).toBe("ended");
    expect(await tasksOf(world)).toBe(0);
    expect(await outcomeOf(sql, runId)).toBe("completed: capability_denied capability denied: mail.send");
  });
});

describe("DU29: arguments that changed in the record after they were judged", () => {
  async function givenApproved(act: (args: object) => ToolResult) {
    const world = await makeWorld(sql, spec);
    const engine = makeEngine(sql, [sendingTool("act", act)], actOnce);
    const runId = await givenRun(sql, world);
    await driveRun(engine, runId);
    await decidePending(sql, world, runId, "approve");
    return { world, engine, runId };
  }

  test("never run, by one byte or more, whether the claim begins the call or the second look does", async () => {
    for (const isLookedAt of [false, true]) {
      const sent: object[] = [];
      const { world, engine, runId } = await givenApproved((args) => {
        sent.push(args);
        return done("sent");
      });
      if (isLookedAt) await bumpPolicy(sql, world);
      await sql`update tool_calls set args = '{"to":"anx"}' where run_id = ${runId}`;
      expect(await driveRun(engine, runId)).toBe("ended");
      expect(sent).toEqual([]);
      expect(await callsOf(sql, runId)).toMatchObject([
        {
          status: "failed",
          code: "error",
          result: "the recorded arguments are not those that were judged; they were not run",
        },
      ]);
    }
  });

  test("are asked about anew where their hash was changed with them", async () => {
    const sent: object[] = [];
    const { engine, runId, world } = await givenApproved((args) => {
      sent.push(args);
      return done("sent");
    });
    const args = '{"to":"eve"}';
    await sql`update tool_calls set args = ${args}, args_hash = ${hashArguments(args)} where run_id = ${runId}`;
    expect(await driveRun(engine, runId)).toBe("parked");
    expect(sent).toEqual([]);
    const [card] = await sql`select card::json as body from approvals where run_id = ${runId} and status = 'pending'`;
    expect(card?.["body"]).toMatchObject({ args });
    await decidePending(sql, world, runId, "deny");
    await driveRun(engine, runId);
    expect(sent).toEqual([]);
  });
});

test("what a fenced attempt still found out is kept as evidence, and nothing else changes", async () => {
  const { tool, middle } = crashingTool("once");
  const world = await makeWorld(sql, spec);
  const engine = makeEngine(sql, [tool], actOnce);
  const runId = await givenRun(sql, world);
  const held = await takeRun(engine, runId);
  const driving = driveOut(engine, held);
  await middle.reached;
  await commitWithin(sql, cancelRun, { runId, workspaceId: world.workspaceId, userId: world.admin, reason: "enough" });
  middle.letGo(done("sent after all"));
  expect(await driving).toBe("lost");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "unknown", result: "enough" }]);
  const late = await sql`select status, result, epoch from late_results where run_id = ${runId}`;
  expect(late).toEqual([{ status: "done", result: '"sent after all"', epoch: held.hold.epoch }]);
  expect(await countRows(sql, "approvals", runId)).toBe(0);
});
