import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import { aCall, aGatedCall, aQuestionCall, aSteer, aTurn, claimRun, givenRun, makeWorld } from "../testing/fixtures.ts";
import { callRow, countRows, runRow } from "../testing/rows.ts";
import { readSnapshot } from "../run-snapshot.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { recordTurn } from "./record-turn.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

test("a turn's message, its calls and its usage become true together, and the run goes on", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const calls = [
    aCall({ requires: ["mail.send", "web.read"] }),
    aCall({
      position: 1,
      verdict: "deny",
      next: { kind: "settled", status: "denied", result: '"not allowed"', code: "policy_denied" },
    }),
  ];
  expect(await commitWithin(sql, recordTurn, aTurn(hold, { calls }))).toEqual({
    kind: "recorded",
    seq: 2,
    hasNews: false,
    isParked: false,
  });
  const [run] =
    await sql`select status, turns, call_count, input_tokens, output_tokens, cost_micros, last_seq, claims_without_progress, lease_id from runs where id = ${runId}`;
  expect(run).toEqual({
    status: "running",
    turns: 1,
    call_count: 2,
    input_tokens: 10,
    output_tokens: 5,
    cost_micros: 100,
    last_seq: 2,
    claims_without_progress: 0,
    lease_id: hold.leaseId,
  });
  const rows =
    await sql`select status, requires, result, result_code, turn_seq, finished_at is not null as is_finished from tool_calls where run_id = ${runId} order by position`;
  expect(rows).toEqual([
    {
      status: "requested",
      requires: ["mail.send", "web.read"],
      result: null,
      result_code: null,
      turn_seq: 2,
      is_finished: false,
    },
    {
      status: "denied",
      requires: [],
      result: '"not allowed"',
      result_code: "policy_denied",
      turn_seq: 2,
      is_finished: true,
    },
  ]);
});

test("DU10: gated calls and questions pause the run with approvals, cards and their deadlines", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const gated = aGatedCall({
    next: {
      kind: "approval",
      approvalId: uuidv7(),
      card: { taskId: uuidv7(), title: "Send it?", body: '{"to":"a"}' },
      expiresMs: 60_000,
    },
  });
  const question = aQuestionCall(
    { options: ["the first", "the second"], timeoutMs: 30_000, defaultAnswer: "the first" },
    { position: 1 },
  );
  expect(await commitWithin(sql, recordTurn, aTurn(hold, { calls: [gated, question] }))).toMatchObject({
    kind: "recorded",
    isParked: true,
  });
  expect(await runRow(sql, runId)).toMatchObject({
    status: "paused",
    waits_on: "approval",
    is_leased: false,
    is_ready: false,
  });
  const [approval] =
    await sql`select a.kind, a.status, a.version, a.args_hash, a.policy_versions, a.card, t.title, t.section, t.kind as task_kind from approvals a join tasks t on t.id = a.task_id where a.run_id = ${runId}`;
  expect(approval).toEqual({
    kind: "approval",
    status: "pending",
    version: 1,
    args_hash: "hash-of-args",
    policy_versions: "1.1.1.0",
    card: '{"to":"a"}',
    title: "Send it?",
    section: "needs-confirm",
    task_kind: "approval",
  });
  const [asked] = await sql`select status, question, options, default_answer from questions where run_id = ${runId}`;
  expect(asked).toEqual({
    status: "open",
    question: "which one?",
    options: ["the first", "the second"],
    default_answer: "the first",
  });
  const [wake] =
    await sql`select wake_at between clock_timestamp() + interval '29 seconds' and clock_timestamp() + interval '30 seconds' as is_the_earlier from runs where id = ${runId}`;
  expect(wake?.is_the_earlier).toBe(true);
});

test("AZ41: an approval without an expiry wakes its run never", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [aGatedCall()] }));
  const [row] = await sql`select wake_at from runs where id = ${runId}`;
  expect(row?.wake_at).toBeNull();
});

