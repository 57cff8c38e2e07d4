import { describe, expect, test } from "vitest";
import type { Engine } from "./engine.ts";
import type { Message } from "./model.ts";
import { buildMessages } from "./prompt.ts";
import { readSnapshot } from "./run-snapshot.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, crash, decidePending, outcomeOf, steer, stopPoint } from "./testing/driver.ts";
import { driveOut, driveRun, makeEngine, readingTool, sendingTool, takeRun } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { countRows, runRow } from "./testing/rows.ts";
import type { ToolResult } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["look", "send", "post"] };
const done = (content: string): ToolResult => ({ kind: "done", content });

/** What the model was last told of its calls, and said after them. */
function textsOf(message: Message | undefined): string[] | undefined {
  return message?.content.map((block) =>
    block.type === "tool_result" ? block.content : block.type === "text" ? block.text : block.type,
  );
}

test.each(["none", "outbound", "all"] as const)(
  "KN26: a call whose capability the run was not granted is denied at once and asks nobody, under the approval policy %s",
  async (approvalPolicy) => {
    const world = await makeWorld(sql, { ...spec, approvalPolicy });
    const ran: unknown[] = [];
    const post = sendingTool("post", (args) => done(String(ran.push(args))), { requires: ["post"] });
    const engine = makeEngine(sql, [post], ({ turn }) =>
      turn === 0 ? { use: [{ tool: "post", args: {} }] } : { say: "done" },
    );
    const runId = await givenRun(sql, world);
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await callsOf(sql, runId)).toMatchObject([{ status: "denied", code: "capability_denied", attempt: 0 }]);
    for (const table of ["approvals", "tasks"]) expect(await countRows(sql, table, runId)).toBe(0);
    expect(ran).toEqual([]);
  },
);

test("three parallel calls, one free, one gated, one denied by capability, end in one message with three results in order, and a steer sent meanwhile follows them", async () => {
  const world = await makeWorld(sql, spec);
  const sent: unknown[] = [];
  const seen: (readonly Message[])[] = [];
  const tools = [
    readingTool("look", () => done("seen")),
    sendingTool("send", (args) => {
      sent.push(args);
      return done("sent");
    }),
    sendingTool("post", () => done("never"), { requires: ["post"] }),
  ];
  const engine = makeEngine(sql, tools, ({ turn, request }) => {
    seen.push(request.messages);
    const use = [
      { tool: "look", args: {} },
      { tool: "send", args: { to: "a" } },
      { tool: "post", args: {} },
    ];
    return turn === 0 ? { say: "working", use } : { say: "done" };
  });
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(await callsOf(sql, runId)).toEqual([
    { tool: "look", status: "done", code: null, result: "seen", attempt: 0 },
    { tool: "send", status: "waiting", code: null, result: null, attempt: 0 },
    { tool: "post", status: "denied", code: "capability_denied", result: "capability denied: post", attempt: 0 },
  ]);
  await steer(sql, world, runId, "hurry");
  expect((await decidePending(sql, world, runId, "approve")).kind).toBe("decided");
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(sent).toEqual([{ to: "a" }]);
  expect(textsOf(seen.at(-1)?.at(-1))).toEqual(["seen", "sent", "capability denied: post", "hurry"]);
  const roles = buildMessages(await readSnapshot(sql, runId)).map(({ role }) => role);
  expect(roles).toEqual(["user", "assistant", "user", "assistant"]);
  expect(await runRow(sql, runId)).toMatchObject({ status: "completed", output: '"done"', turns: 2 });
});

