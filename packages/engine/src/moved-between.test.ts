import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { CardBody } from "./card.ts";
import { recordToolDefinitions } from "./definition-change.ts";
import type { Scenario } from "./scripted-model.ts";
import { bumpPolicy, callsOf, decidePending, outcomeOf, stopPoint } from "./testing/driver.ts";
import { driveOut, driveRun, makeEngine, sendingTool, takeRun, type TestEngine } from "./testing/engine.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld, type World } from "./testing/fixtures.ts";
import { moveDeadlines } from "./testing/rows.ts";
import { behindLock } from "./testing/held-lock.ts";
import type { Proposed } from "./tool.ts";

const { sql, elsewhere } = await engineDatabase();

const spec = { name: "agent", model: "scripted", toolset: ["act"] };

const actOnce: Scenario = ({ results }) =>
  results.length === 0
    ? { use: [{ tool: "act", args: { to: "ann" } }] }
    : { say: results.map(({ code, content }) => `${code ?? "ok"} ${content}`).join("|") };

let ran = 0;
function engineWith(over: object = {}): TestEngine {
  const tool = sendingTool(
    "act",
    () => {
      ran += 1;
      return { kind: "done", content: "sent" };
    },
    { requires: [], ...over },
  );
  return makeEngine(sql, [tool], actOnce);
}

interface Given {
  readonly world: World;
  readonly runId: string;
}

/** A run whose call a person has approved, and that nobody has gone on with. */
async function givenApproved(over: object = {}, specOver: object = {}): Promise<Given> {
  ran = 0;
  const world = await makeWorld(sql, { ...spec, ...specOver });
  const runId = await givenRun(sql, world);
  await driveRun(engineWith(over), runId);
  await decidePending(sql, world, runId, "approve");
  return { world, runId };
}

async function askedOf(runId: string) {
  const rows = await sql<{ status: string; reason: string; card: string }[]>`
    select status, gate_reason as reason, card from approvals where run_id = ${runId} order by requested_at`;
  return rows.map(({ card, ...asked }) => ({ ...asked, card: JSON.parse(card) as CardBody }));
}

async function writeRule({ world }: Given, mode: string): Promise<void> {
  await sql`
    insert into rules (id, scope, scope_id, workspace_id, target_kind, target_name, mode)
    values (gen_random_uuid(), 'workspace', ${world.workspaceId}, ${world.workspaceId}, 'tool', 'act', ${mode})`;
  await bumpPolicy(sql, world);
}

describe("between a decision and the start", () => {
  test.each([
    ["policy comes to deny the tool", async (given: Given) => await writeRule(given, "deny"), "policy_denied"],
    ["the tool is turned off", async (given: Given) => await writeRule(given, "off"), "tool_off"],
  ])("%s: it is refused with that reason, and nothing ran", async (_what, change, code) => {
    const given = await givenApproved();
    await change(given);
    await driveRun(engineWith(), given.runId);
    expect(ran).toBe(0);
    expect(await callsOf(sql, given.runId)).toMatchObject([{ status: "denied", code, attempt: 0 }]);
  });

  test("policy comes to ask for a reason that the card did not show: asked again, and nothing ran", async () => {
    const given = await givenApproved();
    await bumpPolicy(sql, given.world);
    expect(await driveRun(engineWith({ alwaysGate: true }), given.runId)).toBe("parked");
    expect(ran).toBe(0);
    expect(await askedOf(given.runId)).toMatchObject([
      { status: "superseded" },
      { status: "pending", reason: "always_gate" },
    ]);
  });

  test("the tool is redefined: asked again with the difference, for each way to redefine it, and nothing ran", async () => {
    for (const over of [
      { description: "act, and tell everybody" },
      { schema: z.looseObject({ to: z.string(), bcc: z.string().optional() }) },
      { server: "elsewhere" },
    ]) {
      const given = await givenApproved();
      await recordToolDefinitions(sql, engineWith().tools);
      const redefined = engineWith(over);
      expect(await driveRun(redefined, given.runId)).toBe("parked");
      expect(ran).toBe(0);
      const asked = (await askedOf(given.runId)).at(-1);
      expect(asked).toMatchObject({ status: "pending" });
      expect(asked?.reason).toMatch(/^definition_changed/);
      const { before, after } = asked?.card.definitionChange ?? { before: "", after: "" };
      expect(JSON.parse(before)).toMatchObject({ name: "act", description: "act" });
      expect(after).not.toBe(before);
      await decidePending(sql, given.world, given.runId, "approve");
      await driveRun(redefined, given.runId);
      expect(ran).toBe(1);
    }
  });

  test.each([
    ["loses the role", async ({ world }: Given) => sql`update users set role = 'viewer' where id = ${world.approver}`],
    ["is disabled", async ({ world }: Given) => sql`update users set disabled_at = now() where id = ${world.approver}`],
  ])("the approver %s: asked again, and nothing ran", async (_what, change) => {
    const given = await givenApproved();
    await change(given);
    expect(await driveRun(engineWith(), given.runId)).toBe("parked");
    expect(ran).toBe(0);
    expect(await askedOf(given.runId)).toMatchObject([
      { status: "superseded" },
      { status: "pending", reason: "not_approved" },
    ]);
    await decidePending(sql, given.world, given.runId, "approve", { userId: given.world.otherApprover });
    await driveRun(engineWith(), given.runId);
    expect(ran).toBe(1);
  });

  test("the grant is taken back: refused with that reason, and nothing ran", async () => {
    const given = await givenApproved({ requires: ["mail.send"] });
    await sql`update runs set grants = '{}' where id = ${given.runId}`;
    await driveRun(engineWith({ requires: ["mail.send"] }), given.runId);
    expect(ran).toBe(0);
    expect(await callsOf(sql, given.runId)).toMatchObject([
      { status: "denied", code: "capability_denied", attempt: 0 },
    ]);
  });
});

