import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { type BeginCall, beginCall } from "./commits/begin-call.ts";
import { setDial } from "./commits/set-dial.ts";
import { revokeRules } from "./commits/revoke-rules.ts";
import type { Engine } from "./engine.ts";
import { findStoppedHolds } from "./find-stopped-holds.ts";
import { policyOf } from "./policy.ts";
import { nothingStored, readPolicy } from "./stored-policy.ts";
import { readPolicyFacts } from "./read-policy-facts.ts";
import { readSnapshot } from "./run-snapshot.ts";
import type { Scenario } from "./scripted-model.ts";
import { callsOf, crash, decidePending, outcomeOf } from "./testing/driver.ts";
import { driveRun, makeEngine, readingTool, sendingTool, takeRun } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { authorOf, givenRemembered, scopeOf, toolRule, writeRules } from "./testing/policy.ts";

const { sql } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act", "look"] };

/** Acts as often as it is told to, one call a turn, then says what came of each. */
function acting(times: number): Scenario {
  return ({ results, turn }) =>
    turn < times
      ? { use: [{ tool: "act", args: { to: "ann" } }] }
      : { say: results.map(({ code }) => code ?? "ok").join(" ") };
}

function given(scenario: Scenario = acting(1)) {
  let acted = 0;
  let looked = 0;
  const tools = [
    sendingTool("act", () => ({ kind: "done", content: `acted ${(acted += 1)}` })),
    readingTool("look", () => ({ kind: "done", content: `looked ${(looked += 1)}` })),
  ];
  const engine = makeEngine(sql, tools, scenario);
  return { engine, acted: () => acted, looked: () => looked };
}

async function verdictsOf(runId: string): Promise<string[]> {
  const rows = await sql<{ verdict: string; reason: string }[]>`
    select verdict, gate_reason as reason from tool_calls where run_id = ${runId} order by turn_seq, position`;
  return rows.map(({ verdict, reason }) => `${verdict} ${reason}`);
}

async function prompts(runId: string): Promise<number> {
  return (await sql`select from approvals where run_id = ${runId}`).length;
}

test.each(["workspace", "definition", "run"] as const)(
  "a rule at %s scope is what the next call is judged by, and the verdict names it",
  async (layer) => {
    const world = await makeWorld(sql, spec);
    const { engine, acted } = given();
    const runId = await givenRun(sql, world);
    const at = layer === "run" ? { run: runId } : layer;
    await writeRules(sql, world, scopeOf(world, at), toolRule("act", "allow"));
    expect(await driveRun(engine, runId)).toBe("ended");
    expect(acted()).toBe(1);
    expect(await verdictsOf(runId)).toEqual([`allow mode_allow@${layer}`]);
  },
);

test("AZ34, UI14: what a run-scope rule asked about and a person denied does not run, whatever the rule says after a restart", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const scope = scopeOf(world, { run: runId });
  await writeRules(sql, world, scope, toolRule("act", "ask"));
  expect(await driveRun(given(acting(2)).engine, runId)).toBe("parked");
  await decidePending(sql, world, runId, "deny");
  await writeRules(sql, world, scope, toolRule("act", "allow"));
  const restarted = given(acting(2));
  expect(await driveRun(restarted.engine, runId)).toBe("ended");
  expect(restarted.acted()).toBe(0);
  expect(await outcomeOf(sql, runId)).toBe("completed: user_denied already_denied");
});

test("AZ35: an approved call runs once with no second question; the same call in a later turn is a new one, and asks", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const { engine, acted } = given(acting(2));
  expect(await driveRun(engine, runId)).toBe("parked");
  await decidePending(sql, world, runId, "approve");
  expect(await driveRun(engine, runId)).toBe("parked");
  expect([acted(), await prompts(runId)]).toEqual([1, 2]);
  await decidePending(sql, world, runId, "approve");
  expect(await driveRun(engine, runId)).toBe("ended");
  expect([acted(), await prompts(runId)]).toEqual([2, 2]);
});

test("AZ42: once what a run remembers is taken back, the next call asks", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const id = await givenRemembered(sql, world, { run: runId }, "act");
  const { engine, acted } = given(acting(2));
  const revoking: Engine = {
    ...engine,
    model: async (request, signal) => {
      if (acted() === 1)
        await revokeRules(sql, scopeOf(world, { run: runId }), authorOf(world), "remembered", "enough");
      return await engine.model(request, signal);
    },
  };
  expect(await driveRun(revoking, runId)).toBe("parked");
  expect(acted()).toBe(1);
  expect(await verdictsOf(runId)).toEqual([`allow rule:${id}@run`, "ask needs_approval"]);
});

