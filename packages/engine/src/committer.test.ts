import { connect, type Queryable } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { type CommitKind, commitWithin } from "./commit.ts";
import { answerQuestion } from "./commits/answer-question.ts";
import { beginCall } from "./commits/begin-call.ts";
import { type CancelRun, cancelRun } from "./commits/cancel-run.ts";
import { completeCall } from "./commits/complete-call.ts";
import { decideApproval } from "./commits/decide-approval.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { steerRun } from "./commits/steer-run.ts";
import { type Committer, createCommitter } from "./committer.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aGatedCall,
  anAnswer,
  aSteer,
  aTurn,
  claimRun,
  givenExecutingCall,
  givenGatedRun,
  givenQuestionRun,
  givenRequestedCall,
  givenRun,
  givenUnknownCall,
  makeWorld,
  type World,
} from "./testing/fixtures.ts";
import { adopt, countRows, runRow } from "./testing/rows.ts";

const { sql, url } = await engineDatabase();
const stragglers = connect(url, { max: 4 });
afterAll(() => stragglers.end({ timeout: 5 }));

function aCommitter(ring = () => {}): Committer {
  return createCommitter({ sql, stragglers, ring });
}

/** The same kind, with every batch that is sent noted by its runs. */
function noting<T, R>(kind: CommitKind<T, R>): { kind: CommitKind<T, R>; batches: string[][] } {
  const batches: string[][] = [];
  const noted: CommitKind<T, R> = {
    ...kind,
    send: (on, transitions, how) => {
      batches.push(transitions.flatMap((transition) => [...kind.runsOf(transition)]));
      return kind.send(on, transitions, how);
    },
  };
  return { kind: noted, batches };
}

/** Holds the rows of runs on a connection of its own, as somebody's slow commit would, until `body` is done. */
async function whileHeld<R>(runIds: readonly string[], body: () => Promise<R>): Promise<R> {
  return await transaction(sql, async (tx) => {
    await tx`select from runs where id = any (${runIds as string[]}::uuid[]) order by id for no key update`;
    return await body();
  });
}

function aCancel(world: World, runId: string): CancelRun {
  return { runId, workspaceId: world.workspaceId, userId: world.operator, reason: "not needed" };
}

test("two siblings of one run never share a batch, and both are recorded", async () => {
  const world = await makeWorld(sql);
  const commit = aCommitter();
  const { kind, batches } = noting(completeCall);
  const runs = [];
  for (let i = 0; i < 6; i += 1) {
    const hold = await claimRun(sql, await givenRun(sql, world));
    const calls = [0, 1, 2, 3, 4].map((position) => aCall({ position }));
    await commitWithin(sql, recordTurn, aTurn(hold, { calls }));
    runs.push({ hold, calls });
  }
  const outcomes = await Promise.all(
    runs.flatMap(({ hold, calls }) =>
      calls.map((call) => commit(kind, { ...hold, callId: call.id, status: "done", result: '"x"' })),
    ),
  );
  expect(outcomes.map((outcome) => outcome.kind)).toEqual(Array(30).fill("completed"));
  expect(batches.length).toBeLessThan(30);
  for (const batch of batches) expect(new Set(batch).size).toBe(batch.length);
  for (const { hold } of runs) expect(await countRows(sql, "run_log", hold.runId)).toBe(7);
});

describe("a row that somebody holds", () => {
  test("delays only the commits of its own run, which take effect in their order once it is free", async () => {
    const world = await makeWorld(sql);
    const commit = aCommitter();
    const held = await claimRun(sql, await givenRun(sql, world));
    const free: string[] = [];
    for (let i = 0; i < 8; i += 1) free.push(await givenRun(sql, world));
    const settled: number[] = [];
    const late = await whileHeld([held.runId], async () => {
      const late = [0, 1, 2].map(async (index) => {
        const outcome = await commit(steerRun, aSteer(world, held.runId, { content: `"${index}"` }));
        settled.push(index);
        return outcome;
      });
      const others = await Promise.all(free.map((runId) => commit(steerRun, aSteer(world, runId))));
      expect(others).toEqual(Array(8).fill({ kind: "queued", n: 1 }));
      expect(await Promise.all(free.map((runId) => commit(steerRun, aSteer(world, runId))))).toEqual(
        Array(8).fill({ kind: "queued", n: 2 }),
      );
      expect(settled).toEqual([]);
      return late;
    });
    expect(await Promise.all(late)).toEqual([1, 2, 3].map((n) => ({ kind: "queued", n })));
    const sent = await sql`select content from steers where run_id = ${held.runId} order by n`;
    expect(sent.map((row) => row.content)).toEqual(['"0"', '"1"', '"2"']);
  });

  test("delays no other run's commit of any kind, also where several are held", async () => {
    const world = await makeWorld(sql);
    const commit = aCommitter();
    const asked: { runId: string; approvalId: string }[] = [];
    for (let i = 0; i < 6; i += 1) asked.push(await givenGatedRun(sql, world));
    const held = asked.slice(0, 3);
    const late = await whileHeld(
      held.map(({ runId }) => runId),
      async () => {
        const late = held.map((one) => commit(decideApproval, aDecision(world, one)));
        const outcomes = await Promise.all(asked.slice(3).map((one) => commit(decideApproval, aDecision(world, one))));
        expect(outcomes).toMatchObject(Array(3).fill({ kind: "decided" }));
        return late;
      },
    );
    expect(await Promise.all(late)).toMatchObject(Array(3).fill({ kind: "decided" }));
  });

  test("delays the cancel of its own tree and no other cancel", async () => {
    const world = await makeWorld(sql);
    const commit = aCommitter();
    const [root, child, other] = [await givenRun(sql, world), await givenRun(sql, world), await givenRun(sql, world)];
    await adopt(sql, root, child);
    const late = await whileHeld([child], async () => {
      const late = commit(cancelRun, aCancel(world, root));
      expect(await commit(cancelRun, aCancel(world, other))).toEqual({ kind: "canceled", runs: 1 });
      expect(await runRow(sql, root)).toMatchObject({ status: "queued" });
      return [late];
    });
    expect(await late[0]).toEqual({ kind: "canceled", runs: 2 });
  });
});

