import { expect, test } from "vitest";
import { killScope } from "./commits/kill-scope.ts";
import type { Scenario } from "./scripted-model.ts";
import { createSweep } from "./sweep.ts";
import { callsOf, outcomeOf } from "./testing/driver.ts";
import { driveRun, makeEngine, sendingTool, takeRun } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenGatedRun, givenRun, makeWorld } from "./testing/fixtures.ts";
import { poisonRun } from "./testing/poison.ts";
import { scopeOf } from "./testing/policy.ts";
import { endLease, moveDeadlines, runRow } from "./testing/rows.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act"] };
const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: {} }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

function given(maxClaims = 5) {
  const engine = makeEngine(sql, [sendingTool("act", () => ({ kind: "done", content: "sent" }))], actOnce);
  let rings = 0;
  const sweep = createSweep(engine, { maxClaims, ring: () => (rings += 1) });
  return { engine, sweep, rings: () => rings };
}

test("DU28: an overdue approval expires on its own status, its run goes on and says so, and an idle worker is told", async () => {
  const { engine, sweep, rings } = given();
  const world = await makeWorld(sql, { ...spec, approvalExpiresMs: 60_000 });
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  await sweep();
  expect(rings()).toBe(0);
  await moveDeadlines(sql, runId, -1);
  await sweep();
  expect(rings()).toBe(1);
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(await outcomeOf(sql, runId)).toBe("completed: expired not run: nobody decided before the approval expired");
});

test("AZ41: an approval without a deadline waits through any number of sweeps", async () => {
  const { engine, sweep } = given();
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  await driveRun(engine, runId);
  for (let n = 0; n < 5; n += 1) await sweep();
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting" }]);
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", is_ready: false });
});

test("the run of a dead worker is ready again; one that keeps killing its worker is quarantined and told to the operator", async () => {
  const { engine, sweep, rings } = given(2);
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  await takeRun(engine, runId);
  await endLease(sql, runId);
  await sweep();
  expect(await runRow(sql, runId)).toMatchObject({ is_ready: true, is_leased: false });
  await takeRun(engine, runId);
  await endLease(sql, runId);
  await sweep();
  expect(await runRow(sql, runId)).toMatchObject({ status: "paused", waits_on: "quarantine" });
  expect(engine.events).toEqual([{ kind: "run.quarantined", runId }]);
  expect(rings()).toBe(2);
});

test("more than a batch of dead leases is recovered in one sweep, and each once by two sweepers", async () => {
  const world = await makeWorld(sql, spec);
  const runIds = await Promise.all(Array.from({ length: 230 }, () => givenRun(sql, world)));
  await takeRun(given().engine, runIds[0] ?? "");
  await Promise.all(runIds.map((runId) => endLease(sql, runId)));
  await Promise.all([given().sweep(), given().sweep()]);
  const rows = await sql<{ n: number }[]>`
    select count(*)::int as n from runs where id = any (${runIds}::uuid[]) and lease_id is null and ready_at is not null and epoch = 1`;
  expect(rows[0]?.n).toBe(230);
});

test("DU23: a run that cannot expire is told to the operator at each sweep, and keeps no dead worker's run and no other step", async () => {
  const { engine, sweep, rings } = given();
  const world = await makeWorld(sql, spec);
  const culprit = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  await moveDeadlines(sql, culprit.runId, -1);
  const cure = await poisonRun(sql, culprit.runId);
  for (let n = 1; n <= 2; n += 1) {
    const dead = await givenRun(sql, world);
    await takeRun(engine, dead);
    await endLease(sql, dead);
    await sweep();
    expect(await runRow(sql, dead)).toMatchObject({ is_ready: true, is_leased: false });
    expect(rings()).toBe(n);
  }
  const told = { kind: "sweep.failed", runId: culprit.runId };
  expect(engine.events).toMatchObject([told, told]);
  await cure();
  await sweep();
  expect(engine.events).toHaveLength(2);
  expect(await callsOf(sql, culprit.runId)).toMatchObject([{ status: "denied" }]);
});

test.each(["expire_waits(int, uuid[])", "recover_runs(int, int, uuid[])", "take_policy_change(bigint)"])(
  "a step that fails as a whole (%s) is told once and keeps no other",
  async (signature) => {
    const { engine, sweep } = given();
    const world = await makeWorld(sql, { ...spec, approvalExpiresMs: 60_000 });
    const dead = await givenRun(sql, world);
    await takeRun(engine, dead);
    await endLease(sql, dead);
    const overdue = await givenRun(sql, world);
    await driveRun(engine, overdue);
    await moveDeadlines(sql, overdue, -1);
    const [name = ""] = signature.split("(");
    await sql.unsafe(`alter function ${signature} rename to ${name}_away`);
    await sweep();
    const away = signature.replace(name, `${name}_away`);
    await sql.unsafe(`alter function ${away} rename to ${name}`);
    expect(engine.events.map(({ kind }) => kind)).toEqual(["sweep.failed"]);
    const isDone = { expired: (await runRow(sql, overdue)).is_ready, recovered: (await runRow(sql, dead)).is_ready };
    expect(isDone).toEqual({ expired: name !== "expire_waits", recovered: name !== "recover_runs" });
  },
);

test("what waits under a kill switch does not hold up what expires elsewhere", async () => {
  const held = await makeWorld(sql);
  const runs: string[] = [];
  for (let n = 0; n < 101; n += 1) runs.push((await givenGatedRun(sql, held, { expiresMs: 60_000 })).runId);
  for (const runId of runs) await moveDeadlines(sql, runId, -5_000);
  await killScope(sql, scopeOf(held, "workspace"), held.admin, "stop");
  const world = await makeWorld(sql);
  const { runId } = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  await moveDeadlines(sql, runId, -1_000);
  await given().sweep();
  expect((await callsOf(sql, runId)).map(({ code }) => code)).toEqual(["expired"]);
  expect((await callsOf(sql, runs[0] ?? "")).map(({ status }) => status)).toEqual(["waiting"]);
});
