import { type Sql } from "@countersign/db/connect.ts";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { beginCall } from "./commits/begin-call.ts";
import { cancelRun } from "./commits/cancel-run.ts";
import { completeCall } from "./commits/complete-call.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { expireWaits } from "./commits/expire-waits.ts";
import { killScope } from "./commits/kill-scope.ts";
import { killTool } from "./commits/kill-tool.ts";
import { liftScope } from "./commits/lift-scope.ts";
import { liftTool } from "./commits/lift-tool.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { recoverRuns } from "./commits/recover-runs.ts";
import { renewLeases } from "./commits/renew-leases.ts";
import { revokeRules } from "./commits/revoke-rules.ts";
import { setDial } from "./commits/set-dial.ts";
import { setRules } from "./commits/set-rules.ts";
import { steerRun } from "./commits/steer-run.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aSteer,
  aTurn,
  claimRun,
  givenGatedRun,
  givenRequestedCall,
  givenRun,
  makeWorld,
  type World,
} from "./testing/fixtures.ts";
import { adopt, moveDeadlines } from "./testing/rows.ts";
import { authorOf, scopeOf, toolRule } from "./testing/policy.ts";

const { sql, elsewhere } = await engineDatabase();

/** The same order for every run of the test, another in every round. */
function shuffle<T>(items: readonly T[], seed: number): T[] {
  return items
    .map((item, index) => ({ item, rank: Math.imul(index + 1, 2_654_435_761 + seed * 40_503) >>> 0 }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

async function expectNoDeadlock(acts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const outcomes = await Promise.allSettled(acts.map((act) => act()));
  expect(outcomes.filter((outcome) => outcome.status === "rejected")).toEqual([]);
}

/** A root with two children that each wait for a person beside a call that may run, and two grandchildren. */
async function givenTree(world: World) {
  const root = await givenRequestedCall(sql, world, { effect: "once" });
  const gated = [];
  for (let i = 0; i < 4; i += 1)
    gated.push(await givenGatedRun(sql, world, { expiresMs: 600_000, siblings: [aCall({ position: 1 })] }));
  const [left, right, below, beside] = gated;
  if (!left || !right || !below || !beside) throw new Error("four gated runs were asked for");
  await adopt(sql, root.runId, left.runId);
  await adopt(sql, root.runId, right.runId);
  await adopt(sql, left.runId, below.runId);
  await adopt(sql, right.runId, beside.runId);
  return { root, gated, ids: [root.runId, ...gated.map(({ runId }) => runId)] };
}

test("cancels of trees do not deadlock with decisions, steers, results, starts, expiries, kills and renewals of their runs", async () => {
  const world = await makeWorld(sql);
  for (let round = 0; round < 12; round += 1) {
    const { root, gated, ids } = await givenTree(world);
    if (round % 3 === 0) await moveDeadlines(sql, gated[1]?.runId ?? "", -1);
    const on = (index: number): Sql => (index % 2 === 0 ? sql : elsewhere);
    const cancel = (runId: string) => ({ runId, workspaceId: world.workspaceId, userId: world.admin, reason: "stop" });
    const scope = { scope: "run", scopeId: root.runId, workspaceId: world.workspaceId } as const;
    const acts: (() => Promise<unknown>)[] = [
      ...ids.map((runId, i) => () => commitWithin(on(i), cancelRun, cancel(runId))),
      ...gated.map((one, i) => () => commitWithin(on(i), decideApproval, aDecision(world, one))),
      ...ids.map((runId, i) => () => commitWithin(on(i), steerRun, aSteer(world, runId))),
      () => commitWithin(elsewhere, beginCall, aBegin(root)),
      () => commitWithin(sql, completeCall, { ...root.hold, callId: root.callId, status: "failed", result: '"x"' }),
      () => expireWaits(elsewhere, 10),
      () => recoverRuns(sql, 10, 5),
      () => renewLeases(elsewhere, [root.hold, ...gated.map(({ hold }) => hold)], 30_000),
      () => killScope(sql, scope, world.admin, "stop"),
      () => liftScope(elsewhere, scope, world.admin),
    ];
    await expectNoDeadlock(shuffle(acts, round));
  }
});

test("batches of many runs in opposite orders do not deadlock", async () => {
  const world = await makeWorld(sql);
  for (let round = 0; round < 12; round += 1) {
    const asked: { runId: string; approvalId: string }[] = [];
    for (let i = 0; i < 8; i += 1) asked.push(await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] }));
    const wait = { blocking: true };
    const decisions = asked.map((one) => aDecision(world, one));
    const denials = asked.map((one) => aDecision(world, one, { answer: "deny", userId: world.otherApprover }));
    const steers = asked.map((one) => aSteer(world, one.runId));
    await expectNoDeadlock([
      () => decideApproval.send(sql, decisions, wait),
      () => decideApproval.send(elsewhere, denials.toReversed(), wait),
      () => steerRun.send(sql, shuffle(steers, round), wait),
      () =>
        steerRun.send(
          elsewhere,
          shuffle(asked, round + 1).map((one) => aSteer(world, one.runId)),
          wait,
        ),
    ]);
  }
});