test("a cancel spans runs and goes alone: cancels of overlapping trees, at once, cancel every run once", async () => {
  const world = await makeWorld(sql);
  const commit = aCommitter();
  const { kind, batches } = noting(cancelRun);
  const tree = [];
  for (let i = 0; i < 7; i += 1) tree.push(await givenRun(sql, world));
  for (let i = 1; i < 7; i += 1) await adopt(sql, tree[(i - 1) >> 1] ?? "", tree[i] ?? "");
  const outcomes = await Promise.all(tree.toReversed().map((runId) => commit(kind, aCancel(world, runId))));
  const canceled = outcomes.reduce((sum, outcome) => sum + ("runs" in outcome ? outcome.runs : 0), 0);
  expect(canceled).toBe(7);
  for (const batch of batches) expect(batch).toHaveLength(1);
});

test("a member that Postgres refuses fails alone, and its batch goes on without it", async () => {
  const world = await makeWorld(sql);
  const commit = aCommitter();
  const { kind, batches } = noting(decideApproval);
  const asked = [];
  for (let i = 0; i < 6; i += 1) asked.push(await givenGatedRun(sql, world));
  const outcomes = await Promise.allSettled(
    asked.map((one, index) =>
      commit(kind, aDecision(world, one, index === 3 ? { feedback: "a raw \u0000 in it" } : { feedback: "fine" })),
    ),
  );
  expect(batches.some((batch) => batch.length > 1)).toBe(true);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(
    asked.map((_, index) => (index === 3 ? "rejected" : "fulfilled")),
  );
  const poisoned = asked[3]?.runId ?? "";
  expect(await runRow(sql, poisoned)).toMatchObject({ status: "paused", is_ready: false });
  expect(await countRows(sql, "audit", poisoned)).toBe(0);
});

test("the bell is rung after commits that make a run ready, and after no others", async () => {
  const world = await makeWorld(sql);
  let rings = 0;
  const commit = aCommitter(() => {
    rings += 1;
  });
  const given = await givenGatedRun(sql, world);
  await commit(decideApproval, aDecision(world, given, { userId: world.viewer }));
  await commit(decideApproval, aDecision(world, given, { version: 7 }));
  expect(rings).toBe(0);
  await commit(decideApproval, aDecision(world, given));
  expect(rings).toBe(1);
  await commit(decideApproval, aDecision(world, given));
  expect(rings).toBe(1);
});

/** Runs in every state, the same ones in every world. */
async function givenZoo(world: World) {
  const gated = async () => await givenGatedRun(sql, world, { siblings: [aCall({ position: 1 })] });
  const zoo = [];
  for (let i = 0; i < 3; i += 1) {
    const a = await gated();
    zoo.push({ runId: a.runId, hold: a.hold, callId: a.callId, approvalId: a.approvalId });
    zoo.push(await givenQuestionRun(sql, world));
    zoo.push(await givenExecutingCall(sql, world));
    zoo.push(await givenRequestedCall(sql, world, { effect: "idempotent", requires: ["mail.send"] }));
    zoo.push(await givenUnknownCall(sql, world));
    const runId = await givenRun(sql, world);
    zoo.push({ runId, hold: await claimRun(sql, runId) });
  }
  return zoo.map((one) => ({
    approvalId: world.workspaceId,
    questionId: world.workspaceId,
    callId: world.workspaceId,
    ...one,
  }));
}

