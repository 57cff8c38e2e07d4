import { checkArguments } from "@countersign/gate/arguments.ts";
import { codeOfVerdict, textOfVerdict } from "@countersign/gate/result-codes.ts";
import type { Verdict } from "@countersign/gate/types.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { v7 as uuidv7 } from "uuid";
import { capResult } from "./cap-result.ts";
import { approvalCard, outcomeCard } from "./card.ts";
import { commitWithin } from "./commit.ts";
import { beginCall } from "./commits/begin-call.ts";
import { type CompleteCall, completeCall } from "./commits/complete-call.ts";
import { markUnknown } from "./commits/mark-unknown.ts";
import { recordLateResult } from "./commits/record-late-result.ts";
import { requestApprovals } from "./commits/request-approvals.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { stringifyExact } from "./exact-text.ts";
import { insist } from "./insist.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { beginWithSecondLook, type Start } from "./second-look.ts";
import type { Standing } from "./held-run.ts";
import { type Attempt, contextOf, runTool } from "./run-tool.ts";
import type { Tool, ToolResult } from "./tool.ts";
import type { RegisteredTool } from "./tools.ts";

/**
 * Takes one call from where it stands to a result: begins it (or finds it begun by the claim), runs its tool, and
 * records what came of it. Every way it can end is a report; it rejects only where the database cannot be reached.
 */
export async function runCall(engine: Engine, held: HeldRun, call: RecordedCall): Promise<CallReport> {
  const registered = engine.tools.get(call.tool);
  if (registered === undefined) {
    return await complete(engine, held, call, {
      status: "failed",
      content: `this worker has no tool ${call.tool}`,
      code: "tool_not_available",
    });
  }
  const { tool } = registered;
  if (tool.effect === "question") throw new Error(`${call.tool} is a question; it is answered, never run`);
  if (tool.effect === "transactional") return await runInTransaction(engine, held, call, registered, tool);

  const isInterrupted = call.status === "executing" && call.epoch !== held.hold.epoch;
  if (isInterrupted && tool.effect === "once" && tool.verify === undefined) {
    return await becomeUnknown(engine, held, call, "the worker that ran it stopped before it could record a result");
  }

  const start = await startCall(engine, held, call, registered);
  if (start.kind !== "begun") return await notBegun(engine, held, call, registered, start);
  return await recordAttempt(engine, held, call, await runTool(engine, held, call, tool, start.args));
}

/** A call that the claim began under this epoch has had its second look; any other gets it now. */
async function startCall(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
): Promise<Start> {
  if (call.status === "executing" && call.epoch === held.hold.epoch) {
    const checked = checkArguments(registered.tool, call.args);
    return checked.kind === "valid" ? { kind: "begun", args: checked.args } : { kind: "settled" };
  }
  return await beginWithSecondLook(held, call, registered, engine.sql, (transition) =>
    insist(held.abort.signal, () => engine.commit(beginCall, transition)),
  );
}

/** The tool's writes, its re-check and its result are one transaction: exactly once, never unknown. */
async function runInTransaction(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  tool: Extract<Tool, { effect: "transactional" }>,
): Promise<CallReport> {
  try {
    return await insist(held.abort.signal, () =>
      transaction(engine.sql, async (tx) => {
        const start = await beginWithSecondLook(held, call, registered, tx, (transition) =>
          commitWithin(tx, beginCall, transition),
        );
        if (start.kind !== "begun") throw new NotBegun(start);
        const result = await tool.execute(start.args as never, { ...contextOf(held, call, held.abort.signal), tx });
        if (result.kind !== "done") throw new Undone(result);
        const { content, blob } = await capResult(tx, held.snapshot.workspaceId, result.content);
        const transition = transitionOf(held, call, { status: "done", content, blob });
        return reportOf(call, transition, await commitWithin(tx, completeCall, transition));
      }),
    );
  } catch (error) {
    if (error instanceof NotBegun) return await notBegun(engine, held, call, registered, error.start);
    if (error instanceof Undone)
      return await recordAttempt(engine, held, call, { code: "error", ...error.result, kind: "failed" });
    if (held.abort.signal.aborted) return { callId: call.id, kind: "lost" };
    engine.report({ kind: "tool.failed", runId: held.hold.runId, tool: call.tool, error });
    return await complete(engine, held, call, {
      status: "failed",
      content: "the tool failed; nothing of it was stored",
      code: "error",
    });
  }
}

class NotBegun extends Error {
  readonly start: Exclude<Start, { kind: "begun" }>;
  constructor(start: Exclude<Start, { kind: "begun" }>) {
    super(start.kind);
    this.start = start;
  }
}

/** A transactional tool that did not succeed takes its writes back. */
class Undone extends Error {
  readonly result: ToolResult;
  constructor(result: ToolResult) {
    super(result.kind);
    this.result = result;
  }
}