test("starts and kills of every scope in every order do not deadlock", async () => {
  const world = await makeWorld(sql);
  for (let round = 0; round < 8; round += 1) {
    const given: { runId: string; hold: Parameters<typeof aBegin>[0]["hold"]; callId: string }[] = [];
    for (let i = 0; i < 4; i += 1) {
      const hold = await claimRun(sql, await givenRun(sql, world));
      const call = aCall({ effect: "once" });
      await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
      given.push({ runId: hold.runId, hold, callId: call.id });
    }
    const scopes = [
      { scope: "workspace", scopeId: world.workspaceId },
      { scope: "definition", scopeId: world.definitionId },
      ...given.map(({ runId }) => ({ scope: "run" as const, scopeId: runId })),
    ].map((scope) => ({ ...scope, workspaceId: world.workspaceId }) as Parameters<typeof killScope>[1]);
    const begins = given.map((one) => aBegin(one));
    await expectNoDeadlock(
      shuffle(
        [
          () => beginCall.send(sql, begins, { blocking: true }),
          () => beginCall.send(elsewhere, begins.toReversed(), { blocking: true }),
          ...scopes.map((scope) => () => killScope(sql, scope, world.admin, "stop")),
          ...scopes.map((scope) => () => liftScope(elsewhere, scope, world.admin)),
        ],
        round,
      ),
    );
    for (const scope of scopes) await liftScope(sql, scope, world.admin);
  }
});

test("rows that are locked in the order they are named do deadlock: the order of the commits is what prevents it", async () => {
  const world = await makeWorld(sql);
  const [a, b] = [await givenRun(sql, world), await givenRun(sql, world)];
  await sql.unsafe(`
    create function lock_as_named(p_ids uuid[]) returns void language plpgsql as $$
    declare
      named uuid;
    begin
      foreach named in array p_ids loop
        perform 1 from runs r where r.id = named for no key update;
        perform pg_sleep(0.05);
      end loop;
    end $$`);
  const outcomes = await Promise.allSettled([
    sql.unsafe("select lock_as_named($1::uuid[])", [[a, b]]),
    elsewhere.unsafe("select lock_as_named($1::uuid[])", [[b, a]]),
  ]);
  expect(outcomes.map((outcome) => outcome.status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(String(outcomes.find((outcome) => outcome.status === "rejected")?.reason)).toContain("deadlock detected");
});

test("changes of policy in every scope do not deadlock with decisions that leave rules behind, starts and switches under it", async () => {
  const world = await makeWorld(sql);
  const { workspaceId } = world;
  const mail = { kind: "tool", name: "mail.send", workspaceId, covers: ["mail.send"] } as const;
  for (let round = 0; round < 8; round += 1) {
    const gated = [];
    const about = [];
    for (let i = 0; i < 4; i += 1) {
      gated.push(await givenGatedRun(sql, world));
      about.push(await givenRequestedCall(sql, world, { effect: "once" }));
    }
    const on = (index: number): Sql => (index % 2 === 0 ? sql : elsewhere);
    const scopes = ["workspace", "definition", "run"] as const;
    const acts = [
      ...gated.map((given, index) => () => {
        const remember = { ruleId: uuidv7(), scope: scopes[index % 3] ?? "run" };
        return commitWithin(on(index), decideApproval, aDecision(world, given, { userId: world.admin, remember }));
      }),
      ...about.map((given, index) => () => commitWithin(on(index), beginCall, aBegin(given))),
      ...gated.map(({ runId }, index) => () => {
        const at = index === 0 ? { run: runId } : (scopes[index % 2] as "workspace" | "definition");
        const mode = round % 2 === 0 ? "ask" : "allow";
        return setRules(on(index), scopeOf(world, at), authorOf(world), [
          toolRule("mail.send", mode),
          toolRule("kb.read", mode),
        ]);
      }),
      () =>
        setDial(sql, scopeOf(world, "definition"), authorOf(world), {
          dial: { level: round % 2 === 0 ? "low" : "none" },
        }),
      () => revokeRules(elsewhere, scopeOf(world, "definition"), authorOf(world), "remembered", undefined),
      () => killTool(sql, mail, authorOf(world), "a drill"),
      () => liftTool(elsewhere, mail, authorOf(world)),
    ];
    await expectNoDeadlock(shuffle(acts, round));
  }
});
