import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import { engineDatabase } from "../testing/engine-database.ts";
import { givenGatedRun, givenRun, makeWorld, type World } from "../testing/fixtures.ts";
import { untilWaiting } from "../testing/held-lock.ts";
import { authorOf, scopeOf } from "../testing/policy.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { type DialChange, setDial } from "./set-dial.ts";

const { sql, elsewhere } = await engineDatabase();

type At = Parameters<typeof scopeOf>[1];

async function turn(world: World, at: At, change: DialChange, on = sql) {
  return await setDial(on, scopeOf(world, at), authorOf(world), change);
}

async function valuesOf(scopeId: string) {
  const [row] = await sql`
    select dial_level as dial, dial_expires_at as until, is_dial_locked as is_locked, approval_policy as policy, version::int
      from policies where scope_id = ${scopeId}`;
  return row;
}

test("a dial is set with its expiry, the version moves, the audit says from what to what, and workers are told", async () => {
  const world = await makeWorld(sql);
  const { runId } = await givenGatedRun(sql, world);
  const expiresAt = new Date(Date.now() + 60_000);
  const set = await turn(world, { run: runId }, { dial: { level: "high", expiresAt } });
  expect(set).toEqual({ kind: "set", version: 1, waiting: 1 });
  expect(await valuesOf(runId)).toEqual({ dial: "high", until: expiresAt, is_locked: false, policy: null, version: 1 });
  const [audit] = await sql`select actor, subject, details from audit where run_id = ${runId} and action = 'dial.set'`;
  expect(audit).toMatchObject({
    actor: `user:${world.admin}`,
    subject: `run:${runId}`,
    details: { dial: "high", dialBefore: null },
  });
  expect(await sql`select tools from policy_changes where scope_id = ${runId}`).toEqual([{ tools: null }]);
});

test("dial and approval policy are set each by itself, and null takes one away", async () => {
  const world = await makeWorld(sql);
  await turn(world, "workspace", { dial: { level: "low", locked: true } });
  await turn(world, "workspace", { approvalPolicy: { level: "all" } });
  expect(await valuesOf(world.workspaceId)).toMatchObject({ dial: "low", is_locked: true, policy: "all" });
  await turn(world, "workspace", { dial: null });
  expect(await valuesOf(world.workspaceId)).toMatchObject({ dial: null, is_locked: false, policy: "all", version: 4 });
});

test("the audit says of a dial and an approval policy whether they were locked, and until when they held", async () => {
  const world = await makeWorld(sql);
  const dial = { level: "low", locked: true, expiresAt: new Date(Date.now() + 60_000) } as const;
  await turn(world, "workspace", { dial, approvalPolicy: { level: "all", locked: true } });
  await turn(world, "workspace", { dial: { level: "high" }, approvalPolicy: { level: "none" } });
  const [, audit] = await sql<{ details: { expiresAtBefore: string } }[]>`
    select details from audit where workspace_id = ${world.workspaceId} and action = 'dial.set' order by id`;
  expect(audit?.details).toMatchObject({
    dial: "high",
    dialLocked: false,
    expiresAt: null,
    dialBefore: "low",
    dialLockedBefore: true,
    approvalPolicy: "none",
    approvalPolicyLocked: false,
    approvalPolicyBefore: "all",
    approvalPolicyLockedBefore: true,
  });
  expect(new Date(audit?.details.expiresAtBefore ?? "")).toEqual(dial.expiresAt);
});

test("an approval policy that is set beside a dial that is over is not for as long as that dial, which goes", async () => {
  const world = await makeWorld(sql);
  const past = new Date(Date.now() - 1_000);
  const none = { level: "none" } as const;
  await turn(world, "workspace", { dial: { level: "high", expiresAt: past, locked: true }, approvalPolicy: none });
  expect(await turn(world, "workspace", { approvalPolicy: none })).toMatchObject({ kind: "set" });
  const values = { dial: null, until: null, is_locked: false, policy: "none" };
  expect(await valuesOf(world.workspaceId)).toMatchObject(values);
  expect(await turn(world, "workspace", { approvalPolicy: none })).toMatchObject({ kind: "unchanged" });
});

test("what is set so already changes nothing", async () => {
  const world = await makeWorld(sql);
  await turn(world, "definition", { dial: { level: "low" } });
  const before = await allRows(sql);
  expect(await turn(world, "definition", { dial: { level: "low" }, approvalPolicy: null })).toEqual({
    kind: "unchanged",
    version: 2,
  });
  expect(await turn(world, "definition", {})).toMatchObject({ kind: "unchanged" });
  expect(await allRows(sql)).toBe(before);
});

test("AZ23: a change made on a version that has passed is refused", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await turn(world, { run: runId }, { dial: { level: "none" }, seenVersion: 0 });
  const before = await allRows(sql);
  expect(await turn(world, { run: runId }, { dial: { level: "high" }, seenVersion: 0 })).toEqual({
    kind: "stale",
    version: 1,
  });
  expect(await allRows(sql)).toBe(before);
});

test("a scope of another workspace is not found", async () => {
  const [world, foreign] = [await makeWorld(sql), await makeWorld(sql)];
  const runId = await givenRun(sql, world);
  const before = await allRows(sql);
  for (const at of [{ run: runId }, "definition", "workspace"] as const) {
    const scope = { ...scopeOf(world, at), workspaceId: foreign.workspaceId };
    expect(await setDial(sql, scope, authorOf(foreign), { dial: { level: "high" } })).toEqual({ kind: "not_found" });
  }
  expect(await allRows(sql)).toBe(before);
});

test("of two that turn the same dial behind one lock, the second finds the first's version", async () => {
  const world = await makeWorld(sql);
  let late: ReturnType<typeof turn> | undefined;
  await transaction(sql, async (tx) => {
    await setDial(tx, scopeOf(world, "workspace"), authorOf(world), { dial: { level: "none" } });
    late = turn(world, "workspace", { dial: { level: "high" }, seenVersion: 1 }, elsewhere);
    await untilWaiting(tx, 1);
  });
  expect(await late).toEqual({ kind: "stale", version: 2 });
});

test("a dial that fails to be set at any write stays as it was", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const { written } = await failAtEveryWrite(sql, (on) =>
    setDial(on, scopeOf(world, { run: runId }), authorOf(world), { dial: { level: "high" } }),
  );
  expect(written).toEqual(["policies", "policy_changes", "audit"]);
});