test("AZ49: a denial is the call's result, with the reviewer's feedback; the run goes on, and a repeat is refused without a question", async () => {
  const world = await makeWorld(sql, spec);
  let sent = 0;
  const engine = makeEngine(sql, [sendingTool("send", () => done(`sent ${(sent += 1)}`))], ({ results }) =>
    results.length < 2
      ? { use: [{ tool: "send", args: { to: "a" } }] }
      : { say: results.map((result) => `${result.code} ${result.content}`).join("|") },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  await decidePending(sql, world, runId, "deny", { feedback: "not to him" });
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toMatch(/^completed: user_denied denied by user: not to him\|already_denied /);
  expect(await countRows(sql, "approvals", runId)).toBe(1);
  expect(sent).toBe(0);
});

test("AZ46: of two parallel gated calls one denied and one approved, each has its one result, in the order of the uses", async () => {
  const world = await makeWorld(sql, spec);
  let last: Message | undefined;
  const engine = makeEngine(
    sql,
    [sendingTool("send", () => done("sent")), sendingTool("post", () => done("posted"))],
    ({ turn, request }) => {
      last = request.messages.at(-1);
      return turn === 0 ? { use: ["send", "post"].map((tool) => ({ tool, args: {} })) } : { say: "ok" };
    },
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [send, post] = await sql<{ id: string }[]>`
    select a.id from approvals a join tool_calls c on c.id = a.call_id where a.run_id = ${runId} order by c.position`;
  await decidePending(sql, world, runId, "approve", { approvalId: post?.id ?? "" });
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting" }, { status: "done", result: "posted" }]);
  expect(await outcomeOf(sql, runId)).toBe("paused: approval");
  await decidePending(sql, world, runId, "deny", { approvalId: send?.id ?? "" });
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(textsOf(last)).toEqual(["denied by user", "posted"]);
});

describe("where the definition stops at a denial,", () => {
  const stopping = { ...spec, onDenial: "stop" };

  test("AZ49, AZ52: the first denial ends the run with blocked_by_approval; siblings that wait are sibling_failed, and nothing more is asked or run", async () => {
    const world = await makeWorld(sql, stopping);
    let turns = 0;
    const engine = makeEngine(
      sql,
      [readingTool("look", () => done("seen")), sendingTool("send", () => done("sent"))],
      ({ turn }) => {
        turns += 1;
        const use = [
          { tool: "send", args: { to: "a" } },
          { tool: "send", args: { to: "b" } },
          { tool: "look", args: {} },
        ];
        return turn === 0 ? { use } : { say: "never" };
      },
    );
    const runId = await givenRun(sql, world);
    expect(await driveRun(engine, runId)).toBe("parked");
    const [first] = await sql<{ id: string }[]>`
      select a.id from approvals a join tool_calls c on c.id = a.call_id where a.run_id = ${runId} order by c.position`;
    await decidePending(sql, world, runId, "deny", { approvalId: first?.id ?? "" });
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe("failed: blocked_by_approval");
    expect(await callsOf(sql, runId)).toMatchObject([
      { status: "denied", code: "user_denied", result: "denied by user" },
      { status: "canceled", code: "sibling_failed" },
      { status: "done", code: null, result: "seen" },
    ]);
    expect(turns).toBe(1);
    const cards = await sql`select status from tasks where run_id = ${runId} order by id`;
    expect(cards).toEqual([{ status: "done" }, { status: "canceled" }]);
  });

  test("a sibling that was approved beside the denial, before anybody came, is never begun", async () => {
    const world = await makeWorld(sql, stopping);
    let sent = 0;
    const sending = sendingTool("send", () => done(`sent ${(sent += 1)}`));
    const engine = makeEngine(sql, [sending], ({ turn }) =>
      turn === 0 ? { use: ["a", "b"].map((to) => ({ tool: "send", args: { to } })) } : { say: "never" },
    );
    const runId = await givenRun(sql, world);
    expect(await driveRun(engine, runId)).toBe("parked");
    const [first, second] = await sql<{ id: string }[]>`
      select a.id from approvals a join tool_calls c on c.id = a.call_id where a.run_id = ${runId} order by c.position`;
    await decidePending(sql, world, runId, "approve", { approvalId: first?.id ?? "" });
    await decidePending(sql, world, runId, "deny", { approvalId: second?.id ?? "" });
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe("failed: blocked_by_approval");
    expect(await callsOf(sql, runId)).toMatchObject([
      { status: "canceled", code: "sibling_failed" },
      { status: "denied", code: "user_denied" },
    ]);
    expect(sent).toBe(0);
  });

  test("a sibling that is under way when the denial comes is let to its end and recorded", async () => {
    const world = await makeWorld(sql, stopping);
    const middle = stopPoint<ToolResult>();
    const acting = readingTool("post", () => middle.stay(), { effect: "once" });
    const engine = makeEngine(sql, [sendingTool("send", () => done("sent")), acting], ({ turn }) =>
      turn === 0 ? { use: ["send", "post"].map((tool) => ({ tool, args: {} })) } : { say: "never" },
    );
    const runId = await givenRun(sql, world);
    const driving = driveRun(engine, runId);
    await middle.reached;
    await decidePending(sql, world, runId, "deny");
    middle.letGo(done("posted"));
    expect(await driving).toBe("ended");
    expect(await outcomeOf(sql, runId)).toBe("failed: blocked_by_approval");
    expect(await callsOf(sql, runId)).toMatchObject([
      { status: "denied", code: "user_denied" },
      { status: "done", result: "posted" },
    ]);
  });
});

describe("DU01, DU02: a decision that commits at any boundary of the driver's own commits", () => {
  const scenario: Scenario = ({ results }) =>
    results.length === 0
      ? {
          use: [
            { tool: "send", args: {} },
            { tool: "look", args: {} },
          ],
        }
      : { say: results.map(({ content }) => content).join(" ") };

  /** Just before commit n of the driver where `at` is 2n, just after it where it is 2n + 1. */
  async function runWithDecisionAt(
    at: number,
  ): Promise<{ boundaries: number; holds: number; outcome: string; isInTime: boolean }> {
    const world = await makeWorld(sql, spec);
    let sent = 0;
    const tools = [readingTool("look", () => done("seen")), sendingTool("send", () => done(`sent ${(sent += 1)}`))];
    const plain = makeEngine(sql, tools, scenario);
    const runId = await givenRun(sql, world);
    let boundaries = 0;
    let isInTime = false;
    const boundary = async (): Promise<void> => {
      const [asked] = await sql`select id from approvals where run_id = ${runId} and status = 'pending'`;
      if (boundaries === at && asked !== undefined)
        isInTime = (await decidePending(sql, world, runId, "approve")).kind === "decided";
      boundaries += 1;
    };
    const engine: Engine = {
      ...plain,
      commit: async (kind, transition) => {
        await boundary();
        const outcome = await plain.commit(kind, transition);
        await boundary();
        return outcome;
      },
    };
    let holds = 0;
    for (let step = await driveRun(engine, runId); step !== "ended"; step = await driveRun(engine, runId)) {
      holds += 1;
      if (!(await runRow(sql, runId)).is_ready) await decidePending(sql, world, runId, "approve");
    }
    return { boundaries, holds: holds + 1, outcome: await outcomeOf(sql, runId), isInTime };
  }

  test("wakes the run exactly once, and the call runs exactly once", async () => {
    let inTime = 0;
    for (let at = 0; ; at += 1) {
      const { boundaries, holds, outcome, isInTime } = await runWithDecisionAt(at);
      expect(outcome).toBe("completed: sent 1 seen");
      expect(holds).toBeLessThanOrEqual(2);
      inTime += Number(isInTime);
      if (at >= boundaries) break;
    }
    expect(inTime).toBeGreaterThanOrEqual(2);
  });
});

test("a crash at any boundary of the driver's commits leaves a run that another worker brings to the same end, with each effect once", async () => {
  for (let at = 0; ; at += 1) {
    const world = await makeWorld(sql, spec);
    let sent = 0;
    const tools = [readingTool("look", () => done("seen")), sendingTool("send", () => done(`sent ${(sent += 1)}`))];
    const plain = makeEngine(sql, tools, ({ results }) =>
      results.length === 0
        ? {
            use: [
              { tool: "look", args: {} },
              { tool: "send", args: {} },
            ],
          }
        : { say: results.map(({ content }) => content).join(" ") },
    );
    const runId = await givenRun(sql, world);
    const death = stopPoint<never>();
    let boundaries = 0;
    const dying: Engine = {
      ...plain,
      commit: async (kind, transition) => {
        if (boundaries === at * 2) await death.stay();
        const outcome = await plain.commit(kind, transition);
        if (boundaries === at * 2 + 1) await death.stay();
        boundaries += 1;
        return outcome;
      },
    };
    let isDead = false;
    for (;;) {
      const { status, is_ready: isReady } = await runRow(sql, runId);
      if (status === "completed") break;
      if (!isReady) {
        const answer = (await isAskedForOutcome(runId)) ? "done" : "approve";
        await decidePending(sql, world, runId, answer, { feedback: "sent 1" });
      } else if (isDead) {
        await driveRun(plain, runId);
      } else {
        const driving = driveOut(dying, await takeRun(dying, runId));
        isDead = await Promise.race([driving.then(() => false), death.reached.then(() => true)]);
        if (isDead) await crash(sql, runId);
      }
    }
    expect(await outcomeOf(sql, runId)).toBe("completed: seen sent 1");
    expect(sent).toBeLessThanOrEqual(1);
    if (!isDead) break;
  }
});

async function isAskedForOutcome(runId: string): Promise<boolean> {
  const [asked] = await sql`select kind from approvals where run_id = ${runId} and status = 'pending'`;
  return asked?.["kind"] === "outcome";
}

test("a run that was recovered meanwhile is lost at the next commit, and nothing of the turn is stored", async () => {
  const world = await makeWorld(sql, spec);
  const asked = stopPoint();
  const plain = makeEngine(sql, [], () => ({ say: "done" }));
  const model: Engine["model"] = async (request, signal) => {
    await asked.stay();
    return await plain.model(request, signal);
  };
  const runId = await givenRun(sql, world);
  const driving = driveOut({ ...plain, model }, await takeRun(plain, runId));
  await asked.reached;
  await crash(sql, runId);
  asked.letGo();
  expect(await driving).toBe("lost");
  expect(await runRow(sql, runId)).toMatchObject({ turns: 0, is_leased: false, is_ready: true });
  expect(await driveRun(plain, runId)).toBe("ended");
});
