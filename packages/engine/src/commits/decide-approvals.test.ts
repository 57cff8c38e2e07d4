import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { createCommitter } from "../committer.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aDecision,
  aGatedCall,
  aTurn,
  claimRun,
  givenGatedRun,
  givenRun,
  makeWorld,
  type World,
} from "../testing/fixtures.ts";
import { moveDeadlines, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { cancelRun } from "./cancel-run.ts";
import { decideApproval, decideApprovals, type DecideApproval } from "./decide-approval.ts";
import { recordTurn } from "./record-turn.ts";

const { sql, elsewhere } = await engineDatabase();

async function decideAll(decisions: readonly DecideApproval[]): Promise<string[]> {
  return (await commitWithin(sql, decideApprovals, decisions)).map(({ kind }) => kind);
}

async function statusesOf(ids: readonly string[]): Promise<string[]> {
  const rows = await sql<{ status: string }[]>`
    select a.status from unnest(${ids as string[]}::uuid[]) with ordinality n (id, i) join approvals a using (id) order by n.i`;
  return rows.map(({ status }) => status);
}

/** A run that asks for two things in one turn. */
async function givenTwoGates(world: World): Promise<{ runId: string; approvalIds: string[] }> {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const calls = [aGatedCall(), aGatedCall({ position: 1 })];
  await commitWithin(sql, recordTurn, aTurn(hold, { calls }));
  return { runId, approvalIds: calls.map(({ next }) => (next.kind === "approval" ? next.approvalId : "")) };
}

test("several approvals of several runs, two of one run among them, are decided in one commit", async () => {
  const world = await makeWorld(sql);
  const one = await givenGatedRun(sql, world);
  const two = await givenTwoGates(world);
  const asked = [one, ...two.approvalIds.map((approvalId) => ({ runId: two.runId, approvalId }))];
  const decisions = asked.map((each, i) => aDecision(world, each, { answer: i === 1 ? "deny" : "approve" }));
  expect(await decideAll(decisions)).toEqual(["decided", "decided", "decided"]);
  expect(await statusesOf(asked.map(({ approvalId }) => approvalId))).toEqual(["approved", "denied", "approved"]);
  for (const { runId } of [one, two])
    expect(await runRow(sql, runId)).toMatchObject({ status: "running", is_ready: true });
});

test("votes and decisions go together, also in one run, and are told apart", async () => {
  const world = await makeWorld(sql, { approvers: { quorum: 2 } });
  const two = await givenTwoGates(world);
  const asked = two.approvalIds.map((approvalId) => ({ runId: two.runId, approvalId }));
  for (const first of asked.slice(0, 1)) await commitWithin(sql, decideApproval, aDecision(world, first));
  const decisions = asked.map((each) => aDecision(world, each, { userId: world.otherApprover }));
  expect(await decideAll(decisions)).toEqual(["decided", "voted"]);
});

describe("AZ28: where one of a batch is refused, nothing of it is applied", () => {
  test.each<["approve" | "deny"]>([["approve"], ["deny"]])("an approval named twice, with %s", async (answer) => {
    const world = await makeWorld(sql);
    const given = await givenGatedRun(sql, world);
    const other = await givenGatedRun(sql, world);
    const before = await allRows(sql);
    await expect(
      decideAll([aDecision(world, given), aDecision(world, other), aDecision(world, given, { answer })]),
    ).rejects.toThrow("named twice");
    expect(await allRows(sql)).toBe(before);
  });

  const reasons: readonly (readonly [string, (world: World, id: string, runId: string) => Promise<unknown>])[] = [
    [
      "settled",
      (world, approvalId, runId) =>
        commitWithin(
          sql,
          decideApproval,
          aDecision(world, { runId, approvalId }, { answer: "deny", userId: world.admin }),
        ),
    ],
    [
      "settled",
      (world, _id, runId) =>
        commitWithin(sql, cancelRun, { runId, workspaceId: world.workspaceId, userId: world.operator, reason: "no" }),
    ],
    ["expired", (_world, _id, runId) => moveDeadlines(sql, runId, -1_000)],
    ["stale", (_world, id) => sql`update approvals set version = 7 where id = ${id}`],
    [
      "killed",
      (world, _id, runId) =>
        sql`insert into policies (scope_id, scope, workspace_id, killed_at) values (${runId}, 'run', ${world.workspaceId}, clock_timestamp())`,
    ],
    ["not_found", (_world, id) => sql`update approvals set workspace_id = ${uuidv7()} where id = ${id}`],
  ];
  test.each(reasons)("one that is %s", async (kind, spoil) => {
    const world = await makeWorld(sql);
    const good = await givenGatedRun(sql, world);
    const bad = await givenGatedRun(sql, world, { expiresMs: 60_000 });
    const last = await givenGatedRun(sql, world);
    await spoil(world, bad.approvalId, bad.runId);
    const outcomes = await decideAll([good, bad, last].map((each) => aDecision(world, each)));
    expect(outcomes).toEqual(["held_back", kind, "held_back"]);
    expect(await statusesOf([good.approvalId, last.approvalId])).toEqual(["pending", "pending"]);
    for (const { runId } of [good, last])
      expect(await runRow(sql, runId)).toMatchObject({ status: "paused", is_ready: false });
    const audit =
      await sql`select subject from audit where workspace_id = ${world.workspaceId} and action = 'approval.decision_refused'`;
    expect(audit).toEqual(kind === "expired" ? [{ subject: bad.approvalId }] : []);
  });

  test("somebody who may not decide, each refusal in the audit", async () => {
    const world = await makeWorld(sql);
    const asked = [await givenGatedRun(sql, world), await givenGatedRun(sql, world)];
    expect(await decideAll(asked.map((each) => aDecision(world, each, { userId: world.viewer })))).toEqual([
      "forbidden",
      "forbidden",
    ]);
    const audit = await sql`select action from audit where workspace_id = ${world.workspaceId}`;
    expect(audit).toHaveLength(2);
  });
});

test("the same batch again is told that it stands", async () => {
  const world = await makeWorld(sql);
  const asked = [await givenGatedRun(sql, world), await givenGatedRun(sql, world)];
  const decisions = asked.map((each) => aDecision(world, each));
  await decideAll(decisions);
  const before = await allRows(sql);
  expect(await decideAll(decisions)).toEqual(["repeated", "repeated"]);
  expect(await allRows(sql)).toBe(before);
});

test("of two batches in opposite orders behind one lock, one wins as a whole", async () => {
  const world = await makeWorld(sql);
  const asked = [await givenGatedRun(sql, world), await givenGatedRun(sql, world), await givenGatedRun(sql, world)];
  const approving = asked.map((each) => aDecision(world, each));
  const denying = asked
    .toReversed()
    .map((each) => aDecision(world, each, { answer: "deny" as const, userId: world.otherApprover }));
  const { waiting } = await behindLock(sql, asked[1]?.runId ?? "", {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, decideApprovals, approving),
      () => commitWithin(elsewhere, decideApprovals, denying),
    ],
  });
  const kinds = waiting.map((outcomes) => [...new Set(outcomes.map(({ kind }) => kind))].join());
  expect(kinds.toSorted()).toEqual(["decided", "settled"]);
  expect(new Set(await statusesOf(asked.map(({ approvalId }) => approvalId))).size).toBe(1);
});

