import { transaction } from "@countersign/db/transaction.ts";
import { afterEach, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aBegin,
  aDecision,
  claimRun,
  givenApprovedRun,
  givenExecutingCall,
  givenGatedRun,
  givenRequestedCall,
  givenRun,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { callRow, runRow } from "../testing/rows.ts";
import { untilWaiting } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { completeCall } from "./complete-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { appScope, killScope, type Scope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";
import { releaseRun } from "./release-run.ts";

const { sql, elsewhere } = await engineDatabase();

afterEach(async () => {
  await sql`update policies set killed_at = null, lifted_at = null, version = 1`;
});

function workspaceScope(world: World): Scope {
  return { scope: "workspace", scopeId: world.workspaceId, workspaceId: world.workspaceId };
}

test("a kill moves the policy's version, says who and why, and writes nothing per run", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const before = await runRow(sql, runId);
  expect(await killScope(sql, workspaceScope(world), world.admin, "it misbehaves")).toBe("killed");
  const [row] =
    await sql`select version, killed_at is not null as is_killed, killed_by, kill_reason from policies where scope_id = ${world.workspaceId}`;
  expect(row).toEqual({ version: 2, is_killed: true, killed_by: world.admin, kill_reason: "it misbehaves" });
  const audit = await sql`select actor, action, subject, details from audit where workspace_id = ${world.workspaceId}`;
  expect(audit).toEqual([
    {
      actor: `user:${world.admin}`,
      action: "scope.killed",
      subject: `workspace:${world.workspaceId}`,
      details: { reason: "it misbehaves" },
    },
  ]);
  expect(await runRow(sql, runId)).toEqual(before);
  expect(await killScope(sql, workspaceScope(world), world.admin, "again")).toBe("already");
});

test("a lift is audited, moves the version again, and what was ready is claimed", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  await killScope(sql, workspaceScope(world), world.admin, "stop");
  await expect(claimRun(sql, runId)).rejects.toThrow("was not ready");
  expect(await liftScope(sql, workspaceScope(world), world.admin)).toBe("lifted");
  expect(await liftScope(sql, workspaceScope(world), world.admin)).toBe("already");
  const [row] =
    await sql`select version, killed_at, lifted_at is not null as is_lifted from policies where scope_id = ${world.workspaceId}`;
  expect(row).toEqual({ version: 3, killed_at: null, is_lifted: true });
  expect((await claimRun(sql, runId)).epoch).toBe(1);
});

test.each(["app", "workspace", "definition", "run"] as const)(
  "nothing under a killed %s is claimed, and nothing beside it is held back",
  async (scope) => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const other = await makeWorld(sql);
    const beside = await givenRun(sql, other);
    const scopeId = { app: appScope.scopeId, workspace: world.workspaceId, definition: world.definitionId, run: runId }[
      scope
    ];
    const killed: Scope = { scope, scopeId, workspaceId: scope === "app" ? undefined : world.workspaceId };
    await killScope(sql, killed, world.admin, "stop");
    if (scope === "app") await expect(claimRun(sql, beside)).rejects.toThrow("was not ready");
    else await claimRun(sql, beside);
    await expect(claimRun(sql, runId)).rejects.toThrow("was not ready");
    await liftScope(sql, killed, world.admin);
    await claimRun(sql, runId);
  },
);

