import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aDecision, givenGatedRun, makeWorld, type World } from "../testing/fixtures.ts";
import { moveDeadlines, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { decideApproval } from "./decide-approval.ts";
import { expireWaits } from "./expire-waits.ts";
import { extendApproval, type ExtendApproval } from "./extend-approval.ts";
import { killScope } from "./kill-scope.ts";

const { sql, elsewhere } = await engineDatabase();

const hour = 3_600_000;

function anExtension(
  world: World,
  given: { readonly runId: string; readonly approvalId: string },
  over: Partial<ExtendApproval> = {},
): ExtendApproval {
  return {
    runId: given.runId,
    approvalId: given.approvalId,
    workspaceId: world.workspaceId,
    userId: world.approver,
    until: new Date(Date.now() + hour),
    way: "token:x over http",
    ...over,
  };
}

test("AZ40: an approver moves the deadline later: approval, call and run's wake-up with it, and the audit says who", async () => {
  const world = await makeWorld(sql, { approvers: { remindBeforeMs: 600_000 } });
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  await sql`update approvals set remind_at = null, reminded_at = clock_timestamp() where id = ${given.approvalId}`;
  await sql`update tool_calls set notice_at = null where id = ${given.callId}`;
  await sql`update runs set wake_at = (select wait_until from tool_calls where id = ${given.callId}) where id = ${given.runId}`;
  const until = new Date(Date.now() + hour);
  expect(await commitWithin(sql, extendApproval, anExtension(world, given, { until }))).toEqual({
    kind: "extended",
    status: "pending",
    expiresAt: until,
  });
  const [row] = await sql`
    select a.version, a.expires_at, c.wait_until, a.remind_at, c.notice_at, r.wake_at
      from approvals a join tool_calls c on c.id = a.call_id join runs r on r.id = a.run_id where a.id = ${given.approvalId}`;
  const reminder = new Date(until.getTime() - 600_000);
  expect(row).toEqual({
    version: 1,
    expires_at: until,
    wait_until: until,
    remind_at: reminder,
    notice_at: reminder,
    wake_at: reminder,
  });
  const audit = await sql`select actor, action, details from audit where subject = ${given.approvalId}`;
  expect(audit).toMatchObject([
    { actor: `user:${world.approver}`, action: "approval.extended", details: { way: "token:x over http" } },
  ]);
  await sql`update runs set wake_at = clock_timestamp() where id = ${given.runId}`;
  expect(await expireWaits(sql, 10)).toEqual([]);
  expect(await commitWithin(sql, decideApproval, aDecision(world, given))).toMatchObject({ kind: "decided" });
});

test("extending is refused for whoever may not decide, to an earlier moment, without a deadline, decided, killed or of nobody", async () => {
  const world = await makeWorld(sql);
  const neighbor = await makeWorld(sql);
  const waiting = await givenGatedRun(sql, world, { expiresMs: hour });
  const endless = await givenGatedRun(sql, world);
  const decided = await givenGatedRun(sql, world, { expiresMs: hour });
  await commitWithin(sql, decideApproval, aDecision(world, decided));
  const killed = await givenGatedRun(sql, world, { expiresMs: hour });
  await killScope(sql, { scope: "run", scopeId: killed.runId, workspaceId: world.workspaceId }, world.admin, "stop");
  const later = { until: new Date(Date.now() + 2 * hour) };
  const refused: readonly (readonly [ExtendApproval, string])[] = [
    [anExtension(world, waiting, { until: new Date(Date.now() + 1_000) }), "not_later"],
    [anExtension(world, endless, later), "never_expires"],
    [anExtension(world, decided, later), "settled"],
    [anExtension(world, killed, later), "killed"],
    [anExtension(neighbor, waiting, later), "not_found"],
    [anExtension(world, { runId: waiting.runId, approvalId: uuidv7() }, later), "not_found"],
  ];
  const before = await allRows(sql);
  for (const [asked, kind] of refused) expect(await commitWithin(sql, extendApproval, asked)).toMatchObject({ kind });
  expect(await allRows(sql)).toBe(before);
  for (const userId of [world.operator, neighbor.approver])
    expect(await commitWithin(sql, extendApproval, anExtension(world, waiting, { userId, ...later }))).toMatchObject({
      kind: "forbidden",
    });
  const audit = await sql`select action from audit where subject = ${waiting.approvalId}`;
  expect(audit).toEqual([{ action: "approval.extension_refused" }, { action: "approval.extension_refused" }]);
});

test("AZ39: from the deadline on nothing is extended, whether or not anybody swept, and the audit keeps the attempt", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  await moveDeadlines(sql, given.runId, -1);
  expect(await commitWithin(sql, extendApproval, anExtension(world, given))).toMatchObject({ kind: "expired" });
  await expireWaits(sql, 10);
  expect(await commitWithin(sql, extendApproval, anExtension(world, given))).toMatchObject({ kind: "expired" });
  const audit = await sql`select action from audit where subject = ${given.approvalId}`;
  expect(audit).toHaveLength(2);
});

test("a deadline that passes while a lock is held is passed for an extension and a decision that waited for the lock", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: hour });
  const { waiting } = await behindLock(sql, given.runId, {
    first: async (tx) => await moveDeadlines(tx, given.runId, -1),
    waiting: [
      () => commitWithin(sql, extendApproval, anExtension(world, given, { until: new Date(Date.now() + 3 * hour) })),
      () => commitWithin(elsewhere, decideApproval, aDecision(world, given)),
    ],
  });
  expect(waiting.map(({ kind }) => kind)).toEqual(["expired", "expired"]);
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused" });
});

test("of two extensions behind one lock both are taken where the second is later, else the later one stands", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  const [sooner, later] = [new Date(Date.now() + hour), new Date(Date.now() + 2 * hour)];
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, extendApproval, anExtension(world, given, { until: later })),
      () => commitWithin(elsewhere, extendApproval, anExtension(world, given, { until: sooner })),
    ],
  });
  expect(waiting[0].kind).toBe("extended");
  const [row] = await sql`select expires_at from approvals where id = ${given.approvalId}`;
  expect(row?.["expires_at"]).toEqual(later);
});

test("DU05: an extension that fails at any write leaves nothing", async () => {
  const world = await makeWorld(sql);
  const given = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, extendApproval, anExtension(world, given)),
  );
  expect(outcome.kind).toBe("extended");
  expect(written).toEqual(["approvals", "tool_calls", "tasks", "run_log", "audit", "runs"]);
});