test("a gated call beside one that may run pauses the run and leaves it with its holder", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  expect(
    await commitWithin(sql, recordTurn, aTurn(hold, { calls: [aGatedCall(), aCall({ position: 1 })] })),
  ).toMatchObject({ kind: "recorded", isParked: false });
  expect(await runRow(sql, runId)).toMatchObject({
    status: "paused",
    waits_on: "approval",
    is_leased: true,
  });
});

test("the steers that were in the prompt come before the answer, in the order they were sent, and once", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  for (const content of ['"one"', '"two"', '"three"'])
    await commitWithin(sql, steerRun, aSteer(world, runId, { content }));
  const turn = aTurn(hold, { steersRead: 2 });
  expect(await commitWithin(sql, recordTurn, turn)).toMatchObject({
    kind: "recorded",
    seq: 4,
    hasNews: true,
  });
  expect(await commitWithin(sql, recordTurn, { ...turn, turn: 1 })).toMatchObject({ seq: 5 });
  const log = await sql`select seq, kind, content from run_log where run_id = ${runId} order by seq`;
  expect(log.map((line) => [line.seq, line.kind, line.content])).toEqual([
    [1, "user", '"please do"'],
    [2, "user", '"one"'],
    [3, "user", '"two"'],
    [4, "assistant", turn.content],
    [5, "assistant", turn.content],
  ]);
  expect(await runRow(sql, runId)).toMatchObject({ unread: 1, turns: 2 });
});

describe("a finish", () => {
  test("completes the run with its output, and nobody holds it", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const hold = await claimRun(sql, runId);
    expect(await commitWithin(sql, recordTurn, aTurn(hold, { output: '"42"' }))).toMatchObject({
      kind: "finished",
    });
    expect(await runRow(sql, runId)).toMatchObject({
      status: "completed",
      output: '"42"',
      is_leased: false,
      is_ready: false,
    });
    const [last] = await sql`select kind, content from run_log where run_id = ${runId} order by seq desc limit 1`;
    expect(last).toEqual({ kind: "run.ended", content: '"completed"' });
  });

  test("DU09: is refused while a steer is unread; the turn stands and the model is asked once more", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const hold = await claimRun(sql, runId);
    await commitWithin(sql, steerRun, aSteer(world, runId));
    expect(await commitWithin(sql, recordTurn, aTurn(hold, { output: '"42"' }))).toMatchObject({
      kind: "unread",
      hasNews: true,
      isParked: false,
    });
    expect(await runRow(sql, runId)).toMatchObject({
      status: "running",
      output: null,
      is_leased: true,
      unread: 1,
    });
    expect(await commitWithin(sql, recordTurn, aTurn(hold, { turn: 1, steersRead: 1, output: '"43"' }))).toMatchObject({
      kind: "finished",
    });
    expect(await runRow(sql, runId)).toMatchObject({ status: "completed", unread: 0 });
  });
});

describe("a turn is refused and changes nothing", () => {
  test("DU11, DU17: under a stale epoch or a lease that is another's", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const hold = await claimRun(sql, runId);
    const before = await allRows(sql);
    for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
      for (const what of [{ output: '"x"' }, { calls: [aGatedCall()] }])
        expect(await commitWithin(sql, recordTurn, aTurn(hold, { ...over, ...what }))).toMatchObject({
          kind: "lease_lost",
        });
    expect(await allRows(sql)).toBe(before);
  });

  test("DU27: where it is recorded already; the run still has its way on", async () => {
    const world = await makeWorld(sql);
    const runId = await givenRun(sql, world);
    const hold = await claimRun(sql, runId);
    await commitWithin(sql, steerRun, aSteer(world, runId));
    const turn = aTurn(hold, { calls: [aCall()], steersRead: 1 });
    await commitWithin(sql, recordTurn, turn);
    const before = await allRows(sql);
    expect(await commitWithin(sql, recordTurn, turn)).toMatchObject({ kind: "already" });
    expect(await allRows(sql)).toBe(before);
    expect(await runRow(sql, runId)).toMatchObject({ is_leased: true, turns: 1 });
  });

  test("DU27: also where it parked or ended the run, and so gave the lease back", async () => {
    const world = await makeWorld(sql);
    for (const what of [{ output: '"x"' }, { calls: [aGatedCall()] }]) {
      const runId = await givenRun(sql, world);
      const hold = await claimRun(sql, runId);
      const turn = aTurn(hold, what);
      await commitWithin(sql, recordTurn, turn);
      const before = await allRows(sql);
      expect(await commitWithin(sql, recordTurn, turn)).toMatchObject({ kind: "lease_lost" });
      expect(await allRows(sql)).toBe(before);
    }
  });
});