type Animal = Awaited<ReturnType<typeof givenZoo>>[number];
type Commit = <T, R>(kind: CommitKind<T, R>, transition: T) => Promise<R>;

/** One transition of a wave: which animal, and a number that chooses the details. */
type Move = { at: number; variant: number };

const waves: Record<
  string,
  (commit: Commit, world: World, animal: Animal, variant: number) => Promise<{ kind: string }>
> = {
  decide: (commit, world, animal, variant) =>
    commit(
      decideApproval,
      aDecision(world, animal, {
        answer: (["approve", "deny", "done", "retry", "give_up"] as const)[variant % 5] ?? "approve",
        userId: variant % 7 === 0 ? world.viewer : variant % 2 === 0 ? world.approver : world.otherApprover,
        version: variant % 11 === 0 ? 2 : 1,
      }),
    ),
  answer: (commit, world, animal, variant) =>
    commit(
      answerQuestion,
      anAnswer(world, animal, { answer: variant % 3 === 0 ? undefined : `answer ${variant % 4}` }),
    ),
  steer: (commit, world, animal) => commit(steerRun, aSteer(world, animal.runId)),
  begin: (commit, _world, animal, variant) =>
    commit(
      beginCall,
      aBegin(animal, { again: variant % 2 === 0, policyVersions: variant % 9 === 0 ? "9" : "1.1.1.0" }),
    ),
  complete: (commit, _world, animal, variant) =>
    commit(completeCall, {
      ...animal.hold,
      epoch: animal.hold.epoch + (variant % 13 === 0 ? 1 : 0),
      callId: animal.callId,
      status: (["done", "failed", "denied"] as const)[variant % 3] ?? "done",
      result: `"result ${variant}"`,
    }),
  turn: (commit, _world, animal, variant) =>
    commit(
      recordTurn,
      aTurn(animal.hold, {
        turn: 0,
        steersRead: 0,
        calls: variant % 3 === 0 ? [aGatedCall(), aCall({ position: 1 })] : [],
        ...(variant % 3 === 1 ? { output: '"done"' } : {}),
      }),
    ),
};

/** Everything that is recorded of the animals, without ids and times. */
async function stateOf(on: Queryable, zoo: readonly Animal[]): Promise<unknown[]> {
  const states = [];
  for (const { runId } of zoo) {
    const [row] = await on.unsafe<object[]>(
      `select r.status, r.waits_on, r.ready_at is not null as ready, r.lease_id is not null as leased, r.epoch, r.last_seq, r.unread,
              r.turns, r.call_count, r.output,
              array(select c.status || ' ' || coalesce(c.waits_on, '') || ' ' || c.attempt || ' ' || coalesce(c.result, '')
                      from tool_calls c where c.run_id = r.id order by c.turn_seq, c.position) as calls,
              array(select a.status || ' ' || a.version || ' ' || coalesce(a.answer, '') || ' ' || t.status
                      from approvals a join tasks t on t.id = a.task_id where a.run_id = r.id order by a.id) as approvals,
              array(select q.status || ' ' || coalesce(q.answer, '') from questions q where q.run_id = r.id) as questions,
              array(select l.kind || ' ' || l.content from run_log l where l.run_id = r.id order by l.seq) as log,
              array(select u.action || ' ' || coalesce(u.details ->> 'outcome', '') from audit u where u.run_id = r.id order by u.id) as audit
         from runs r where r.id = $1::uuid`,
      [runId],
    );
    states.push(row);
  }
  return states;
}

test("DU20: what is committed in groups comes out as what is committed one by one", async () => {
  const move: fc.Arbitrary<Move> = fc.record({ at: fc.nat(17), variant: fc.nat(1000) });
  const wave = fc.record({
    name: fc.constantFrom(...Object.keys(waves)),
    moves: fc.array(move, { minLength: 1, maxLength: 24 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(wave, { minLength: 1, maxLength: 6 }), async (script) => {
      const [one, other] = [await makeWorld(sql), await makeWorld(sql)];
      const [grouped, single] = [await givenZoo(one), await givenZoo(other)];
      const group = aCommitter();
      const alone: Commit = (kind, transition) => commitWithin(sql, kind, transition);
      for (const { name, moves } of script) {
        const send = waves[name];
        if (send === undefined) throw new Error(`no wave ${name}`);
        const together = await Promise.all(
          moves.map(({ at, variant }) => send(group, one, grouped[at] as Animal, variant)),
        );
        const apart = [];
        for (const { at, variant } of moves) apart.push(await send(alone, other, single[at] as Animal, variant));
        expect(together.map((outcome) => outcome.kind)).toEqual(apart.map((outcome) => outcome.kind));
      }
      expect(await stateOf(sql, grouped)).toEqual(await stateOf(sql, single));
    }),
    { numRuns: 8 },
  );
});
