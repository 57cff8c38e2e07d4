import { randomUUID } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import { answerQuestion } from "@countersign/engine/commits/answer-question.ts";
import { beginCall } from "@countersign/engine/commits/begin-call.ts";
import { cancelRun } from "@countersign/engine/commits/cancel-run.ts";
import { completeCall } from "@countersign/engine/commits/complete-call.ts";
import { type Answer, decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { failRun } from "@countersign/engine/commits/fail-run.ts";
import { markUnknown } from "@countersign/engine/commits/mark-unknown.ts";
import { type NewCall, recordTurn } from "@countersign/engine/commits/record-turn.ts";
import { releaseRun } from "@countersign/engine/commits/release-run.ts";
import { steerRun } from "@countersign/engine/commits/steer-run.ts";
import type { Hold } from "@countersign/engine/held-run.ts";
import {
  aBegin,
  aCall,
  aGatedCall,
  aQuestionCall,
  aSteer,
  aTurn,
  questionOf,
  type World,
} from "@countersign/engine/testing/fixtures.ts";

import {
  begin,
  cutShort,
  isIdle,
  isSettled,
  type ModelAsked,
  type ModelCall,
  type ModelRun,
  settle,
  statusOf,
  wake,
} from "./model-run.ts";

/** The service under proof. */
export interface Real {
  readonly commit: Committer;
  readonly sql: Queryable;
  readonly world: World;
}

/** What one act will be answered, and how to perform it. The model has it behind it already. */
export interface Planned {
  readonly expected: string;
  readonly send: (real: Real) => Promise<{ readonly kind: string }>;
}

/** Plans an act on a run: `n` chooses what of it is meant. Undefined where there is nothing to do it to. */
export type Plan = (run: ModelRun, n: number, real: Real) => Planned | undefined;

/** Mostly the hold of now, sometimes one of before. */
function holdOf(run: ModelRun, n: number): Hold & { readonly isGood: boolean } {
  const last = run.holds.at(-1);
  const hold = n % 9 === 0 ? run.holds[n % Math.max(run.holds.length, 1)] : last;
  const isGood = run.isLeased && hold === last && hold !== undefined;
  return { runId: run.id, epoch: hold?.epoch ?? 0, leaseId: hold?.leaseId ?? randomUUID(), isGood };
}

/** Mostly a call that is meant for the act, sometimes any. */
function callOf(run: ModelRun, n: number, isMeant: (call: ModelCall) => boolean): ModelCall | undefined {
  const meant = n % 7 === 0 ? [] : run.calls.filter(isMeant);
  const from = meant.length > 0 ? meant : run.calls;
  return from[n % Math.max(from.length, 1)];
}

function newCalls(run: ModelRun, n: number): { call: NewCall; model: ModelCall }[] {
  const versions = `1.1.1.${run.policy}`;
  return Array.from({ length: 1 + (n % 3) }, (_, position) => {
    const kind = (n >> (3 * position + 2)) % 5;
    const hasDeadline = (n >> (position + 5)) % 2 === 0;
    const call =
      kind === 0
        ? aCall({ position })
        : kind === 1
          ? aCall({ position, effect: "once" })
          : kind === 2
            ? aQuestionCall(hasDeadline ? { timeoutMs: 6e7, defaultAnswer: "yes" } : {}, { position })
            : gated(position, hasDeadline, versions);
    const asked: ModelAsked | undefined =
      call.next.kind === "approval"
        ? {
            id: call.next.approvalId,
            kind: "approval",
            policy: run.policy,
            status: "pending",
            answer: undefined,
            by: undefined,
          }
        : call.next.kind === "question"
          ? {
              id: questionOf(call),
              kind: "question",
              policy: run.policy,
              status: "open",
              answer: undefined,
              by: undefined,
            }
          : undefined;
    const model: ModelCall = {
      id: call.id,
      position,
      effect: call.effect as ModelCall["effect"],
      isGated: call.next.kind === "approval",
      hasDeadline: asked !== undefined && hasDeadline,
      status: asked === undefined ? "requested" : "waiting",
      waitsOn: asked === undefined ? null : asked.kind,
      attempt: 0,
      epoch: 0,
      asked,
    };
    return { call, model };
  });
}

function gated(position: number, hasDeadline: boolean, policyVersions: string): NewCall {
  const card = { taskId: randomUUID(), title: "mail.send", body: "{}" };
  const next = { kind: "approval", approvalId: randomUUID(), card, expiresMs: hasDeadline ? 6e7 : undefined } as const;
  return aGatedCall({ position, policyVersions, next });
}

/** Acts on one run that a caller of the service can make; several may be under way at once. */
export const plans: Readonly<Record<string, Plan>> = {
  turn: (run, n) => {
    // A worker asks the model only once everything is settled.
    if (!run.calls.every(isSettled)) return undefined;
    const hold = holdOf(run, n);
    const isOutput = n % 11 === 0;
    const news = isOutput ? [] : newCalls(run, n);
    const reads = n % 4 === 0 ? 0 : run.steers;
    const { turns } = run;
    const expected = !hold.isGood ? "lease_lost" : recordModelTurn(run, isOutput, reads, news);
    const turn = aTurn(hold, { turn: turns, steersRead: reads, calls: news.map(({ call }) => call) });
    return {
      expected,
      send: ({ commit }) => commit(recordTurn, { ...turn, ...(isOutput ? { output: '"done"' } : {}) }),
    };
  },
  begin: (run, n) => {
    const call = callOf(run, n, ({ status }) => status === "requested");
    if (call === undefined) return undefined;
    const hold = holdOf(run, n);
    const expected = !hold.isGood
      ? "lease_lost"
      : call.status === "executing" && call.epoch === run.epoch
        ? "already"
        : call.status !== "requested"
          ? "settled"
          : run.isKilled
            ? "killed"
            : "begun";
    if (expected === "begun") begin(run, call);
    const tool = call.isGated ? "mail.send" : call.effect === "question" ? "human.ask" : "kb.read";
    const about = { tool, needsApproval: call.isGated, policyVersions: `1.1.1.${run.policy}` };
    return { expected, send: ({ commit }) => commit(beginCall, aBegin({ callId: call.id, hold }, about)) };
  },
  complete: (run, n) => {
    const call = callOf(run, n, ({ status }) => status === "executing" || status === "requested");
    if (call === undefined) return undefined;
    const hold = holdOf(run, n);
    const status = (["done", "failed", "denied"] as const)[n % 3] ?? "done";
    const isOpen =
      (call.status === "executing" && call.epoch === run.epoch) ||
      (call.status === "requested" && (status !== "done" || call.effect === "read-only"));
    const isFinished = ["done", "failed", "denied", "canceled"].includes(call.status);
    const expected = !hold.isGood ? "lease_lost" : isOpen ? "completed" : isFinished ? "already" : "refused";
    if (expected === "completed") {
      call.status = status;
      settle(run);
    }
    return {
      expected,
      send: ({ commit }) => commit(completeCall, { ...hold, callId: call.id, status, result: '"so"' }),
    };
  },
  "know not": (run, n) => {
    const call = callOf(run, n, ({ status }) => status === "executing");
    if (call === undefined) return undefined;
    const hold = holdOf(run, n);
    const isOpen = call.status === "executing" || (call.status === "requested" && call.attempt > 0);
    const expected = !hold.isGood ? "lease_lost" : isOpen ? "unknown" : "settled";
    const approvalId = randomUUID();
    if (expected === "unknown") {
      call.status = "unknown";
      call.waitsOn = "outcome";
      call.asked = {
        id: approvalId,
        kind: "outcome",
        policy: run.policy,
        status: "pending",
        answer: undefined,
        by: undefined,
      };
      settle(run);
    }
    const card = { taskId: randomUUID(), title: "did it happen?", body: "{}" };
    return {
      expected,
      send: ({ commit }) => commit(markUnknown, { ...hold, callId: call.id, result: '"?"', approvalId, card }),
    };
  },
  decide: (run, n, { world }) => {
    const call = callOf(run, n, ({ waitsOn }) => waitsOn === "approval" || waitsOn === "outcome");
    const asked = call?.asked;
    if (call === undefined || asked === undefined || asked.kind === "question") return undefined;
    const usual: readonly Answer[] =
      asked.kind === "outcome" ? ["done", "retry", "give_up"] : ["approve", "approve", "deny"];
    const answer: Answer = n % 13 === 0 ? (asked.kind === "outcome" ? "approve" : "done") : (usual[n % 3] ?? "deny");
    const userId = n % 10 === 0 ? world.viewer : n % 2 === 0 ? world.approver : world.otherApprover;
    const version = n % 12 === 0 ? 9 : asked.status === "pending" ? 1 : 2;
    const expected = decideInModel(run, call, asked, { answer, userId, isStale: version === 9, viewer: world.viewer });
    const { workspaceId } = world;
    const decision = {
      runId: run.id,
      approvalId: asked.id,
      workspaceId,
      userId,
      answer,
      version,
      argsHash: "hash-of-args",
    };
    return { expected, send: ({ commit }) => commit(decideApproval, decision) };
  },
  answer: (run, n, { world }) => {
    const call = callOf(run, n, ({ waitsOn }) => waitsOn === "question");
    const asked = call?.asked;
    if (call === undefined || asked?.kind !== "question") return undefined;
    const answer = n % 3 === 0 ? undefined : "words";
    const userId = n % 10 === 0 ? world.viewer : n % 2 === 0 ? world.operator : world.approver;
    const expected = answerInModel(run, call, asked, { answer, userId, viewer: world.viewer });
    const { workspaceId } = world;
    return {
      expected,
      send: ({ commit }) =>
        commit(answerQuestion, { runId: run.id, questionId: asked.id, workspaceId, userId, answer }),
    };
  },
  steer: (run, _n, { world }) => {
    const expected = run.end === undefined ? "queued" : "ended";
    if (run.end === undefined) {
      run.steers += 1;
      run.unread += 1;
      if (statusOf(run) !== "paused" || run.isLeased) run.isReady = true;
    }
    return { expected, send: ({ commit }) => commit(steerRun, aSteer(world, run.id)) };
  },
  release: (run, n) => {
    const hold = holdOf(run, n);
    const isLeaving = n % 2 === 0;
    const mayGo = isLeaving || (!run.isReady && isIdle(run));
    const expected = !hold.isGood ? "lease_lost" : mayGo ? "released" : "busy";
    if (expected === "released") {
      run.isLeased = false;
      run.claims = 0;
      if (!isIdle(run)) run.isReady = true;
    }
    return { expected, send: ({ commit }) => commit(releaseRun, { ...hold, isLeaving }) };
  },
  fail: (run, n) => {
    const hold = holdOf(run, n);
    if (hold.isGood) cutShort(run, "failed");
    const expected = hold.isGood ? "failed" : "lease_lost";
    return { expected, send: ({ commit }) => commit(failRun, { ...hold, reason: "error: no more" }) };
  },
  cancel: (run, _n, { world }) => {
    const expected = run.end ?? "canceled";
    if (run.end === undefined) cutShort(run, "canceled");
    const { workspaceId, operator: userId } = world;
    return { expected, send: ({ commit }) => commit(cancelRun, { runId: run.id, workspaceId, userId, reason: "no" }) };
  },
};

function recordModelTurn(
  run: ModelRun,
  isOutput: boolean,
  reads: number,
  news: readonly { readonly model: ModelCall }[],
): string {
  run.turns += 1;
  run.unread -= Math.max(reads - (run.steers - run.unread), 0);
  if (isOutput && run.unread === 0) {
    run.end = "completed";
    run.isLeased = false;
    run.isReady = false;
    return "finished";
  }
  if (news.length > 0) run.calls = news.map(({ model }) => model);
  settle(run);
  return isOutput ? "unread" : "recorded";
}

interface Said {
  readonly userId: string;
  readonly viewer: string;
}

function decideInModel(
  run: ModelRun,
  call: ModelCall,
  asked: ModelAsked,
  said: Said & { readonly answer: Answer; readonly isStale: boolean },
): string {
  const { answer, userId } = said;
  if (userId === said.viewer) return "forbidden";
  if (asked.by === userId && asked.answer === answer) return "repeated";
  if (asked.status === "expired") return "expired";
  if (asked.status !== "pending") return "settled";
  if (run.isKilled) return "killed";
  if (said.isStale) return "stale";
  if ((asked.kind === "approval") !== (answer === "approve" || answer === "deny")) return "wrong_answer";
  asked.status = answer === "deny" || answer === "give_up" ? "denied" : "approved";
  asked.answer = answer;
  asked.by = userId;
  const next = { approve: "requested", retry: "requested", done: "done", give_up: "failed", deny: "denied" } as const;
  call.status = next[answer];
  call.waitsOn = null;
  wake(run);
  return "decided";
}

function answerInModel(
  run: ModelRun,
  call: ModelCall,
  asked: ModelAsked,
  { answer, userId, viewer }: Said & { readonly answer: string | undefined },
): string {
  if (userId === viewer) return "forbidden";
  const status = answer === undefined ? "dismissed" : "answered";
  if (asked.by === userId && asked.status === status) return "repeated";
  if (asked.status === "expired") return "expired";
  if (asked.status !== "open") return "settled";
  if (run.isKilled) return "killed";
  asked.status = status;
  asked.by = userId;
  call.status = "done";
  call.waitsOn = null;
  wake(run);
  return "answered";
}
