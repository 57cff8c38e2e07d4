import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { v7 as uuidv7 } from "uuid";
import { commitWithin } from "../commit.ts";
import type { AnswerQuestion } from "../commits/answer-question.ts";
import { beginCall, type BeginCall } from "../commits/begin-call.ts";
import { claimRuns } from "../commits/claim-runs.ts";
import { decideApproval, type DecideApproval } from "../commits/decide-approval.ts";
import { markUnknown } from "../commits/mark-unknown.ts";
import { type NewCall, type RecordTurn, recordTurn } from "../commits/record-turn.ts";
import { startRun, type StartRun } from "../commits/start-run.ts";
import type { SteerRun } from "../commits/steer-run.ts";
import type { Hold } from "../held-run.ts";
import type { RunSnapshot } from "../run-snapshot.ts";

/** A workspace with people of every role and one definition. */
export interface World {
  readonly workspaceId: string;
  readonly definitionId: string;
  readonly admin: string;
  readonly approver: string;
  readonly otherApprover: string;
  readonly operator: string;
  readonly viewer: string;
}

/** Afterwards the database has a further workspace to test in. */
export async function makeWorld(sql: Sql, spec: object = {}): Promise<World> {
  const workspaceId = uuidv7();
  const definitionId = uuidv7();
  await sql`insert into workspaces (id, name) values (${workspaceId}, 'test')`;
  const user = async (name: string, role: string): Promise<string> => {
    const id = uuidv7();
    await sql`insert into users (id, workspace_id, name, role) values (${id}, ${workspaceId}, ${name}, ${role})`;
    return id;
  };
  await sql`insert into definitions (id, workspace_id, name, current_version) values (${definitionId}, ${workspaceId}, 'agent', 1)`;
  await sql`insert into definition_versions (definition_id, version, spec) values (${definitionId}, 1, ${JSON.stringify(spec)}::text::json)`;
  await sql`insert into policies (scope_id, scope, workspace_id) values (${workspaceId}, 'workspace', ${workspaceId}), (${definitionId}, 'definition', ${workspaceId})`;
  return {
    workspaceId,
    definitionId,
    admin: await user("Ada Admin", "admin"),
    approver: await user("Abe Approver", "approver"),
    otherApprover: await user("Ann Approver", "approver"),
    operator: await user("Olga Operator", "operator"),
    viewer: await user("Vic Viewer", "viewer"),
  };
}

/** Starts a run of the world's definition; returns its id. */
export async function givenRun(sql: Sql, world: World, over: Partial<StartRun> = {}): Promise<string> {
  const runId = over.runId ?? uuidv7();
  await commitWithin(sql, startRun, {
    runId,
    workspaceId: world.workspaceId,
    definitionId: world.definitionId,
    definitionVersion: 1,
    startedBy: world.operator,
    title: "a run",
    input: JSON.stringify("please do"),
    grants: ["mail.send"],
    ...over,
  });
  return runId;
}

/** The tools of these tests, with the definition hash each has. */
export const toolHashes: ReadonlyMap<string, string> = new Map([
  ["mail.send", "hash-of-mail.send"],
  ["kb.read", "hash-of-kb.read"],
  ["kb.append", "hash-of-kb.append"],
  ["human.ask", "hash-of-human.ask"],
]);

/** Claims everything that is ready and returns the hold and snapshot of one run. */
export async function claimRun(
  sql: Queryable,
  runId: string,
  leaseMs = 30_000,
): Promise<Hold & { snapshot: RunSnapshot }> {
  const claimed = await claimRuns(
    sql,
    { worker: "test", leaseMs, limit: 1000, held: [], tools: toolHashes },
    (_run, error) => {
      throw error;
    },
  );
  const mine = claimed.flatMap((one) => (one.kind === "claimed" ? [one.snapshot] : [])).find(({ id }) => id === runId);
  if (mine?.leaseId == null) throw new Error(`run ${runId} was not ready to be claimed`);
  return { runId, epoch: mine.epoch, leaseId: mine.leaseId, snapshot: mine };
}

