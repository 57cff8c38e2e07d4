import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { engineDatabase } from "../testing/engine-database.ts";
import { givenGatedRun, givenRun, makeWorld } from "../testing/fixtures.ts";
import { untilWaiting } from "../testing/held-lock.ts";
import { authorOf, scopeOf, toolRule, writeRules } from "../testing/policy.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { appScope } from "./kill-scope.ts";
import { setRules } from "./set-rules.ts";

const { sql, elsewhere } = await engineDatabase();

async function versionOf(scopeId: string): Promise<number> {
  const [row] = await sql<{ version: string }[]>`select version from policies where scope_id = ${scopeId}`;
  return Number(row?.version ?? 0);
}

async function liveRules(scopeId: string) {
  return await sql`
    select target_name, mode, version, is_remembered from rules where scope_id = ${scopeId} and revoked_at is null order by target_name, id`;
}

test("a written rule is there, the scope's version has moved once, the audit says who, and workers are told which tools", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "workspace");
  const changes = await writeRules(sql, world, scope, toolRule("mail.send", "off"), toolRule("kb.read", "ask"));
  expect(changes.map(({ kind, version }) => [kind, version])).toEqual([
    ["written", 1],
    ["written", 1],
  ]);
  expect(await liveRules(world.workspaceId)).toEqual([
    { target_name: "kb.read", mode: "ask", version: 1, is_remembered: false },
    { target_name: "mail.send", mode: "off", version: 1, is_remembered: false },
  ]);
  expect(await versionOf(world.workspaceId)).toBe(2);
  const audit = await sql<{ actor: string; subject: string; details: { target: string } }[]>`
    select actor, subject, details from audit where workspace_id = ${world.workspaceId} and action = 'rule.written'`;
  expect(audit.map(({ actor, details }) => `${actor} ${details.target}`).toSorted()).toEqual([
    `user:${world.admin} tool:kb.read`,
    `user:${world.admin} tool:mail.send`,
  ]);
  const told = await sql`select tools from policy_changes where scope_id = ${world.workspaceId}`;
  expect(told).toEqual([{ tools: ["kb.read", "mail.send"] }]);
});

test("a rule of a run is written under the run's lock and moves that run's version alone", async () => {
  const world = await makeWorld(sql);
  const [runId, other] = [await givenRun(sql, world), await givenRun(sql, world)];
  await writeRules(sql, world, scopeOf(world, { run: runId }), toolRule("mail.send", "deny"));
  expect([await versionOf(runId), await versionOf(other), await versionOf(world.workspaceId)]).toEqual([1, 0, 1]);
});

test("AZ23: of two writes that arrive out of order, the one that saw an older version is refused", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "workspace");
  await writeRules(sql, world, scope, toolRule("mail.send", "ask", { seenVersion: 0 }));
  await writeRules(sql, world, scope, toolRule("mail.send", "off", { seenVersion: 1 }));
  const before = await allRows(sql);
  for (const late of [
    toolRule("mail.send", "allow", { seenVersion: 1 }),
    toolRule("mail.send", "allow", { seenVersion: 0 }),
    toolRule("mail.send", undefined, { seenVersion: 1 }),
  ]) {
    expect(await setRules(sql, scope, authorOf(world), [toolRule("kb.read", "allow"), late])).toEqual({
      kind: "stale",
      targets: [{ target: { kind: "tool", name: "mail.send" }, version: 2 }],
    });
  }
  expect(await allRows(sql)).toBe(before);
  expect(await liveRules(world.workspaceId)).toMatchObject([{ mode: "off", version: 2 }]);
});

test("clearing an entry takes it away, and one that says the same already changes nothing", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "definition");
  await writeRules(sql, world, scope, toolRule("mail.send", "ask"));
  const before = await allRows(sql);
  expect(
    await writeRules(sql, world, scope, toolRule("mail.send", "ask"), toolRule("kb.read", undefined)),
  ).toMatchObject([{ kind: "unchanged", version: 1 }, { kind: "unchanged" }]);
  expect(await allRows(sql)).toBe(before);
  expect(await writeRules(sql, world, scope, toolRule("mail.send", undefined))).toMatchObject([{ kind: "cleared" }]);
  expect(await liveRules(world.definitionId)).toEqual([]);
  const [kept] = await sql`select revoked_by, revoked_reason from rules where scope_id = ${world.definitionId}`;
  expect(kept).toEqual({ revoked_by: `user:${world.admin}`, revoked_reason: "cleared" });
  expect(await versionOf(world.definitionId)).toBe(3);
});

test("the audit says of a rule whether it was locked, when it ends, and what it took the place of", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "workspace");
  const expiresAt = new Date(Date.now() + 60_000);
  const entries = [{ kind: "unit", unit: "a@example.org" }] as const;
  const first = { mode: "ask", locked: true, expiresAt, entries } as const;
  await writeRules(sql, world, scope, toolRule("mail.send", "ask", { rule: first }));
  await writeRules(sql, world, scope, toolRule("mail.send", "allow"), toolRule("kb.read", "off"));
  await writeRules(sql, world, scope, toolRule("mail.send", undefined));
  const rows = await sql<{ action: string; details: Record<string, unknown> & { expiresAt: string | null } }[]>`
    select action, details from audit
     where workspace_id = ${world.workspaceId} and details ->> 'target' = 'tool:mail.send' order by id`;
  const until = rows[0]?.details.expiresAt ?? "";
  expect(new Date(until)).toEqual(expiresAt);
  const said = { mode: "ask", locked: true, expiresAt: until, entries };
  const allows = { mode: "allow", locked: false, expiresAt: null, entries: null };
  expect(rows).toMatchObject([
    { action: "rule.written", details: { ...said, before: null } },
    { action: "rule.written", details: { ...allows, before: said } },
    { action: "rule.revoked", details: allows },
  ]);
});

