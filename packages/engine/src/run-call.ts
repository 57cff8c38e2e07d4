import { checkArguments } from "@countersign/gate/arguments.ts";
import { hashArguments } from "@countersign/gate/canonical.ts";
import { codeOfVerdict, textOfVerdict } from "@countersign/gate/result-codes.ts";
import { boundPreconditions, inputOf, pickedOption } from "./call-input.ts";
import { classifyCall } from "./classify-call.ts";
import { isAuditUnavailable } from "./commits/acquire-capability.ts";
import { beginCall } from "./commits/begin-call.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { insist } from "./insist.ts";
import { askOfChanged, lookAhead } from "./look-ahead.ts";
import type { Proposal } from "./propose-call.ts";
import { type NotBegunStart, runInTransaction } from "./run-in-transaction.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { hasEarlierAttempt, runTool } from "./run-tool.ts";
import { beginWithSecondLook, type Start } from "./second-look.ts";
import { askAnew, becomeUnknown, recordAttempt, refuse } from "./settle-call.ts";
import type { Tool } from "./tool.ts";
import type { RegisteredTool } from "./tools.ts";

/**
 * Takes one call from where it stands to a result, or before a person: finds out what it would do where its tool proposes
 * first, begins it (or finds it begun by the claim), runs its tool, and records what came of it. Every way it can end is a
 * report; it rejects only where the database cannot be reached.
 */
export async function runCall(engine: Engine, held: HeldRun, call: RecordedCall): Promise<CallReport> {
  const registered = engine.tools.get(call.tool);
  // Another worker may have it, and what a person approved is not for this one to refuse.
  if (registered === undefined) return { callId: call.id, kind: "held" };
  const input = inputOf(call);
  if (hashArguments(input.argsText) !== input.argsHash) {
    return await refuse(engine, held, call, {
      status: "failed",
      content: "the recorded arguments are not those that were judged; they were not run",
      code: "error",
    });
  }
  const { tool } = registered;
  if (tool.effect === "question") throw new Error(`${call.tool} is a question; it is answered, never run`);
  const isInterrupted = call.status === "executing" && call.epoch !== held.hold.epoch;
  if (isInterrupted && tool.effect === "once" && tool.verify === undefined) {
    return await becomeUnknown(engine, held, call, "the worker that ran it stopped before it could record a result");
  }

  const first = await runOnce(engine, held, call, registered, tool);
  if (first.kind !== "unclassified") return first;
  const classified = await classifyCall(engine, held, call, registered);
  if (classified.kind === "settled") return { callId: call.id, kind: "settled", hasNews: true };
  if (classified.kind !== "classified") return { callId: call.id, kind: "lost" };
  const second = await runOnce(engine, held, classified.call, registered, tool);
  // Judged again, it has its answer: nothing is asked of the classifier twice.
  return second.kind === "unclassified" ? { callId: call.id, kind: "settled", hasNews: true } : second;
}

/** The tool and the effects that are run; a question is answered. */
type RunTool = Exclude<Tool, { effect: "question" }>;

async function runOnce(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  tool: RunTool,
): Promise<CallReport | Unclassified> {
  const look = await lookAhead(engine, held, call, registered);
  if (look.kind === "settled") return look.report;
  const { proposal } = look;
  if (tool.effect === "transactional") {
    const report = await runInTransaction(engine, held, call, registered, tool, proposal);
    if (report.kind === "not_begun") return await notBegun(engine, held, call, registered, report.start, proposal);
    if (report.kind === "changed") return await askOfChanged(engine, held, call, registered, report.content);
    return report;
  }
  const start = await startCall(engine, held, call, registered, proposal);
  if (start.kind !== "begun") return await notBegun(engine, held, call, registered, start, proposal);
  const { args, selectedOptionId } = start;
  const preconditions = proposal?.preconditions ?? boundPreconditions(call) ?? [];
  const attempt = await runTool(engine, held, call, tool, { args, selectedOptionId, preconditions });
  if (attempt.kind === "changed") return await askOfChanged(engine, held, call, registered, attempt.content);
  return await recordAttempt(engine, held, call, attempt);
}

/** The classifier's word could still change the verdict. */
interface Unclassified {
  readonly kind: "unclassified";
}

/** A call that the claim began under this epoch has had its second look; any other gets it now. */
async function startCall(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  proposal: Proposal | undefined,
): Promise<Start> {
  if (call.status === "executing" && call.epoch === held.hold.epoch) {
    const checked = checkArguments(registered.tool, call.args);
    if (checked.kind === "valid") return { kind: "begun", args: checked.args, selectedOptionId: pickedOption(call) };
    const reason = `invalid_args:${checked.path}`;
    return { kind: "refused", verdict: { verdict: "invalid", row: "2", reason, detail: checked.detail } };
  }
  try {
    return await beginWithSecondLook(held, call, registered, proposal, engine.sql, (transition) =>
      insist(held.abort.signal, () => engine.commit(beginCall, transition)),
    );
  } catch (error) {
    if (isAuditUnavailable(error)) return { kind: "audit_unavailable" };
    throw error;
  }
}

async function notBegun(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  start: NotBegunStart,
  proposal: Proposal | undefined,
): Promise<CallReport | Unclassified> {
  switch (start.kind) {
    case "unclassified":
      return { kind: "unclassified" };
    case "held":
    case "lost":
      return { callId: call.id, kind: start.kind };
    case "settled":
      return { callId: call.id, kind: "settled", hasNews: true };
    case "audit_unavailable":
      return await refuse(engine, held, call, {
        status: "failed",
        content: `${call.tool} was not run: the audit of ${call.requires.join(", ")} cannot be written at the moment, so no credential is given out. Reading goes on; try again later.`,
        code: "audit_unavailable",
      });
    case "ask":
      if (hasEarlierAttempt(held, call))
        return await becomeUnknown(engine, held, call, "a further attempt needs a person's word");
      return await askAnew(engine, held, call, registered, start.verdict, { proposal });
    case "refused": {
      const code = codeOfVerdict(start.verdict) ?? "policy_denied";
      const content = textOfVerdict(start.verdict, call.tool) ?? code;
      const status = start.verdict.verdict === "invalid" ? "failed" : "denied";
      return await refuse(engine, held, call, { status, content, code });
    }
  }
}
