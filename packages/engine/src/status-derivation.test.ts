import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "./commit.ts";
import { answerQuestion } from "./commits/answer-question.ts";
import { beginCall } from "./commits/begin-call.ts";
import { cancelRun } from "./commits/cancel-run.ts";
import { classifyCall } from "./commits/classify-call.ts";
import { claimRuns } from "./commits/claim-runs.ts";
import { completeCall } from "./commits/complete-call.ts";
import { type Answer, decideApproval } from "./commits/decide-approval.ts";
import { expireWaits } from "./commits/expire-waits.ts";
import { failRun } from "./commits/fail-run.ts";
import { killScope, type Scope } from "./commits/kill-scope.ts";
import { liftScope } from "./commits/lift-scope.ts";
import { markUnknown } from "./commits/mark-unknown.ts";
import { type NewCall, recordTurn } from "./commits/record-turn.ts";
import { recoverRuns } from "./commits/recover-runs.ts";
import { releaseRun } from "./commits/release-run.ts";
import { renewLeases } from "./commits/renew-leases.ts";
import { requestApprovals } from "./commits/request-approvals.ts";
import { steerRun } from "./commits/steer-run.ts";
import { supersedeApproval } from "./commits/supersede-approval.ts";
import type { Hold } from "./held-run.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aGatedCall,
  anAnswer,
  aQuestionCall,
  aSteer,
  aTurn,
  givenRun,
  makeWorld,
  toolHashes,
  type World,
} from "./testing/fixtures.ts";
import { endLease, moveDeadlines } from "./testing/rows.ts";
import { findViolations } from "./testing/invariants.ts";

const { sql } = await engineDatabase();

/** One run under test: everything else is read from the database when a command needs it. */
interface Subject {
  readonly world: World;
  readonly runId: string;
  /** Every hold anybody ever had, the latest last: stale ones are used too. */
  readonly holds: Hold[];
}

interface Row {
  readonly id: string;
  readonly status: string;
}

type Command = (subject: Subject, n: number) => Promise<unknown>;

function pick<T>(items: readonly T[], n: number): T | undefined {
  return items[n % items.length];
}

/** Mostly the latest hold, sometimes an old one. */
function holdOf({ holds }: Subject, n: number): Hold {
  const none = { runId: "", epoch: 0, leaseId: uuidv7() };
  const hold = n % 11 === 0 ? pick(holds, n >> 3) : holds.at(-1);
  return hold ?? none;
}

/** Mostly a call that the command is for, sometimes any other. */
async function callFor(subject: Subject, n: number, ...statuses: string[]): Promise<Row | undefined> {
  const calls = await callsOf(subject);
  const meant = calls.filter(({ status }) => statuses.includes(status));
  return n % 10 === 0 || meant.length === 0 ? pick(calls, n) : pick(meant, n);
}

async function callsOf({ runId }: Subject): Promise<Row[]> {
  return [
    ...(await sql<
      Row[]
    >`select id, status from tool_calls where run_id = ${runId} order by turn_seq desc, position limit 6`),
  ];
}

async function versionsOf({ runId }: Subject): Promise<string> {
  const [row] = await sql<{ versions: string }[]>`select versions from policy_of(array[${runId}]::uuid[])`;
  return row?.versions ?? "";
}

function callsFor(n: number): NewCall[] {
  const make = (position: number, kind: number): NewCall => {
    switch (kind) {
      case 0:
        return aCall({ position });
      case 1:
        return aCall({ position, effect: "once", requires: ["mail.send"] });
      case 2: {
        const gated = aGatedCall({ position });
        return gated.next.kind === "approval" ? { ...gated, next: { ...gated.next, expiresMs: 60_000 } } : gated;
      }
      case 3:
        return aGatedCall({ position });
      case 4:
        return aQuestionCall({ timeoutMs: 30_000, defaultAnswer: "yes" }, { position });
      case 5:
        return aQuestionCall({}, { position });
      case 6:
        return aCall({ position, effect: "idempotent" });
      default:
        return aCall({
          position,
          next: { kind: "settled", status: "denied", result: '"no"', code: "policy_denied" },
        });
    }
  };
  return Array.from({ length: 1 + (n % 3) }, (_, position) => make(position, (n >> (position * 3 + 2)) % 8));
}

const runScope = ({ runId, world }: Subject): Scope => ({
  scope: "run",
  scopeId: runId,
  workspaceId: world.workspaceId,
});