test("a batch goes alone and waits for its locks, while other decisions pass it by", async () => {
  const world = await makeWorld(sql);
  const [held, free, alone] = [
    await givenGatedRun(sql, world),
    await givenGatedRun(sql, world),
    await givenGatedRun(sql, world),
  ];
  let rings = 0;
  const commit = createCommitter({ sql, stragglers: elsewhere, ring: () => (rings += 1) });
  const { first, waiting } = await behindLock(sql, held.runId, {
    first: async () => await commit(decideApproval, aDecision(world, alone)),
    waiting: [() => commit(decideApprovals, [aDecision(world, held), aDecision(world, free)])],
  });
  expect(first).toMatchObject({ kind: "decided" });
  expect(waiting[0].map(({ kind }) => kind)).toEqual(["decided", "decided"]);
  expect(rings).toBe(2);
});

test("DU05: a batch that fails at any write leaves nothing", async () => {
  const world = await makeWorld(sql);
  const asked = [await givenGatedRun(sql, world), await givenGatedRun(sql, world)];
  const { outcome } = await failAtEveryWrite(sql, (on) =>
    commitWithin(
      on,
      decideApprovals,
      asked.map((each) => aDecision(world, each)),
    ),
  );
  expect(outcome.map(({ kind }) => kind)).toEqual(["decided", "decided"]);
});
