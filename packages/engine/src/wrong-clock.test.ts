import { afterEach, expect, test, vi } from "vitest";
import { setDial } from "./commits/set-dial.ts";
import { outcomeOf, until } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { authorOf, scopeOf, toolRule, writeRules } from "./testing/policy.ts";

const { sql } = await engineDatabase();

afterEach(() => {
  vi.useRealTimers();
});

const done = { kind: "done", content: "done" } as const;
const spec = { name: "agent", model: "scripted", toolset: ["act", "wait", "peek"] };
const minute = 60_000;

/** This process's clock is wrong from now on; the database's is not. */
function setClockWrong(minutes: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * minute });
}

async function actOnce(world: World, minutes: number): Promise<{ acted: number; outcome: string }> {
  let acted = 0;
  const engine = makeEngine(
    sql,
    [
      sendingTool("act", () => {
        acted += 1;
        return done;
      }),
    ],
    ({ results }) =>
      results.length === 0
        ? { use: [{ tool: "act", args: {} }] }
        : { say: results.map(({ code }) => code ?? "ok").join(" ") },
  );
  const runId = await givenRun(sql, world);
  setClockWrong(minutes);
  await driveRun(engine, runId);
  return { acted, outcome: await outcomeOf(sql, runId) };
}

test.each([-5, 0, 5])(
  "DU38: a deny that stands for two more minutes holds for a worker whose clock is %i minutes wrong",
  async (minutes) => {
    const world = await makeWorld(sql, { ...spec, approvalPolicy: "none" });
    const expiresAt = new Date(Date.now() + 2 * minute);
    await writeRules(
      sql,
      world,
      scopeOf(world, "workspace"),
      toolRule("act", "deny", { rule: { mode: "deny", expiresAt } }),
    );
    expect(await actOnce(world, minutes)).toEqual({ acted: 0, outcome: "completed: policy_denied" });
  },
);

test.each([-5, 0, 5])("DU38: so does a dial that lets nothing run unasked, %i minutes wrong", async (minutes) => {
  const world = await makeWorld(sql, { ...spec, approvalPolicy: "none" });
  const expiresAt = new Date(Date.now() + 2 * minute);
  await setDial(sql, scopeOf(world, "workspace"), authorOf(world), {
    dial: { level: "none", locked: true, expiresAt },
  });
  expect(await actOnce(world, minutes)).toEqual({ acted: 0, outcome: "paused: approval" });
});

test.each([-5, 0, 5])(
  "DU38: an allow that ran out while the run was held lets nothing run, %i minutes wrong",
  async (minutes) => {
    const world = await makeWorld(sql, spec);
    const expiresAt = new Date(Date.now() + 400);
    await writeRules(
      sql,
      world,
      scopeOf(world, "workspace"),
      toolRule("peek", "allow", { rule: { mode: "allow", expiresAt } }),
    );
    let peeked = 0;
    const isOver = async () => (await sql`select clock_timestamp() > ${expiresAt} as is_over`)[0]?.["is_over"] === true;
    const waiting = readingTool("wait", async () => {
      await until(isOver);
      return done;
    });
    const peeking = readingTool(
      "peek",
      () => {
        peeked += 1;
        return done;
      },
      { needsApproval: true },
    );
    const engine = makeEngine(sql, [waiting, peeking], ({ results }) => ({
      use: [{ tool: results.length === 0 ? "wait" : "peek", args: {} }],
    }));
    const runId = await givenRun(sql, world);
    setClockWrong(minutes);
    await driveRun(engine, runId);
    expect(peeked).toBe(0);
    expect(await outcomeOf(sql, runId)).toBe("paused: approval");
  },
);