async function notBegun(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  start: Exclude<Start, { kind: "begun" }>,
): Promise<CallReport> {
  switch (start.kind) {
    case "held":
    case "lost":
      return { callId: call.id, kind: start.kind };
    case "settled":
      return { callId: call.id, kind: "settled", hasNews: true };
    case "ask":
      return await askAnew(engine, held, call, registered, start.verdict);
    case "refused": {
      const code = codeOfVerdict(start.verdict) ?? "policy_denied";
      const content = textOfVerdict(start.verdict, call.tool) ?? code;
      // An earlier attempt may have done it: refusing a further one does not make that undone.
      if (call.attempt > 0 && call.effect === "once")
        return await becomeUnknown(engine, held, call, `a further attempt was refused: ${content}`);
      return await complete(engine, held, call, { status: "denied", content, code });
    }
  }
}

async function askAnew(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  { tool, definitionHash }: RegisteredTool,
  verdict: Verdict,
): Promise<CallReport> {
  const outcome = await insist(held.abort.signal, () =>
    engine.commit(requestApprovals, {
      ...held.hold,
      callId: call.id,
      approvalId: uuidv7(),
      card: approvalCard(
        { name: call.tool, args: call.args, argsHash: call.argsHash, requires: call.requires },
        tool,
        verdict,
      ),
      gateRow: verdict.row,
      gateReason: verdict.reason,
      policyVersions: held.snapshot.policyVersions,
      definitionHash,
      expiresMs: held.definition.approvalExpiresMs,
    }),
  );
  if (outcome.kind === "lease_lost") return { callId: call.id, kind: "lost" };
  return { callId: call.id, kind: "settled", change: { status: "waiting", waitsOn: "approval" }, ...newsOf(outcome) };
}

async function recordAttempt(engine: Engine, held: HeldRun, call: RecordedCall, attempt: Attempt): Promise<CallReport> {
  if (attempt.kind === "abandoned") return { callId: call.id, kind: "lost" };
  if (attempt.kind === "unknown") return await becomeUnknown(engine, held, call, attempt.content);
  const { content, blob } = await capResult(engine.sql, held.snapshot.workspaceId, attempt.content);
  const code = attempt.kind === "failed" ? (attempt.code ?? "error") : undefined;
  return await complete(engine, held, call, { status: attempt.kind, content, blob, code });
}

interface Completion {
  readonly status: CompleteCall["status"];
  readonly content: string;
  readonly code?: string | undefined;
  readonly blob?: string | undefined;
}

function transitionOf(held: HeldRun, call: RecordedCall, { status, content, code, blob }: Completion): CompleteCall {
  return {
    ...held.hold,
    callId: call.id,
    status,
    result: stringifyExact(content),
    ...(code === undefined ? {} : { code }),
    ...(blob === undefined ? {} : { blob }),
  };
}

async function complete(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  completion: Completion,
): Promise<CallReport> {
  const transition = transitionOf(held, call, completion);
  const outcome = await insist(held.abort.signal, () => engine.commit(completeCall, transition));
  if (outcome.kind === "lease_lost")
    await keepEvidence(engine, held, call, completion.status === "done" ? "done" : "failed", transition.result);
  return reportOf(call, transition, outcome);
}

function reportOf(
  call: RecordedCall,
  transition: CompleteCall,
  outcome: { readonly kind: string } & Standing,
): CallReport {
  switch (outcome.kind) {
    case "completed": {
      const { status, result, code = null } = transition;
      return { callId: call.id, kind: "settled", change: { status, result, resultCode: code }, ...newsOf(outcome) };
    }
    case "lease_lost":
      return { callId: call.id, kind: "lost" };
    default:
      return { callId: call.id, kind: "settled", hasNews: true };
  }
}

async function becomeUnknown(engine: Engine, held: HeldRun, call: RecordedCall, known: string): Promise<CallReport> {
  const tool = engine.tools.get(call.tool)?.tool;
  const checked = checkArguments(tool, call.args);
  const onCard = { name: call.tool, args: call.args, argsHash: call.argsHash, requires: call.requires };
  const result = stringifyExact(`unknown whether it happened: ${known}`);
  const outcome = await insist(held.abort.signal, () =>
    engine.commit(markUnknown, {
      ...held.hold,
      callId: call.id,
      result,
      approvalId: uuidv7(),
      card: outcomeCard(onCard, tool, checked.kind === "valid" ? checked.args : undefined, known),
    }),
  );
  if (outcome.kind === "lease_lost") {
    await keepEvidence(engine, held, call, "unknown", result);
    return { callId: call.id, kind: "lost" };
  }
  return {
    callId: call.id,
    kind: "settled",
    change: { status: "unknown", waitsOn: "outcome", result },
    ...newsOf(outcome),
  };
}

async function keepEvidence(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  status: "done" | "failed" | "unknown",
  result: string,
): Promise<void> {
  const { runId, epoch } = held.hold;
  await engine.commit(recordLateResult, { runId, callId: call.id, epoch, status, result });
}

function newsOf({ hasNews, isParked }: Standing): Standing {
  return { hasNews, isParked };
}
