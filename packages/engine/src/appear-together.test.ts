import type { Sql } from "@countersign/db/connect.ts";
import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { aDecision, aGatedCall, aTurn, claimRun, givenRun, makeWorld } from "./testing/fixtures.ts";
import type { Hold } from "./held-run.ts";

const { sql, elsewhere } = await engineDatabase();

/**
 * Reads as fast as it can, in one statement each time, until `work` is done; returns every different row it saw. Work may
 * wait for another look, so that a machine that is busy with other things looks often enough, too.
 */
async function watch(on: Sql, query: string, work: (look: () => Promise<void>) => Promise<void>): Promise<object[]> {
  const seen = new Map<string, object>();
  let isDone = false;
  let looking = Promise.resolve();
  const look = async (): Promise<void> => {
    for (const row of await on.unsafe<object[]>(query, [], { prepare: true })) seen.set(JSON.stringify(row), row);
  };
  const watching = (async () => {
    while (!isDone) await (looking = look());
  })();
  try {
    await work(async () => await looking);
  } finally {
    isDone = true;
    await watching;
  }
  return [...seen.values()];
}

test("DU10: approval, card and paused status appear together and never apart, as another connection sees them", async () => {
  const world = await makeWorld(sql);
  const holds: Hold[] = [];
  for (let i = 0; i < 60; i += 1) holds.push(await claimRun(sql, await givenRun(sql, world)));
  const states = `
    select r.status, r.waits_on, r.lease_id is null as is_parked, count(a.id)::int as approvals, count(t.id)::int as cards,
           (select count(*)::int from tool_calls c where c.run_id = r.id and c.status = 'waiting') as waiting,
           (select count(*)::int from run_log l where l.run_id = r.id and l.kind = 'assistant') as turns
      from runs r
      left join approvals a on a.run_id = r.id and a.status = 'pending'
      left join tasks t on t.approval_id = a.id and t.status = 'open'
     where r.workspace_id = '${world.workspaceId}'
     group by r.id`;
  const seen = await watch(elsewhere, states, async (look) => {
    await look();
    const record = async (hold: Hold) => {
      const calls = [aGatedCall(), aGatedCall({ position: 1 })];
      expect(await commitWithin(sql, recordTurn, aTurn(hold, { calls }))).toMatchObject({ isParked: true });
    };
    for (const [n, hold] of holds.slice(0, 40).entries()) {
      await record(hold);
      if (n % 8 === 0) await look();
    }
    await recordTurn.send(
      sql,
      holds.slice(40).map((hold) => aTurn(hold, { calls: [aGatedCall(), aGatedCall({ position: 1 })] })),
      { blocking: false },
    );
  });
  const none = { approvals: 0, cards: 0, waiting: 0, turns: 0 };
  const both = { approvals: 2, cards: 2, waiting: 2, turns: 1 };
  expect(seen).toHaveLength(2);
  expect(seen).toContainEqual({ status: "running", waits_on: null, is_parked: false, ...none });
  expect(seen).toContainEqual({ status: "paused", waits_on: "approval", is_parked: true, ...both });
});

test("DU03: decision, card, call, status and readiness appear together, as another connection sees them", async () => {
  const world = await makeWorld(sql);
  const asked: { runId: string; approvalId: string }[] = [];
  for (let i = 0; i < 60; i += 1) {
    const hold = await claimRun(sql, await givenRun(sql, world));
    const call = aGatedCall();
    await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
    if (call.next.kind === "approval") asked.push({ runId: hold.runId, approvalId: call.next.approvalId });
  }
  const states = `
    select r.status, r.waits_on, r.ready_at is not null as is_ready, a.status as approval, a.answer, a.decided_by is not null as is_decided,
           t.status as card, c.status as call, c.waits_on as call_waits_on,
           (select count(*)::int from audit u where u.run_id = r.id and u.action = 'approval.decided') as audit,
           (select count(*)::int from run_log l where l.run_id = r.id and l.kind = 'approval.decided') as log
      from runs r
      join approvals a on a.run_id = r.id
      join tasks t on t.id = a.task_id
      join tool_calls c on c.id = a.call_id
     where r.workspace_id = '${world.workspaceId}'`;
  const seen = await watch(elsewhere, states, async (look) => {
    await look();
    for (const [n, one] of asked.slice(0, 40).entries()) {
      await commitWithin(sql, decideApproval, aDecision(world, one, { feedback: "x".repeat(10_000) }));
      if (n % 8 === 0) await look();
    }
    await decideApproval.send(
      sql,
      asked.slice(40).map((one) => aDecision(world, one)),
      { blocking: false },
    );
  });
  expect(seen).toHaveLength(2);
  expect(seen).toContainEqual({
    status: "paused",
    waits_on: "approval",
    is_ready: false,
    approval: "pending",
    answer: null,
    is_decided: false,
    card: "open",
    call: "waiting",
    call_waits_on: "approval",
    audit: 0,
    log: 0,
  });
  expect(seen).toContainEqual({
    status: "running",
    waits_on: null,
    is_ready: true,
    approval: "approved",
    answer: "approve",
    is_decided: true,
    card: "done",
    call: "requested",
    call_waits_on: null,
    audit: 1,
    log: 1,
  });
});
