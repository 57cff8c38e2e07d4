import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aDecision, givenGatedRun, givenUnknownCall, makeWorld, type World } from "../testing/fixtures.ts";
import { runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { decideApproval } from "./decide-approval.ts";
import { expireWaits } from "./expire-waits.ts";
import { killScope } from "./kill-scope.ts";
import { liftScope } from "./lift-scope.ts";

const { sql, elsewhere } = await engineDatabase();

const rule = {
  roles: ["approver"],
  remindBeforeMs: 1_800_000,
  escalation: { afterMs: 2_400_000, to: { roles: ["operator"] } },
};

const hour = 3_600_000;

/** So much time passes for a run: all that is still to come of its approvals comes sooner. */
async function pass(runId: string, ms: number): Promise<void> {
  await sql.unsafe(
    `with gone as (select $2::float8 * interval '1 millisecond' as by),
          asked as (update approvals a
                       set expires_at = a.expires_at - g.by, remind_at = a.remind_at - g.by, escalate_at = a.escalate_at - g.by
                      from gone g where a.run_id = $1::uuid and a.status = 'pending'),
          calls as (update tool_calls c set wait_until = c.wait_until - g.by, notice_at = c.notice_at - g.by from gone g
                     where c.run_id = $1::uuid and c.waits_on is not null)
     update runs r set wake_at = r.wake_at - g.by from gone g where r.id = $1::uuid`,
    [runId, ms],
  );
}

async function linesOf(runId: string): Promise<string[]> {
  const rows = await sql<{ kind: string }[]>`
    select kind from run_log where run_id = ${runId} and kind like 'approval.%' order by seq`;
  return rows.map(({ kind }) => kind);
}

async function given(world: World) {
  return await givenGatedRun(sql, world, { expiresMs: hour });
}

test("AZ40: nobody answers: reminded before the expiry, escalated, at last expired, each once and to be seen", async () => {
  const world = await makeWorld(sql, { approvers: rule });
  const asked = await given(world);
  const [before] =
    await sql`select wake_at - clock_timestamp() < interval '31 minutes' as is_reminder from runs where id = ${asked.runId}`;
  expect(before).toEqual({ is_reminder: true });
  expect(await expireWaits(sql, 10)).toEqual([]);

  await pass(asked.runId, 1_800_001);
  const [task] = await sql`select changed from tasks where run_id = ${asked.runId}`;
  expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
  expect(await expireWaits(sql, 10)).toEqual([]);
  expect(await linesOf(asked.runId)).toEqual(["approval.reminded"]);
  expect(await runRow(sql, asked.runId)).toMatchObject({ status: "paused", is_ready: false });
  expect(await sql`select changed from tasks where run_id = ${asked.runId}`).not.toEqual([task]);
  expect(await commitWithin(sql, decideApproval, aDecision(world, asked, { userId: world.operator }))).toMatchObject({
    kind: "forbidden",
  });

  await pass(asked.runId, 600_000);
  expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
  expect(await linesOf(asked.runId)).toEqual(["approval.reminded", "approval.escalated"]);
  const audit =
    await sql`select actor, action, details from audit where subject = ${asked.approvalId} and action = 'approval.escalated'`;
  expect(audit).toEqual([
    { actor: "system:timer", action: "approval.escalated", details: { to: { roles: ["operator"] } } },
  ]);

  await pass(asked.runId, 1_200_000);
  expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
  expect(await linesOf(asked.runId)).toEqual(["approval.reminded", "approval.escalated", "approval.expired"]);
  const [row] =
    await sql`select a.status, t.status as card from approvals a join tasks t on t.id = a.task_id where a.id = ${asked.approvalId}`;
  expect(row).toEqual({ status: "expired", card: "expired" });
});

test("once it is escalated, those of the escalation decide as well, and those before still may", async () => {
  const world = await makeWorld(sql, { approvers: rule });
  for (const userId of [world.operator, world.approver]) {
    const asked = await given(world);
    await pass(asked.runId, 2_400_001);
    expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
    expect(await commitWithin(sql, decideApproval, aDecision(world, asked, { userId, answer: "deny" }))).toMatchObject({
      kind: "decided",
    });
  }
});

test("what is overdue expires without being reminded of first; what is decided is brought to nobody's mind", async () => {
  const world = await makeWorld(sql, { approvers: rule });
  const late = await given(world);
  await pass(late.runId, hour + 1_000);
  expect(await expireWaits(sql, 10)).toEqual([late.runId]);
  expect(await linesOf(late.runId)).toEqual(["approval.expired"]);

  const decided = await given(world);
  await commitWithin(sql, decideApproval, aDecision(world, decided));
  await pass(decided.runId, 1_800_001);
  expect(await expireWaits(sql, 10)).toEqual([]);
  expect(await linesOf(decided.runId)).toEqual(["approval.decided"]);
});

test("an unknown effect, which never expires, is escalated too", async () => {
  const world = await makeWorld(sql, { approvers: { escalation: { afterMs: 60_000, to: { users: [] } } } });
  await sql`update definition_versions
               set spec = jsonb_set(spec::jsonb, '{approvers,escalation,to,users}', jsonb_build_array(${world.viewer}::text))::json
             where definition_id = ${world.definitionId}`;
  const asked = await givenUnknownCall(sql, world);
  await pass(asked.runId, 60_001);
  expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
  const answer = aDecision(world, asked, { userId: world.viewer, answer: "done" });
  expect(await commitWithin(sql, decideApproval, answer)).toMatchObject({ kind: "decided" });
});

test("AZ69: under a kill switch nobody is reminded; after the lift they are", async () => {
  const world = await makeWorld(sql, { approvers: rule });
  const asked = await given(world);
  const scope = { scope: "run", scopeId: asked.runId, workspaceId: world.workspaceId } as const;
  await killScope(sql, scope, world.admin, "stop");
  await pass(asked.runId, 1_800_001);
  expect(await expireWaits(sql, 10)).toEqual([]);
  await liftScope(sql, scope, world.admin);
  await sql`update runs set wake_at = clock_timestamp() where id = ${asked.runId}`;
  expect(await expireWaits(sql, 10)).toEqual([asked.runId]);
  expect(await linesOf(asked.runId)).toEqual(["approval.reminded"]);
});

test("AZ41: an approval without an expiry waits on whatever time passes, and never wakes its run", async () => {
  const world = await makeWorld(sql);
  const asked = await givenGatedRun(sql, world);
  await sql`update approvals set requested_at = requested_at - interval '1 year' where id = ${asked.approvalId}`;
  expect(await expireWaits(sql, 10)).toEqual([]);
  const [row] =
    await sql`select a.status, r.wake_at from approvals a join runs r on r.id = a.run_id where a.id = ${asked.approvalId}`;
  expect(row).toEqual({ status: "pending", wake_at: null });
  expect(await commitWithin(sql, decideApproval, aDecision(world, asked))).toMatchObject({ kind: "decided" });
});

test("of two sweepers at once, one reminds; a decision that comes first leaves nothing to remind of", async () => {
  const world = await makeWorld(sql, { approvers: rule });
  const asked = await given(world);
  await pass(asked.runId, 1_800_001);
  await Promise.all([expireWaits(sql, 10), expireWaits(elsewhere, 10)]);
  expect(await linesOf(asked.runId)).toEqual(["approval.reminded"]);

  const other = await given(world);
  await pass(other.runId, 1_800_001);
  await behindLock(sql, other.runId, {
    first: async (tx) => await commitWithin(tx, decideApproval, aDecision(world, other)),
    waiting: [],
  });
  expect(await expireWaits(sql, 10)).toEqual([]);
});

test("a reminder that fails at any write leaves nothing", async () => {
  const world = await makeWorld(sql, { approvers: rule });
  const asked = await given(world);
  await pass(asked.runId, 2_400_001);
  const before = await allRows(sql);
  const { written } = await failAtEveryWrite(sql, (on) => expireWaits(on, 10));
  expect(written).toEqual(["approvals", "tool_calls", "tasks", "audit", "run_log", "runs"]);
  expect(await allRows(sql)).not.toBe(before);
  expect(await linesOf(asked.runId)).toEqual(["approval.reminded", "approval.escalated"]);
});
