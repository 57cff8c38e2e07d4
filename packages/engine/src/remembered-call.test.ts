import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { callsOf, crashAt, decidePending, outcomeOf, stopPoint } from "./testing/driver.ts";
import { driveRun, makeEngine, sendingTool, takeRun } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import type { Scenario } from "./scripted-model.ts";
import type { Tool } from "./tool.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act"] };
const args = { to: "ann" };

/** Asks for the same call `times` times, one a turn. */
const again =
  (times: number): Scenario =>
  ({ results }) =>
    results.length < times ? { use: [{ tool: "act", args }] } : { say: `did it ${results.length} times` };

function acting(ran: unknown[], act: () => Promise<void> | void = () => undefined): Tool {
  return sendingTool(
    "act",
    async (given) => {
      ran.push(given);
      await act();
      return { kind: "done", content: "did it" };
    },
    { requires: [], effect: "idempotent", units: ({ to }: { to: string }) => [to] },
  );
}

test("AZ45: an answer remembered for the run is asked for once, for ten equal calls and through a restart in the middle", async () => {
  const world = await makeWorld(sql, spec);
  const ran: unknown[] = [];
  const stop = stopPoint();
  let calls = 0;
  const first = makeEngine(sql, [acting(ran, () => ((calls += 1) === 5 ? stop.stay() : undefined))], again(10));
  const runId = await givenRun(sql, world, { grants: [] });
  await driveRun(first, runId);
  const entries = [{ kind: "unit", unit: "ann" }];
  const remember = { ruleId: uuidv7(), scope: "run", entries } as const;
  expect(await decidePending(sql, world, runId, "approve", { remember })).toMatchObject({ kind: "decided" });

  await crashAt(first, await takeRun(first, runId), stop.reached);
  const second = makeEngine(sql, [acting(ran)], again(10));
  await driveRun(second, runId);
  expect(await outcomeOf(sql, runId)).toBe("completed: did it 10 times");
  expect(await callsOf(sql, runId)).toHaveLength(10);
  const asked = await sql`select status from approvals where run_id = ${runId}`;
  expect(asked).toEqual([{ status: "approved" }]);
  // The one that was under way is run again, as its tool allows.
  expect(ran).toHaveLength(11);
});

test("AZ45: an answer for once is asked for each time, and one for a run says nothing in another", async () => {
  const world = await makeWorld(sql, spec);
  const ran: unknown[] = [];
  const engine = makeEngine(sql, [acting(ran)], again(2));
  const once = await givenRun(sql, world, { grants: [] });
  await driveRun(engine, once);
  await decidePending(sql, world, once, "approve");
  await driveRun(engine, once);
  expect(await outcomeOf(sql, once)).toBe("paused: approval");
  expect(ran).toHaveLength(1);

  const remembering = await givenRun(sql, world, { grants: [] });
  await driveRun(engine, remembering);
  const remember = { ruleId: uuidv7(), scope: "run" } as const;
  await decidePending(sql, world, remembering, "approve", { remember });
  await driveRun(engine, remembering);
  expect(await outcomeOf(sql, remembering)).toBe("completed: did it 2 times");
  const other = await givenRun(sql, world, { grants: [] });
  await driveRun(engine, other);
  expect(await outcomeOf(sql, other)).toBe("paused: approval");
});