const commands: Record<string, Command> = {
  claim: async (subject, n) => {
    const held = subject.holds.slice(-1);
    const request = { worker: "test", leaseMs: 30_000, limit: 10, held: n % 2 === 0 ? held : [], tools: toolHashes };
    const claimed = await claimRuns(sql, request, (_runId, error) => {
      throw error;
    });
    for (const one of claimed) {
      if (one.kind === "news") continue;
      const { id, epoch, leaseId } = one.snapshot;
      subject.holds.push({ runId: id, epoch, leaseId: leaseId ?? "" });
    }
  },
  turn: async (subject, n) => {
    // A worker asks the model only when every call is settled; whether this hold is still good the commit says.
    const calls = await callsOf(subject);
    if (calls.some(({ status }) => !["done", "failed", "denied", "canceled"].includes(status))) return;
    const [run] = await sql<
      { turns: number; steers: number }[]
    >`select turns, steers from runs where id = ${subject.runId}`;
    if (run === undefined) return;
    const steersRead = n % 3 === 0 ? 0 : run.steers;
    const isFinish = n % 13 === 0;
    const turn = aTurn(holdOf(subject, n), {
      turn: n % 9 === 0 ? run.turns - 1 : run.turns,
      steersRead,
      calls: isFinish ? [] : callsFor(n),
      ...(isFinish ? { output: '"done"' } : {}),
    });
    await commitWithin(sql, recordTurn, { ...turn, runId: subject.runId });
  },
  begin: async (subject, n) => {
    const call = await callFor(subject, n, "requested");
    if (call === undefined) return;
    const hold = { ...holdOf(subject, n), runId: subject.runId };
    const [row] = await sql<
      { definition_hash: string }[]
    >`select definition_hash from tool_calls where id = ${call.id}`;
    await commitWithin(
      sql,
      beginCall,
      aBegin(
        { callId: call.id, hold },
        {
          policyVersions: n % 9 === 0 ? "0" : await versionsOf(subject),
          definitionHash: row?.definition_hash ?? "",
          needsApproval: n % 5 === 0,
          again: false,
        },
      ),
    );
  },
  complete: async (subject, n) => {
    const call = await callFor(subject, n, "executing", "requested");
    if (call === undefined) return;
    const status = (["done", "failed", "denied"] as const)[n % 3] ?? "done";
    await commitWithin(sql, completeCall, {
      ...holdOf(subject, n),
      runId: subject.runId,
      callId: call.id,
      status,
      result: '"result"',
    });
  },
  unknown: async (subject, n) => {
    const call = await callFor(subject, n, "executing");
    if (call === undefined) return;
    await commitWithin(sql, markUnknown, {
      ...holdOf(subject, n),
      runId: subject.runId,
      callId: call.id,
      result: '"who knows"',
      approvalId: uuidv7(),
      card: { taskId: uuidv7(), title: "?", body: "{}" },
    });
  },
  request: async (subject, n) => {
    const call = pick(
      (await callsOf(subject)).filter(({ status }) => status === "requested" || status === "executing"),
      n,
    );
    // What was begun once is not asked about anew, but where the tool says that its only attempt did nothing.
    const [fresh] =
      call === undefined
        ? []
        : await sql<Row[]>`
            select id, status from tool_calls
             where id = ${call.id} and attempt = case status when 'executing' then 1 else 0 end`;
    if (fresh === undefined) return;
    await commitWithin(sql, requestApprovals, {
      ...holdOf(subject, n),
      runId: subject.runId,
      callId: fresh.id,
      approvalId: uuidv7(),
      card: { taskId: uuidv7(), title: "after all", body: "{}" },
      verdict: "ask",
      gateRow: "17",
      gateReason: "rule:ask",
      policyVersions: await versionsOf(subject),
      definitionHash: "hash-of-mail.send",
      expiresMs: n % 2 === 0 ? undefined : 45_000,
      isUndone: fresh.status === "executing",
    });
  },
  classify: async (subject, n) => {
    const call = await callFor(subject, n, "requested");
    if (call === undefined) return;
    await commitWithin(sql, classifyCall, {
      ...holdOf(subject, n),
      runId: subject.runId,
      callId: call.id,
      classified: '{"level":"high"}',
      verdict: "ask",
      gateRow: "24",
      gateReason: "above_dial:high",
      line: '{"purpose":"classifier"}',
      usage: { inputTokens: 1, outputTokens: 1, costMicros: 1 },
    });
  },
  supersede: async (subject, n) => {
    const approvals = await sql<{ id: string; policy_versions: string }[]>`
      select id, policy_versions from approvals where run_id = ${subject.runId} order by id desc limit 4`;
    const approval = pick(approvals, n);
    if (approval === undefined) return;
    const card = { taskId: uuidv7(), title: "anew", body: "{}" };
    const nexts = [
      { kind: "keep" },
      { kind: "allow" },
      { kind: "deny", result: '"no"', code: "policy_denied" },
      { kind: "ask", approvalId: uuidv7(), card, expiresMs: n % 2 === 0 ? undefined : 50_000 },
    ] as const;
    await commitWithin(sql, supersedeApproval, {
      runId: subject.runId,
      approvalId: approval.id,
      seenVersions: n % 7 === 0 ? "0" : approval.policy_versions,
      policyVersions: await versionsOf(subject),
      gateRow: "16",
      gateReason: "rule:changed",
      next: nexts[n % 4] ?? { kind: "keep" },
    });
  },
  decide: async (subject, n) => {
    const approvals = await sql<{ id: string; kind: string; version: number; args_hash: string }[]>`
      select id, kind, version, args_hash from approvals where run_id = ${subject.runId} order by status = 'pending' desc, id desc limit 4`;
    const approval = n % 4 === 0 ? pick(approvals, n) : approvals[0];
    if (approval === undefined) return;
    const answers: Answer[] =
      approval.kind === "outcome" ? ["done", "retry", "give_up"] : ["approve", "approve", "deny"];
    await commitWithin(
      sql,
      decideApproval,
      aDecision(
        subject.world,
        { runId: subject.runId, approvalId: approval.id },
        {
          answer: (n % 11 === 0 ? "done" : pick(answers, n)) ?? "deny",
          version: approval.version,
          argsHash: approval.args_hash,
          userId: n % 9 === 0 ? subject.world.viewer : n % 2 === 0 ? subject.world.approver : subject.world.admin,
        },
      ),
    );
  },
  answer: async (subject, n) => {
    const [question] = await sql<{ id: string }[]>`
      select id from questions where run_id = ${subject.runId} order by status = 'open' desc, id desc limit 1`;
    if (question === undefined) return;
    const asked = { runId: subject.runId, questionId: question.id };
    await commitWithin(
      sql,
      answerQuestion,
      anAnswer(subject.world, asked, { answer: n % 3 === 0 ? undefined : "words" }),
    );
  },
  steer: (subject) => commitWithin(sql, steerRun, aSteer(subject.world, subject.runId)),
  expire: async (subject) => {
    await moveDeadlines(sql, subject.runId, -1);
    await expireWaits(sql, 10);
  },
  "expire some": async (subject, n) => {
    // One wait of several comes due; the run wakes for it.
    const [due] = await sql<{ id: string }[]>`
      update tool_calls set wait_until = clock_timestamp() - interval '1 millisecond'
       where id = (select id from tool_calls where run_id = ${subject.runId} and wait_until is not null order by position offset ${n % 2} limit 1)
      returning id`;
    if (due === undefined) return;
    await sql`update approvals a set expires_at = c.wait_until from tool_calls c where c.id = ${due.id} and a.id = c.approval_id and a.status = 'pending'`;
    await sql`update questions q set expires_at = c.wait_until from tool_calls c where c.id = ${due.id} and q.id = c.question_id and q.status = 'open'`;
    await sql`update runs r set wake_at = (select min(wait_until) from tool_calls where run_id = r.id) where r.id = ${subject.runId}`;
    await expireWaits(sql, 10);
  },
  recover: async (subject, n) => {
    await endLease(sql, subject.runId);
    await recoverRuns(sql, 10, n % 4 === 0 ? 1 : 5);
  },
  release: (subject, n) =>
    commitWithin(sql, releaseRun, { ...holdOf(subject, n), runId: subject.runId, isLeaving: n % 2 === 0 }),
  renew: (subject) => renewLeases(sql, subject.holds, 30_000),
  kill: (subject) => killScope(sql, runScope(subject), subject.world.admin, "stop"),
  lift: (subject) => liftScope(sql, runScope(subject), subject.world.admin),
  fail: async (subject, n) => {
    if (n % 6 !== 0) return;
    await commitWithin(sql, failRun, { ...holdOf(subject, n), runId: subject.runId, reason: "error: x" });
  },
  cancel: async (subject, n) => {
    if (n % 8 !== 0) return;
    const { runId, world } = subject;
    await commitWithin(sql, cancelRun, { runId, workspaceId: world.workspaceId, userId: world.operator, reason: "no" });
  },
};

test("after every commit of any sequence the status is what calls and waits say, and every invariant holds", async () => {
  const usual = ["claim", "turn", "turn", "begin", "begin", "complete", "unknown", "decide", "answer", "lift"];
  const step = fc.record({
    name: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...usual) },
      { weight: 2, arbitrary: fc.constantFrom(...Object.keys(commands)) },
    ),
    n: fc.nat(100_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 45, size: "max" }), async (steps) => {
      await sql`truncate runs, audit cascade`;
      const world = await makeWorld(sql);
      const subject: Subject = { world, runId: await givenRun(sql, world), holds: [] };
      await commands["claim"]?.(subject, 1);
      for (const { name, n } of steps) {
        await commands[name]?.(subject, n);
        expect(await findViolations(sql), `after ${name} ${n}`).toEqual([]);
      }
    }),
    { numRuns: 25 },
  );
});