test("AZ45: what a run remembers outlives a restart in the middle of ten equal calls: nobody is asked again", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const first = given(acting(10));
  expect(await driveRun(first.engine, runId)).toBe("parked");
  await decidePending(sql, world, runId, "approve");
  await givenRemembered(sql, world, { run: runId }, "act");
  const held = await takeRun(first.engine, runId);
  await crash(sql, held.hold.runId);
  // The approved call had begun in that claim; a person says that it did not happen.
  const second = given(acting(10));
  expect(await driveRun(second.engine, runId)).toBe("parked");
  await decidePending(sql, world, runId, "give_up");
  expect(await driveRun(second.engine, runId)).toBe("ended");
  const asked = await sql`select from approvals where run_id = ${runId} and kind = 'approval'`;
  expect(asked).toHaveLength(1);
  expect(second.acted()).toBe(9);
});

test("AZ44: what was remembered of a tool that says something else now is suspended and asks, until a person remembers the new one", async () => {
  const world = await makeWorld(sql, spec);
  const { engine, acted } = given(acting(3));
  const { workspaceId } = world;
  await givenRemembered(sql, world, "workspace", "act", { definitionHash: "what it said before" });
  await sql`insert into tool_pins (workspace_id, tool, definition_hash) values (${workspaceId}, 'act', 'what it said before')`;
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  await decidePending(sql, world, runId, "approve");
  const [pin] = await sql`select definition_hash from tool_pins where workspace_id = ${workspaceId}`;
  expect(pin).toEqual({ definition_hash: engine.tools.get("act")?.definitionHash });
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(acted()).toBe(1);
  await decidePending(sql, world, runId, "approve", {
    userId: world.admin,
    remember: { ruleId: uuidv7(), scope: "workspace" },
  });
  expect(await driveRun(engine, runId)).toBe("ended");
  expect(acted()).toBe(3);
  const said = (await verdictsOf(runId)).map((verdict) => verdict.replace(/rule:.*@/, "rule@"));
  expect(said).toEqual(["ask definition_changed", "ask definition_changed", "allow rule@workspace"]);
});

test("AZ25: a deny under a tool's former name reaches it, an allow does not", async () => {
  const renamed = sendingTool("act", () => ({ kind: "done", content: "acted" }), { aliases: ["do"] });
  for (const [mode, verdict] of [
    ["deny", "deny"],
    ["allow", "ask"],
  ] as const) {
    const world = await makeWorld(sql, spec);
    await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("do", mode));
    const runId = await givenRun(sql, world);
    await driveRun(makeEngine(sql, [renamed], acting(1)), runId);
    expect((await verdictsOf(runId))[0]?.split(" ")[0]).toBe(verdict);
  }
});

test("a rule that expires between the gate and the begin does not let the call start: it asks", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const inAnHour = new Date(Date.now() + 3_600_000);
  const allowed = toolRule("act", "allow", { rule: { mode: "allow", expiresAt: inAnHour } });
  await writeRules(sql, world, scopeOf(world, "workspace"), allowed);
  const { engine, acted } = given();
  // An hour goes by between the gate and the begin.
  const late: Engine = {
    ...engine,
    commit: async (kind, transition) => {
      if ((kind as unknown) !== beginCall) return await engine.commit(kind, transition);
      const [row] = await sql<{ at: Date }[]>`
        update rules set expires_at = clock_timestamp() - interval '1 second'
         where workspace_id = ${world.workspaceId} returning expires_at as at`;
      expect((transition as BeginCall).validUntil).toEqual(inAnHour);
      return await engine.commit(kind, { ...transition, validUntil: row?.at });
    },
  };
  expect(await driveRun(late, runId)).toBe("parked");
  expect(acted()).toBe(0);
  expect(await callsOf(sql, runId)).toMatchObject([{ status: "waiting", attempt: 0 }]);
});

test("what has expired by the database's clock is not in a policy that is read", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const past = new Date(Date.now() - 1_000);
  await writeRules(
    sql,
    world,
    scopeOf(world, "workspace"),
    toolRule("act", "allow", { rule: { mode: "allow", expiresAt: past } }),
  );
  await setDial(sql, scopeOf(world, { run: runId }), authorOf(world), { dial: { level: "high", expiresAt: past } });
  const { policy } = await readSnapshot(sql, runId);
  const { layers } = readPolicy(policy);
  expect([layers.workspace?.rules, layers.run?.dial]).toEqual([undefined, undefined]);
});

test("once a dial is over, the policy `none` that was set with it is over too, and what the definition says holds again", async () => {
  const world = await makeWorld(sql, { ...spec, approvalPolicy: "none", dial: "read-only" });
  const runId = await givenRun(sql, world);
  const past = new Date(Date.now() - 1_000);
  const yolo = { dial: { level: "high", expiresAt: past }, approvalPolicy: { level: "none" } } as const;
  for (const at of ["definition", { run: runId }] as const)
    await setDial(sql, scopeOf(world, at), authorOf(world), yolo);
  const { engine, acted } = given();
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(acted()).toBe(0);
});

