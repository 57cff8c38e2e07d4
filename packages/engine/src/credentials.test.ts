import { afterEach, expect, test } from "vitest";
import { CapabilityRefused, type CapabilityRequest, type Engine } from "./engine.ts";
import type { Handle, OutsideContext } from "./tool.ts";
import { callsOf, decidePending, endEveryRun, outcomeOf } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool, sendingTool } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { countRows } from "./testing/rows.ts";

const { sql } = await engineDatabase();

afterEach(async () => {
  await sql`alter table audit drop constraint if exists audit_is_down`;
  await endEveryRun(sql);
});

/** From here on no audit row of a credential can be written. */
async function breakAudit(): Promise<void> {
  await sql`alter table audit add constraint audit_is_down check (action not like 'capability.%') not valid`;
}

const done = { kind: "done", content: "sent" } as const;

/** A tool that is lent a credential twice, one use after the other. */
function twice(effect: "once" | "idempotent") {
  return {
    effect,
    needsApproval: false,
    execute: async (_args: unknown, { acquire }: OutsideContext) => {
      const handle = await acquire("mail.send");
      await handle.use(async () => "first");
      await handle.use(async () => "second");
      return done;
    },
  };
}

async function runWith(tool: object, over: Partial<Engine>) {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act"] });
  const engine = makeEngine(
    sql,
    [sendingTool("act", () => done, tool)],
    ({ turn, results }) => (turn === 0 ? { use: [{ tool: "act", args: {} }] } : { say: results[0]?.content ?? "" }),
    over,
  );
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  const [call] = await callsOf(sql, runId);
  return { runId, world, engine, call };
}

/** Refuses from the given use on. */
function lendingUntil(use: number): Pick<Engine, "openCapability"> {
  let uses = 0;
  const handle: Handle = {
    async use(body) {
      uses += 1;
      if (uses >= use) throw new CapabilityRefused("the grant was taken back");
      return await body("s3cret");
    },
  };
  return { openCapability: async () => handle };
}

test("a call whose effect can happen only once is unknown where its credential is refused after a use began", async () => {
  const { runId, call } = await runWith(twice("once"), lendingUntil(2));
  expect(call).toMatchObject({ status: "unknown" });
  expect(call?.result).toContain("the grant was taken back");
  expect(await outcomeOf(sql, runId)).toBe("paused: outcome");
});

test.each([
  ["once", 1],
  ["idempotent", 2],
] as const)("a %s call whose credential is refused at use %i has failed", async (effect, use) => {
  const { call } = await runWith(twice(effect), lendingUntil(use));
  expect(call).toMatchObject({ status: "failed", result: "the grant was taken back" });
});

test("a call acquires its credential once more under the hold of its run, and is told where that cannot be", async () => {
  const told: string[] = [];
  const openCapability = async ({ renew }: CapabilityRequest): Promise<Handle> => {
    told.push(await renew());
    await breakAudit();
    told.push(await renew());
    await sql`alter table audit drop constraint audit_is_down`;
    await sql`update runs set grants = '{}'`;
    told.push(await renew());
    return { use: (body) => body("s3cret") };
  };
  const { runId } = await runWith({ needsApproval: false }, {});
  expect(await countRows(sql, "audit", runId)).toBe(1);
  const renewing = {
    needsApproval: false,
    execute: async (_args: unknown, { acquire }: OutsideContext) => {
      await acquire("mail.send");
      return done;
    },
  };
  const second = await runWith(renewing, { openCapability });
  expect(told).toEqual(["renewed", "audit_unavailable", "refused"]);
  const rows = await sql`select action from audit where run_id = ${second.runId} order by id`;
  expect(rows.map(({ action }) => action)).toEqual(["capability.acquired", "capability.renewed", "capability.refused"]);
});

test("KN31: where the audit cannot be written a call that needs a credential fails and says so, nothing of it began, and reading goes on", async () => {
  const world = await makeWorld(sql, { name: "agent", model: "scripted", toolset: ["act", "look"] });
  const acted: string[] = [];
  const act = (): typeof done => {
    acted.push("act");
    return done;
  };
  const engine = makeEngine(
    sql,
    [sendingTool("act", act, { needsApproval: false }), readingTool("look", () => ({ kind: "done", content: "seen" }))],
    ({ turn }) => (turn === 0 ? { use: ["act", "look"].map((tool) => ({ tool, args: {} })) } : { say: "ok" }),
  );
  await breakAudit();
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("ended");
  const [refused, seen] = await callsOf(sql, runId);
  expect(refused).toMatchObject({ status: "failed", code: "audit_unavailable", attempt: 0 });
  expect(refused?.result).toContain("the audit of mail.send cannot be written");
  expect(seen).toMatchObject({ status: "done", result: "seen" });
  expect(acted).toEqual([]);
  expect(await countRows(sql, "capability_leases", runId)).toBe(0);
  expect(await outcomeOf(sql, runId)).toBe("completed: ok");
});

test("KN31: an approved call that the claim would begin fails in the same way, and its run is claimed all the same", async () => {
  const { engine, runId, world } = await runWith({}, {});
  await decidePending(sql, world, runId, "approve");
  await breakAudit();
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "failed", code: "audit_unavailable", attempt: 0 }]);
  expect(await countRows(sql, "capability_leases", runId)).toBe(0);
});
