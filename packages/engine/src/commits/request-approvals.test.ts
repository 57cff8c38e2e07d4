import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { commitWithin } from "../commit.ts";
import type { Hold } from "../held-run.ts";
import { readPolicyFactsOfRuns } from "../read-policy-facts.ts";
import { readSnapshot } from "../run-snapshot.ts";
import { engineDatabase } from "../testing/engine-database.ts";
import {
  aBegin,
  aCall,
  aDecision,
  aTurn,
  claimRun,
  givenApprovedRun,
  givenExecutingCall,
  givenRequestedCall,
  givenRun,
  makeWorld,
  toolHashes,
} from "../testing/fixtures.ts";
import { callRow, runRow } from "../testing/rows.ts";
import { behindLock } from "../testing/held-lock.ts";
import { allRows, failAtEveryWrite } from "../testing/write-faults.ts";
import { beginCall } from "./begin-call.ts";
import { decideApproval } from "./decide-approval.ts";
import { recordTurn } from "./record-turn.ts";
import { requestApprovals, type RequestApproval } from "./request-approvals.ts";
import { steerRun } from "./steer-run.ts";

const { sql, elsewhere } = await engineDatabase();

function aRequest(
  given: { readonly hold: Hold; readonly callId: string },
  over: Partial<RequestApproval> = {},
): RequestApproval {
  const { runId, epoch, leaseId } = given.hold;
  return {
    runId,
    epoch,
    leaseId,
    callId: given.callId,
    approvalId: uuidv7(),
    card: { taskId: uuidv7(), title: "Send it after all?", body: '{"why":"policy"}' },
    verdict: "ask",
    gateRow: "17",
    gateReason: "rule:ask",
    policyVersions: "1.2.1.0",
    definitionHash: toolHashes.get("mail.send") ?? "",
    expiresMs: 60_000,
    ...over,
  };
}

test("a call that must be asked about after all waits, with approval, card and paused run, in one commit", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, { tool: "mail.send", effect: "once" });
  const request = aRequest(given);
  expect(await commitWithin(sql, requestApprovals, request)).toEqual({
    kind: "requested",
    hasNews: false,
    isParked: true,
  });
  expect(await callRow(sql, given.callId)).toMatchObject({
    status: "waiting",
    waits_on: "approval",
    approval_id: request.approvalId,
  });
  const [row] = await sql`
    select a.status, a.gate_row, a.gate_reason, a.policy_versions, a.expires_at > clock_timestamp() as is_timed, a.expires_at = r.wake_at as wakes,
           t.title, t.status as card
      from approvals a join tasks t on t.id = a.task_id join runs r on r.id = a.run_id where a.id = ${request.approvalId}`;
  expect(row).toEqual({
    status: "pending",
    gate_row: "17",
    gate_reason: "rule:ask",
    policy_versions: "1.2.1.0",
    is_timed: true,
    wakes: true,
    title: "Send it after all?",
    card: "open",
  });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", waits_on: "approval", is_leased: false });
});

test("an approval that the call had before is superseded, never reused", async () => {
  const world = await makeWorld(sql);
  const given = await givenApprovedRun(sql, world);
  await sql`update policies set version = 2 where scope_id = ${world.workspaceId}`;
  const hold = await claimRun(sql, given.runId);
  const request = aRequest({ callId: given.callId, hold });
  expect(await commitWithin(sql, requestApprovals, request)).toMatchObject({ kind: "requested" });
  const [old] =
    await sql`select status, version, settled_reason, consumed_at from approvals where id = ${given.approvalId}`;
  expect(old).toEqual({ status: "superseded", version: 3, settled_reason: "asked again: rule:ask", consumed_at: null });
  await commitWithin(sql, decideApproval, aDecision(world, { runId: given.runId, approvalId: request.approvalId }));
  await claimRun(sql, given.runId);
  expect(await callRow(sql, given.callId)).toMatchObject({ status: "executing" });
});

test("the new approval is bound to the tool as it is now", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, { tool: "mail.send", effect: "once" });
  const request = aRequest(given, { definitionHash: "newer" });
  await commitWithin(sql, requestApprovals, request);
  const [row] = await sql`
    select a.definition_hash as approved, c.definition_hash as called from approvals a join tool_calls c on c.id = a.call_id where a.id = ${request.approvalId}`;
  expect(row).toEqual({ approved: "newer", called: "newer" });
});

test("a request is refused where the lease is lost or the call is on its way or settled", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world);
  const executing = await givenExecutingCall(sql, world);
  const before = await allRows(sql);
  for (const over of [{ epoch: 0 }, { epoch: 2 }, { leaseId: uuidv7() }])
    expect(await commitWithin(sql, requestApprovals, aRequest(given, over))).toMatchObject({ kind: "lease_lost" });
  expect(await commitWithin(sql, requestApprovals, aRequest(executing))).toMatchObject({ kind: "settled" });
  expect(await commitWithin(sql, requestApprovals, aRequest(given, { callId: executing.callId }))).toMatchObject({
    kind: "settled",
  });
  expect(await allRows(sql)).toBe(before);
});