test("it says how many open approvals of the tool the change touches, in its scope alone", async () => {
  const world = await makeWorld(sql);
  const foreign = await makeWorld(sql);
  const [first] = [await givenGatedRun(sql, world), await givenGatedRun(sql, world), await givenGatedRun(sql, foreign)];
  const off = toolRule("mail.send", "off");
  expect(await writeRules(sql, world, scopeOf(world, { run: first.runId }), off)).toMatchObject([{ waiting: 1 }]);
  expect(await writeRules(sql, world, scopeOf(world, "definition"), off)).toMatchObject([{ waiting: 2 }]);
  expect(await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("kb.read", "off"))).toMatchObject([
    { waiting: 0 },
  ]);
});

describe("tightening a tool takes back what was remembered for it", () => {
  async function givenRemembered() {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const at = async (scope: string, scopeId: string, tool: string) => {
      const id = uuidv7();
      await sql`
        insert into rules (id, scope, scope_id, workspace_id, target_kind, target_name, mode, is_remembered)
        values (${id}, ${scope}, ${scopeId}, ${world.workspaceId}, 'tool', ${tool}, 'allow', true)`;
      return id;
    };
    const ids = {
      run: await at("run", runId, "mail.send"),
      definition: await at("definition", world.definitionId, "mail.send"),
      workspace: await at("workspace", world.workspaceId, "mail.send"),
      otherTool: await at("run", runId, "kb.read"),
    };
    const left = async () => {
      const rows = await sql<{ id: string }[]>`
        select id from rules where id = any (${Object.values(ids)}::uuid[]) and revoked_at is null`;
      const live = new Set(rows.map(({ id }) => id));
      return Object.entries(ids).flatMap(([name, id]) => (live.has(id) ? [name] : []));
    };
    return { world, runId, left };
  }

  test("in the layer itself and the layers inside it, and not outside", async () => {
    const { world, left } = await givenRemembered();
    await writeRules(sql, world, scopeOf(world, "definition"), toolRule("mail.send", "ask"));
    expect(await left()).toEqual(["workspace", "otherTool"]);
    await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("mail.send", "off"));
    expect(await left()).toEqual(["otherTool"]);
  });

  test("everywhere, where the rule is of everything", async () => {
    const { world, left } = await givenRemembered();
    const everything = { target: { kind: "everything" }, rule: { mode: "ask" }, covers: undefined } as const;
    await writeRules(sql, world, scopeOf(world, "workspace"), everything);
    expect(await left()).toEqual([]);
  });

  test("but a rule that loosens leaves it", async () => {
    const { world, left } = await givenRemembered();
    await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("mail.send", "allow"));
    expect(await left()).toHaveLength(4);
    await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("mail.send", "off"));
    expect(await left()).toEqual(["otherTool"]);
  });

  test("and never what another workspace remembers", async () => {
    const { left } = await givenRemembered();
    const { world } = await givenRemembered();
    await writeRules(sql, world, scopeOf(world, "workspace"), toolRule("mail.send", "off"));
    expect(await left()).toHaveLength(4);
  });
});

test("a scope of another workspace is not found, and nothing is written", async () => {
  const [world, foreign] = [await makeWorld(sql), await makeWorld(sql)];
  const runId = await givenRun(sql, world);
  const before = await allRows(sql);
  const { workspaceId } = foreign;
  for (const scope of [
    { scope: "run", scopeId: runId, workspaceId },
    { scope: "definition", scopeId: world.definitionId, workspaceId },
    { scope: "workspace", scopeId: world.workspaceId, workspaceId },
    { ...appScope, workspaceId },
  ] as const) {
    expect(await setRules(sql, scope, authorOf(foreign), [toolRule("kb.read", "allow")])).toEqual({
      kind: "not_found",
    });
  }
  expect(await allRows(sql)).toBe(before);
});

test("of two writers that saw the same version, one writes and the other finds it stale", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "workspace");
  let late: ReturnType<typeof setRules> | undefined;
  await transaction(sql, async (tx) => {
    await writeRules(tx, world, scope, toolRule("mail.send", "off", { seenVersion: 0 }));
    late = setRules(elsewhere, scope, authorOf(world), [toolRule("mail.send", "allow", { seenVersion: 0 })]);
    await untilWaiting(tx, 1);
  });
  expect(await late).toMatchObject({ kind: "stale" });
  expect(await liveRules(world.workspaceId)).toMatchObject([{ mode: "off" }]);
});

test("rules that fail at any write leave none of them", async () => {
  const world = await makeWorld(sql);
  const scope = scopeOf(world, "workspace");
  await writeRules(sql, world, scope, toolRule("kb.read", "ask"));
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    setRules(on, scope, authorOf(world), [toolRule("mail.send", "off"), toolRule("kb.read", undefined)]),
  );
  expect(outcome).toMatchObject({ kind: "set", changes: [{ kind: "written" }, { kind: "cleared" }] });
  expect(written).toEqual(["policies", "policy_changes", "rules", "audit"]);
});