test("AZ69: killed at app scope: no start, approvals frozen, a running call may end, a lift in stages lets all go on", async () => {
  const world = await makeWorld(sql);
  const pending = [
    await givenGatedRun(sql, world),
    await givenGatedRun(sql, world),
    await givenGatedRun(sql, world, { expiresMs: 60_000 }),
  ];
  const running = await givenExecutingCall(sql, world);
  const about = await givenRequestedCall(sql, world);
  const approved = await givenApprovedRun(sql, world);
  const approvals = async () =>
    await sql`select status, version, expires_at, policy_versions from approvals where id = any (${pending.map((one) => one.approvalId)}::uuid[]) order by id`;
  const before = await approvals();

  await killScope(sql, appScope, world.admin, "stop everything");
  await killScope(sql, workspaceScope(world), world.admin, "and this above all");
  expect(await commitWithin(sql, beginCall, aBegin(about))).toEqual({ kind: "killed", scope: "app" });
  for (const asked of pending)
    expect(await commitWithin(sql, decideApproval, aDecision(world, asked))).toMatchObject({ kind: "killed" });
  // What the holder had started it may still record, and it gives the run back.
  const done = { ...running.hold, callId: running.callId, status: "failed", result: '"aborted"' } as const;
  expect(await commitWithin(sql, completeCall, done)).toMatchObject({ kind: "completed" });
  expect(await commitWithin(sql, releaseRun, { ...running.hold, isLeaving: true })).toEqual({ kind: "released" });
  expect(await commitWithin(sql, releaseRun, { ...about.hold, isLeaving: true })).toEqual({ kind: "released" });

  await liftScope(sql, appScope, world.admin);
  const [first] = pending;
  if (first === undefined) throw new Error("three approvals were asked for");
  expect(await commitWithin(sql, decideApproval, aDecision(world, first))).toMatchObject({ kind: "killed" });
  expect(await approvals()).toEqual(before);
  await liftScope(sql, workspaceScope(world), world.admin);
  for (const asked of pending)
    expect(await commitWithin(sql, decideApproval, aDecision(world, asked))).toMatchObject({ kind: "decided" });
  // The policy has moved: what was approved before the kill is looked at again before it starts.
  await claimRun(sql, approved.runId);
  expect(await callRow(sql, approved.callId)).toMatchObject({ status: "requested", attempt: 0 });
  const audit =
    await sql`select action from audit where action like 'scope.%' and workspace_id in (${world.workspaceId}, ${appScope.scopeId}) and actor = ${`user:${world.admin}`} order by id`;
  expect(audit.map((row) => row.action)).toEqual(["scope.killed", "scope.killed", "scope.lifted", "scope.lifted"]);
});

test("another workspace's scope is neither killed nor lifted", async () => {
  const world = await makeWorld(sql);
  const neighbor = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const strange: Scope[] = [
    { ...workspaceScope(world), workspaceId: neighbor.workspaceId },
    { scope: "definition", scopeId: world.definitionId, workspaceId: neighbor.workspaceId },
    { scope: "run", scopeId: runId, workspaceId: neighbor.workspaceId },
    { scope: "app", scopeId: appScope.scopeId, workspaceId: neighbor.workspaceId },
  ];
  const before = await allRows(sql);
  for (const scope of strange) await expect(killScope(sql, scope, neighbor.admin, "mine")).rejects.toThrow("has no");
  expect(await allRows(sql)).toBe(before);
  await killScope(sql, workspaceScope(world), world.admin, "stop");
  const killed = await allRows(sql);
  for (const scope of strange) expect(await liftScope(sql, scope, neighbor.admin)).toBe("already");
  expect(await allRows(sql)).toBe(killed);
});

test("a start that holds the policy is before the kill, and the kill waits for it", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world);
  const { begun, killed } = await transaction(sql, async (tx) => {
    const begun = await commitWithin(tx, beginCall, aBegin(given));
    const killed = killScope(elsewhere, workspaceScope(world), world.admin, "stop");
    await untilWaiting(tx, 1);
    return { begun, killed: [killed] };
  });
  expect(begun).toEqual({ kind: "begun" });
  expect(await killed[0]).toBe("killed");
});

test("of two kills at once, one kills; of two lifts, one lifts", async () => {
  const world = await makeWorld(sql);
  const scope = workspaceScope(world);
  const kills = await Promise.all([sql, elsewhere].map((on) => killScope(on, scope, world.admin, "stop")));
  expect(kills.toSorted()).toEqual(["already", "killed"]);
  const lifts = await Promise.all([sql, elsewhere].map((on) => liftScope(on, scope, world.admin)));
  expect(lifts.toSorted()).toEqual(["already", "lifted"]);
});

test("of two first kills of a run at once, one kills", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const scope: Scope = { scope: "run", scopeId: runId, workspaceId: world.workspaceId };
  const kills = await Promise.all([sql, elsewhere].map((on) => killScope(on, scope, world.admin, "stop")));
  expect(kills.toSorted()).toEqual(["already", "killed"]);
});

test("DU05: a kill or a lift that fails at any write changes nothing", async () => {
  const world = await makeWorld(sql);
  const scope = workspaceScope(world);
  const kill = await failAtEveryWrite(sql, (on) => killScope(on, scope, world.admin, "stop"));
  expect(kill.outcome).toBe("killed");
  expect(kill.written).toEqual(["policies", "audit"]);
  const lift = await failAtEveryWrite(sql, (on) => liftScope(on, scope, world.admin));
  expect(lift.outcome).toBe("lifted");
  expect(lift.written).toEqual(["policies", "policy_changes", "audit"]);
});