/** A call of a tool as the gate would leave it; by default one that may run at once. */
export function aCall(over: Partial<NewCall> = {}): NewCall {
  const tool = over.tool ?? "kb.read";
  return {
    id: uuidv7(),
    position: 0,
    providerId: `toolu_${uuidv7()}`,
    tool,
    args: "{}",
    argsHash: "hash-of-args",
    definitionHash: toolHashes.get(tool) ?? `hash-of-${tool}`,
    effect: "read-only",
    requires: [],
    verdict: "allow",
    gateRow: "20",
    gateReason: "needs_no_approval",
    policyVersions: "1.1.1.0",
    next: { kind: "run" },
    ...over,
  };
}

/** A `mail.send` that waits for approval. */
export function aGatedCall(over: Partial<NewCall> = {}): NewCall {
  return aCall({
    tool: "mail.send",
    effect: "once",
    requires: ["mail.send"],
    verdict: "ask",
    gateRow: "19",
    gateReason: "needs_approval",
    next: {
      kind: "approval",
      approvalId: uuidv7(),
      card: { taskId: uuidv7(), title: "mail.send", body: JSON.stringify({ tool: "mail.send" }) },
      expiresMs: undefined,
    },
    ...over,
  });
}

/** A turn of the model on a held run. */
export function aTurn(hold: Hold & { snapshot?: RunSnapshot }, over: Partial<RecordTurn> = {}): RecordTurn {
  return {
    runId: hold.runId,
    epoch: hold.epoch,
    leaseId: hold.leaseId,
    turn: hold.snapshot?.turns ?? 0,
    content: JSON.stringify([{ type: "text", text: "well" }]),
    steersRead: 0,
    usage: { inputTokens: 10, outputTokens: 5, costMicros: 100 },
    calls: [],
    ...over,
  };
}

/** A run that waits for a person to decide on its mail. */
export async function givenGatedRun(
  sql: Sql,
  world: World,
  over: { expiresMs?: number; siblings?: readonly NewCall[] } = {},
): Promise<{
  runId: string;
  callId: string;
  approvalId: string;
  hold: Hold & { snapshot: RunSnapshot };
}> {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const approvalId = uuidv7();
  const card = { taskId: uuidv7(), title: "mail.send", body: "{}" };
  const call = aGatedCall({
    next: { kind: "approval", approvalId, card, expiresMs: over.expiresMs },
  });
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call, ...(over.siblings ?? [])] }));
  return { runId, callId: call.id, approvalId, hold };
}

/** A run that waits for a person's answer. */
export async function givenQuestionRun(
  sql: Sql,
  world: World,
  over: { timeoutMs?: number; defaultAnswer?: string; options?: readonly string[] } = {},
): Promise<{ runId: string; callId: string; questionId: string; hold: Hold }> {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const call = aQuestionCall(over);
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
  return { runId, callId: call.id, questionId: questionOf(call), hold };
}

/** A `human.ask`. */
export function aQuestionCall(
  over: { timeoutMs?: number; defaultAnswer?: string; options?: readonly string[] } = {},
  call: Partial<NewCall> = {},
): NewCall {
  return aCall({
    tool: "human.ask",
    effect: "question",
    next: {
      kind: "question",
      questionId: uuidv7(),
      card: { taskId: uuidv7(), title: "which one?", body: "{}" },
      question: {
        question: "which one?",
        options: over.options ?? [],
        context: undefined,
        defaultAnswer: over.defaultAnswer,
        timeoutMs: over.timeoutMs,
      },
    },
    ...call,
  });
}

export function questionOf({ next }: NewCall): string {
  if (next.kind !== "question") throw new Error("the call asks no question");
  return next.questionId;
}

