import { randomUUID as newId } from "node:crypto";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { extendApproval } from "@countersign/engine/commits/extend-approval.ts";
import { expireWaits } from "@countersign/engine/commits/expire-waits.ts";
import { givenGatedRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import { findEvents } from "./find-events.ts";

const { sql } = await testDatabase();

const events = ["approval.requested", "approval.reminded", "approval.escalated", "approval.decided"];

test("AZ40: a reminder and an escalation are told to webhooks, each once, with the deadline there is by then", async () => {
  const escalation = { afterMs: 2_400_000, to: { roles: ["operator"] } };
  const world = await makeWorld(sql, { approvers: { remindBeforeMs: 1_800_000, escalation } });
  await sql`insert into webhook_endpoints (id, workspace_id, url, events, secret_name, created_by)
            values (${newId()}, ${world.workspaceId}, 'https://93.184.215.14/hook', ${events}, 'x', ${world.admin})`;
  await sql`update webhook_follower set snapshot = pg_current_snapshot()`;
  const told = async () => {
    await findEvents(sql);
    const rows = await sql<{ event: string; payload: string }[]>`
      select event, payload from webhook_deliveries where workspace_id = ${world.workspaceId} order by id`;
    return rows.map(({ event, payload }) => ({ event, data: (JSON.parse(payload) as { data: object }).data }));
  };
  const asked = await givenGatedRun(sql, world, { expiresMs: 3_600_000 });
  expect(await told()).toMatchObject([{ event: "approval.requested" }]);
  for (const column of ["remind_at", "escalate_at"]) {
    await sql.unsafe(`update approvals set ${column} = clock_timestamp() where id = '${asked.approvalId}'`);
    await sql`update tool_calls set notice_at = clock_timestamp() where id = ${asked.callId}`;
    await sql`update runs set wake_at = clock_timestamp() where id = ${asked.runId}`;
    await expireWaits(sql, 10);
    await told();
  }
  const { runId, approvalId } = asked;
  const until = new Date(Date.now() + 9_000_000);
  await commitWithin(sql, extendApproval, {
    runId,
    approvalId,
    workspaceId: world.workspaceId,
    userId: world.approver,
    until,
  });
  expect(await told()).toMatchObject([
    { event: "approval.requested", data: { approvalId } },
    { event: "approval.reminded", data: { approvalId, runId, kind: "approval", expiresAt: expect.any(String) } },
    { event: "approval.escalated", data: { approvalId } },
  ]);
});

test("a delivery that cannot be written is told of, and keeps none of its own endpoint's or of another workspace", async () => {
  const worlds = [await makeWorld(sql), await makeWorld(sql)];
  for (const { workspaceId, admin } of worlds)
    await sql`insert into webhook_endpoints (id, workspace_id, url, events, secret_name, created_by)
              values (${newId()}, ${workspaceId}, 'https://93.184.215.14/hook', ${events}, 'x', ${admin})`;
  await sql`update webhook_follower set snapshot = pg_current_snapshot()`;
  const asked: string[] = [];
  for (const world of [...worlds, ...worlds]) asked.push((await givenGatedRun(sql, world)).approvalId);
  const [culprit = "", ...sound] = asked;
  await sql.unsafe(`alter table webhook_deliveries add constraint refuse_one check (subject <> '${culprit}')`);
  const failed: string[] = [];
  await findEvents(sql, ({ subject }) => failed.push(subject));
  await findEvents(sql, ({ subject }) => failed.push(subject));
  await sql`alter table webhook_deliveries drop constraint refuse_one`;
  expect(failed).toEqual([culprit]);
  const told = await sql<{ subject: string; payload: string }[]>`
    select subject, payload from webhook_deliveries where subject = any (${asked})`;
  expect(told.map(({ subject }) => subject).toSorted()).toEqual(sound.toSorted());
  for (const { subject, payload } of told)
    expect(JSON.parse(payload)).toMatchObject({ type: "approval.requested", data: { approvalId: subject } });
});