test("of two records of one turn behind one lock, one is recorded", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const { waiting } = await behindLock(sql, runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, recordTurn, aTurn(hold, { calls: [aCall()] })),
      () => commitWithin(elsewhere, recordTurn, aTurn(hold, { calls: [aCall()] })),
    ],
  });
  expect(waiting.map((outcome) => outcome.kind).toSorted()).toEqual(["already", "recorded"]);
  expect(await countRows(sql, "tool_calls", runId)).toBe(1);
});

test("a batch of turns gives every run its own calls, approvals, questions and cards", async () => {
  const world = await makeWorld(sql);
  const holds = [];
  for (let i = 0; i < 4; i += 1) holds.push(await claimRun(sql, await givenRun(sql, world)));
  const [a, b, c, d] = holds;
  if (!a || !b || !c || !d) throw new Error("four runs were asked for");
  const turns = [
    aTurn(a, { calls: [aCall(), aGatedCall({ position: 1 })] }),
    aTurn(b, { calls: [aQuestionCall(), aGatedCall({ position: 1 }), aGatedCall({ position: 2 })] }),
    aTurn({ ...c, epoch: 9 }, { calls: [aGatedCall()] }),
    aTurn(d, { output: '"bye"' }),
  ];
  const outcomes = await recordTurn.send(sql, turns, { blocking: false });
  expect(outcomes).toMatchObject([
    { kind: "recorded", isParked: false },
    { kind: "recorded", isParked: true },
    { kind: "lease_lost" },
    { kind: "finished" },
  ]);
  for (const turn of turns.slice(0, 2))
    for (const call of turn.calls)
      expect(await callRow(sql, call.id)).toMatchObject({
        status: call.next.kind === "run" ? "requested" : "waiting",
        approval_id: call.next.kind === "approval" ? call.next.approvalId : null,
      });
  expect(await countRows(sql, "tool_calls", c.runId)).toBe(0);
  expect(await countRows(sql, "approvals", c.runId)).toBe(0);
  expect(await countRows(sql, "tasks", c.runId)).toBe(0);
});

test("DU05: a turn that fails at any write leaves nothing: no message, no call, no approval, no card", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  const calls = [aGatedCall(), aQuestionCall({}, { position: 1 }), aCall({ position: 2 }), aGatedCall({ position: 3 })];
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, recordTurn, aTurn(hold, { calls, steersRead: 1 })),
  );
  expect(outcome.kind).toBe("recorded");
  expect(written.toSorted()).toEqual(["approvals", "questions", "run_log", "runs", "steers", "tasks", "tool_calls"]);
});

test("what a turn took stands with its message, and the next worker is told how long the prompt was", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  await commitWithin(sql, steerRun, aSteer(world, runId));
  const usage = { inputTokens: 1_200, outputTokens: 34, costMicros: 2 ** 40 };
  await commitWithin(sql, recordTurn, aTurn(hold, { usage, steersRead: 1 }));
  const entries = await sql`
    select kind, input_tokens, output_tokens, cost_micros from run_log where run_id = ${runId} order by seq`;
  const uncounted = { input_tokens: null, output_tokens: null, cost_micros: null };
  expect(entries).toEqual([
    { kind: "user", ...uncounted },
    { kind: "user", ...uncounted },
    { kind: "assistant", input_tokens: 1_200, output_tokens: 34, cost_micros: 2 ** 40 },
  ]);
  const { messages } = await readSnapshot(sql, runId);
  expect(messages.map(({ tokens }) => tokens)).toEqual([null, null, 1_234]);
});