/** A run whose one call is about to begin; by default a read that was allowed at once. */
export async function givenRequestedCall(
  sql: Sql,
  world: World,
  over: Partial<NewCall> = {},
): Promise<{ runId: string; callId: string; hold: Hold }> {
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  const call = aCall(over);
  await commitWithin(sql, recordTurn, aTurn(hold, { calls: [call] }));
  return { runId, callId: call.id, hold };
}

/** A call that executes; by default one whose effect cannot be repeated. */
export async function givenExecutingCall(
  sql: Sql,
  world: World,
  over: Partial<NewCall> = {},
): Promise<{ runId: string; callId: string; hold: Hold }> {
  const given = await givenRequestedCall(sql, world, { effect: "once", ...over });
  const call = { tool: over.tool ?? "kb.read" };
  const begun = await commitWithin(sql, beginCall, aBegin(given, call));
  if (begun.kind !== "begun") throw new Error(`the call did not begin: ${begun.kind}`);
  return given;
}

/** A call of which nobody knows whether its effect happened, and the approval that asks. */
export async function givenUnknownCall(
  sql: Sql,
  world: World,
  over: Partial<NewCall> = {},
): Promise<{ runId: string; callId: string; approvalId: string; hold: Hold }> {
  const given = await givenExecutingCall(sql, world, over);
  const approvalId = uuidv7();
  await commitWithin(sql, markUnknown, {
    ...given.hold,
    callId: given.callId,
    result: '"the connection broke"',
    approvalId,
    card: { taskId: uuidv7(), title: "did it happen?", body: "{}" },
  });
  return { ...given, approvalId };
}

/** The start of a call under the policy that every fresh world has. */
export function aBegin(
  given: { readonly callId: string; readonly hold: Hold },
  over: Partial<BeginCall> & { tool?: string } = {},
): BeginCall {
  const { tool = "kb.read", ...rest } = over;
  return {
    runId: given.hold.runId,
    epoch: given.hold.epoch,
    leaseId: given.hold.leaseId,
    callId: given.callId,
    policyVersions: "1.1.1.0",
    definitionHash: toolHashes.get(tool) ?? `hash-of-${tool}`,
    needsApproval: false,
    again: false,
    ...rest,
  };
}

/** An approver's decision on what is asked; by default an approval. */
export function aDecision(
  world: World,
  asked: { readonly runId: string; readonly approvalId: string },
  over: Partial<DecideApproval> = {},
): DecideApproval {
  return {
    runId: asked.runId,
    approvalId: asked.approvalId,
    workspaceId: world.workspaceId,
    userId: world.approver,
    answer: "approve",
    version: 1,
    argsHash: "hash-of-args",
    ...over,
  };
}

/** An operator's answer to a question. */
export function anAnswer(
  world: World,
  asked: { readonly runId: string; readonly questionId: string },
  over: Partial<AnswerQuestion> = {},
): AnswerQuestion {
  return {
    runId: asked.runId,
    questionId: asked.questionId,
    workspaceId: world.workspaceId,
    userId: world.operator,
    answer: "the second",
    ...over,
  };
}

/** A person's message to a run. */
export function aSteer(world: World, runId: string, over: Partial<SteerRun> = {}): SteerRun {
  return {
    runId,
    workspaceId: world.workspaceId,
    steerId: uuidv7(),
    authorId: world.operator,
    content: '"please hurry"',
    ...over,
  };
}

/** A run that was approved and is ready to be claimed. */
export async function givenApprovedRun(
  sql: Sql,
  world: World,
  over: Parameters<typeof givenGatedRun>[2] = {},
): ReturnType<typeof givenGatedRun> {
  const given = await givenGatedRun(sql, world, over);
  const decided = await commitWithin(sql, decideApproval, aDecision(world, given));
  if (decided.kind !== "decided") throw new Error(`the approval was not decided: ${decided.kind}`);
  return given;
}