describe("AZ44: a tool that is allowed by what a person had remembered", () => {
  async function remember(world: World, definitionHash: string): Promise<void> {
    await sql`
      insert into rules (id, scope, scope_id, workspace_id, target_kind, target_name, mode, is_remembered, definition_hash)
      values (gen_random_uuid(), 'workspace', ${world.workspaceId}, ${world.workspaceId}, 'tool', 'act', 'allow', true, ${definitionHash})`;
    await bumpPolicy(sql, world);
  }

  test.each([
    ["description", { description: "act, and tell everybody" }],
    ["schema", { schema: z.looseObject({ to: z.string() }) }],
  ])("asks once its %s has changed: the rule is suspended, the card shows the difference", async (_what, over) => {
    ran = 0;
    const world = await makeWorld(sql, spec);
    const engine = engineWith();
    await recordToolDefinitions(sql, engine.tools);
    const hash = engine.tools.get("act")?.definitionHash ?? "";
    await remember(world, hash);
    const first = await givenRun(sql, world);
    await driveRun(engine, first);
    expect(await outcomeOf(sql, first)).toBe("completed: ok sent");

    await sql`
      insert into tool_pins (workspace_id, tool, definition_hash) values (${world.workspaceId}, 'act', ${hash})
          on conflict do nothing`;
    await bumpPolicy(sql, world);
    const redefined = engineWith(over);
    const second = await givenRun(sql, world);
    expect(await driveRun(redefined, second)).toBe("parked");
    expect(ran).toBe(1);
    const [asked] = await askedOf(second);
    expect(asked).toMatchObject({ status: "pending", reason: "definition_changed" });
  });
});

describe("while another transaction holds the run", () => {
  test("an approval that expires meanwhile cannot be given any more, and nothing ran", async () => {
    ran = 0;
    const world = await makeWorld(sql, { ...spec, approvalExpiresMs: 60_000 });
    const runId = await givenRun(sql, world);
    await driveRun(engineWith(), runId);
    const { waiting } = await behindLock(sql, runId, {
      first: (tx) => moveDeadlines(tx, runId, -1_000),
      waiting: [() => decidePending(elsewhere, world, runId, "approve")],
    });
    expect(waiting[0].kind).toBe("expired");
    expect(ran).toBe(0);
  });

  test("a rule that expires meanwhile allows no more: a person is asked, and nothing ran", async () => {
    ran = 0;
    const middle = stopPoint<Proposed>();
    const engine = engineWith({ propose: () => middle.stay() });
    const world = await makeWorld(sql, spec);
    await sql`
      insert into rules (id, scope, scope_id, workspace_id, target_kind, target_name, mode, expires_at)
      values (gen_random_uuid(), 'workspace', ${world.workspaceId}, ${world.workspaceId}, 'tool', 'act', 'allow',
              clock_timestamp() + interval '3 seconds')`;
    await bumpPolicy(sql, world);
    const runId = await givenRun(sql, world);
    const held = await takeRun(engine, runId);
    const { waiting } = await behindLock(sql, runId, {
      first: (tx) => tx`
        select pg_sleep(greatest(0, extract(epoch from max(expires_at) - clock_timestamp()) + 0.01)) from rules
         where scope_id = ${world.workspaceId}`,
      waiting: [
        async () => {
          middle.letGo({ kind: "proposed", message: "", preconditions: [] });
          return await driveOut(engine, held);
        },
      ],
    });
    expect(waiting).toEqual(["parked"]);
    expect(ran).toBe(0);
    expect(await askedOf(runId)).toMatchObject([{ status: "pending", reason: "needs_approval" }]);
  });
});