test("DU27: a request that is sent again asks once", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const [call, sibling] = [aCall({ effect: "once" }), aCall({ position: 1 })];
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call, sibling] }));
  const request = aRequest({ hold, callId: call.id });
  await commitWithin(sql, requestApprovals, request);
  const before = await allRows(sql);
  expect(await commitWithin(sql, requestApprovals, request)).toMatchObject({ kind: "settled" });
  expect(await commitWithin(sql, requestApprovals, { ...request, approvalId: uuidv7() })).toMatchObject({
    kind: "settled",
  });
  expect(await allRows(sql)).toBe(before);
});

test("DU04: a steer that comes while the run is being paused keeps the holder at it", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, { effect: "once" });
  const { waiting } = await behindLock(sql, given.runId, {
    first: (tx) =>
      commitWithin(tx, steerRun, {
        runId: given.runId,
        workspaceId: world.workspaceId,
        steerId: uuidv7(),
        authorId: world.operator,
        content: '"wait"',
      }),
    waiting: [() => commitWithin(elsewhere, requestApprovals, aRequest(given))],
  });
  expect(waiting[0]).toEqual({ kind: "requested", hasNews: true, isParked: false });
  expect(await runRow(sql, given.runId)).toMatchObject({ status: "paused", is_leased: true, unread: 1 });
});

test("of a request and a start behind one lock, one holds", async () => {
  const world = await makeWorld(sql);
  const given = await givenRequestedCall(sql, world, { effect: "once" });
  const { waiting } = await behindLock(sql, given.runId, {
    first: async () => {},
    waiting: [
      () => commitWithin(sql, requestApprovals, aRequest(given)),
      () => commitWithin(elsewhere, beginCall, aBegin(given)),
    ],
  });
  expect([
    ["requested", "lease_lost"],
    ["settled", "begun"],
  ]).toContainEqual(waiting.map((outcome) => outcome.kind));
});

test("DU05: a request that fails at any write leaves the call requested, with its approval of before", async () => {
  const world = await makeWorld(sql);
  const given = await givenApprovedRun(sql, world);
  await sql`update policies set version = 2 where scope_id = ${world.workspaceId}`;
  const hold = await claimRun(sql, given.runId);
  const { outcome, written } = await failAtEveryWrite(sql, (on) =>
    commitWithin(on, requestApprovals, aRequest({ callId: given.callId, hold })),
  );
  expect(outcome.kind).toBe("requested");
  expect(written).toEqual(["approvals", "tool_calls", "tasks", "runs"]);
});

test("a call that did nothing, as its tool said, waits again: the attempt does not count, its claim and its credentials are given up", async () => {
  const world = await makeWorld(sql);
  const given = await givenExecutingCall(sql, world, { requires: ["mail.send"] });
  const preconditions = '[{"kind":"file","name":"a","hash":"1"}]';
  const request = aRequest(given, { isUndone: true, preconditions, options: '["x"]', verdict: "pick" });
  expect(await commitWithin(sql, requestApprovals, { ...request, isUndone: false })).toMatchObject({ kind: "settled" });
  expect(await commitWithin(sql, requestApprovals, request)).toMatchObject({ kind: "requested", isParked: true });
  const [row] = await sql`
    select c.status, c.verdict, c.attempt, c.undone, c.has_effect_claim, a.preconditions, a.options,
           (select count(*)::int from capability_leases l where l.call_id = c.id) as leases
      from tool_calls c join approvals a on a.id = c.approval_id where c.id = ${given.callId}`;
  expect(row).toEqual({
    status: "waiting",
    verdict: "pick",
    attempt: 0,
    undone: 1,
    has_effect_claim: false,
    preconditions,
    options: '["x"]',
    leases: 0,
  });
});

test("what a person changed with an approval that no longer carries stays with the call, and the next approval is bound to it", async () => {
  const world = await makeWorld(sql);
  const given = await givenApprovedRun(sql, world);
  await sql`update approvals set edited_args = '{"a":1}', edited_args_hash = 'edited' where id = ${given.approvalId}`;
  const hold = await claimRun(sql, given.runId);
  const request = aRequest({ hold, callId: given.callId });
  await commitWithin(sql, requestApprovals, request);
  const [row] = await sql`
    select c.run_args, c.run_args_hash, a.args_hash, a.edited_args
      from tool_calls c join approvals a on a.id = c.approval_id where c.id = ${given.callId}`;
  expect(row).toEqual({ run_args: '{"a":1}', run_args_hash: "edited", args_hash: "edited", edited_args: null });
});

test("what counts as denied is what the person denied: the arguments as somebody had changed them, not the model's", async () => {
  const world = await makeWorld(sql);
  const given = await givenApprovedRun(sql, world);
  await sql`update approvals set edited_args = '{"a":1}', edited_args_hash = 'edited' where id = ${given.approvalId}`;
  const hold = await claimRun(sql, given.runId);
  const request = aRequest({ hold, callId: given.callId });
  await commitWithin(sql, requestApprovals, request);
  const asked = { runId: given.runId, approvalId: request.approvalId };
  await commitWithin(sql, decideApproval, aDecision(world, asked, { answer: "deny", argsHash: "edited" }));
  const denied = [{ approvalId: request.approvalId, tool: "mail.send", argsHash: "edited" }];
  expect((await readSnapshot(sql, given.runId)).denials).toEqual(denied);
  const facts = await readPolicyFactsOfRuns(sql, world.workspaceId, [given.runId]);
  expect(facts.get(given.runId)?.denials).toEqual(denied);
});