test("a dial that runs out in a worker's hands gives way to the definition's own, before anything is read anew", async () => {
  const world = await makeWorld(sql, { ...spec, approvalPolicy: "none", dial: "read-only" });
  const runId = await givenRun(sql, world);
  const soon = new Date(Date.now() + 3_600_000);
  await setDial(sql, scopeOf(world, "definition"), authorOf(world), { dial: { level: "high", expiresAt: soon } });
  const { engine } = given();
  const held = await takeRun(engine, runId);
  const layerNow = () => policyOf(held.snapshot, held.definition).layers.definition;
  expect(layerNow()?.dial?.level).toBe("high");
  held.snapshot = { ...held.snapshot, readAt: held.snapshot.readAt - 3_600_000 };
  expect(layerNow()).toEqual({ approvalPolicy: { level: "none" }, dial: { level: "read-only" } });
});

test("a dial of a run lets its calls run unasked, and a locked one further out holds it back", async () => {
  const world = await makeWorld(sql, { ...spec, approvalPolicy: "none" });
  const free = await givenRun(sql, world);
  const yolo = { dial: { level: "high" } } as const;
  await setDial(sql, scopeOf(world, { run: free }), authorOf(world), yolo);
  const { engine, acted } = given();
  expect(await driveRun(engine, free)).toBe("ended");
  expect(acted()).toBe(1);
  const bound = await givenRun(sql, world);
  await setDial(sql, scopeOf(world, { run: bound }), authorOf(world), yolo);
  await setDial(sql, scopeOf(world, "workspace"), authorOf(world), { dial: { level: "read-only", locked: true } });
  expect(await driveRun(engine, bound)).toBe("parked");
  expect(acted()).toBe(1);
});

test("where stored policy cannot be read everything asks, reads too, and what denies still does", async () => {
  const world = await makeWorld(sql, spec);
  const looking: Scenario = ({ turn, results }) =>
    turn === 0
      ? { use: ["look", "act"].map((tool) => ({ tool, args: {} })) }
      : { say: results.map(({ code }) => code ?? "ok").join(" ") };
  const { engine, looked } = given(looking);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("act", "deny"), toolRule("look", "allow"));
  await sql`update rules set entries = '{"everything": true}' where workspace_id = ${world.workspaceId} and target_name = 'look'`;
  const runId = await givenRun(sql, world);
  expect(await driveRun(engine, runId)).toBe("parked");
  expect(looked()).toBe(0);
  expect((await callsOf(sql, runId)).map(({ tool, status }) => `${tool} ${status}`)).toEqual([
    "look waiting",
    "act denied",
  ]);
});

test.each([
  ["rules", { rules: [{ id: 1 }] }],
  ["values", { values: [{ scope: "planet" }] }],
  ["switches", { switches: ["everything"] }],
  ["pins", { pins: [{ tool: "act" }] }],
])("%s of another shape make a policy unreadable, and nothing throws", (_part, over) => {
  expect(readPolicy({ ...nothingStored, ...over }).isUnreadable).toBe(true);
});

test("nothing stored is read as nothing, once", () => {
  const read = readPolicy(nothingStored);
  expect(read).toMatchObject({ layers: {}, switches: [], isUnreadable: false, expiries: [] });
  expect(readPolicy(nothingStored)).toBe(read);
});

test("a holder is told once policy has moved, and its next turn is by the newer one", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  const { engine } = given();
  const held = await takeRun(engine, runId);
  const hold = { ...held.hold, policyVersions: held.snapshot.policyVersions };
  expect(await findStoppedHolds(sql, [hold])).toEqual([]);
  await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("look", "off"));
  expect(await findStoppedHolds(sql, [hold])).toMatchObject([{ runId, kind: "judged_anew" }]);
});

test("the policy of a run is read alike with all of its record and by itself", async () => {
  const world = await makeWorld(sql, spec);
  const runId = await givenRun(sql, world);
  await writeRules(sql, world, scopeOf(world, { run: runId }), toolRule("act", "ask"));
  await setDial(sql, scopeOf(world, "workspace"), authorOf(world), { approvalPolicy: { level: "all" } });
  const snapshot = await readSnapshot(sql, runId);
  const facts = await readPolicyFacts(sql, world.workspaceId, runId);
  expect(facts).toEqual({
    databaseTime: expect.any(Number),
    readAt: expect.any(Number),
    policyVersions: snapshot.policyVersions,
    policy: snapshot.policy,
    killed: null,
    grants: snapshot.grants,
    denials: [],
    canAnybodyAnswer: true,
  });
  expect(await readPolicyFacts(sql, (await makeWorld(sql)).workspaceId, runId)).toBeUndefined();
});
