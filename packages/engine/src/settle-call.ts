import type { Verdict } from "@countersign/gate/types.ts";
import { v7 as uuidv7 } from "uuid";
import { capResult, cutShort } from "./cap-result.ts";
import { inputOf } from "./call-input.ts";
import { approvalCard, type CallOnCard, outcomeCard } from "./card.ts";
import { type CompleteCall, completeCall } from "./commits/complete-call.ts";
import { markUnknown } from "./commits/mark-unknown.ts";
import { recordLateResult } from "./commits/record-late-result.ts";
import { requestApprovals } from "./commits/request-approvals.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { findDefinitionChange } from "./definition-change.ts";
import { displayText, parseExact, stringifyExact } from "./exact-text.ts";
import type { Standing } from "./held-run.ts";
import { insist } from "./insist.ts";
import { judgeCall } from "./judge-call.ts";
import { policyOf, timeOf } from "./policy.ts";
import type { StoredBlock } from "./prompt.ts";
import type { Proposal } from "./propose-call.ts";
import type { RecordedCall } from "./run-snapshot.ts";
import { type Attempt, hasEarlierAttempt } from "./run-tool.ts";
import { scrubResult } from "./scrub.ts";
import { scrubHeld } from "./scrub-held.ts";
import { offeredOptions } from "./second-look.ts";
import type { RegisteredTool } from "./tools.ts";

/** Settles a call that may not start. An earlier attempt may have done it: refusing a further one does not undo that. */
export async function refuse(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  completion: Completion,
): Promise<CallReport> {
  if (hasEarlierAttempt(held, call))
    return await becomeUnknown(engine, held, call, `a further attempt was refused: ${completion.content}`);
  return await complete(engine, held, call, completion);
}

/** What is known of a call beside the verdict, when it is put before a person. */
export interface Asking {
  /** What the tool says that it would do; the approval is bound to what that rests on. */
  readonly proposal?: Proposal | undefined;
  /** The attempt under way did nothing and does not count. */
  readonly isUndone?: boolean;
}

/** Puts a call before a person, as the gate judges it now and bound to the tool as it is now; the run pauses on it. */
export async function askAnew(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  verdict: Verdict,
  { proposal, isUndone = false }: Asking = {},
): Promise<CallReport> {
  const { tool, definitionHash } = registered;
  const { display } = await scrubHeld(engine, held);
  const options = offeredOptions(tool, verdict, proposal);
  const preconditions = proposal?.preconditions ?? [];
  const agreedTo = policyOf(held.snapshot, held.definition).pins?.get(call.tool) ?? call.definitionHash;
  const onCard: CallOnCard = {
    ...shownOf(held, call),
    proposal,
    options,
    definitionChange: await findDefinitionChange(engine.sql, agreedTo, registered),
  };
  const outcome = await insist(held.abort.signal, () =>
    engine.commit(requestApprovals, {
      ...held.hold,
      callId: call.id,
      approvalId: uuidv7(),
      card: approvalCard(onCard, tool, verdict, display),
      verdict: options.length > 0 ? "pick" : "ask",
      gateRow: verdict.row,
      gateReason: displayText(verdict.reason, 1_000),
      policyVersions: held.snapshot.policyVersions,
      definitionHash,
      expiresMs: held.definition.approvalExpiresMs,
      preconditions: preconditions.length === 0 ? undefined : stringifyExact(preconditions),
      options: options.length === 0 ? undefined : stringifyExact(options.map(({ id }) => id)),
      isUndone,
    }),
  );
  if (outcome.kind === "lease_lost") return { callId: call.id, kind: "lost" };
  if (outcome.kind === "settled") return { callId: call.id, kind: "settled", hasNews: true };
  return { callId: call.id, kind: "settled", change: { status: "waiting", waitsOn: "approval" }, ...newsOf(outcome) };
}

/** Records what an attempt came to: its result, without secrets, or that nobody can tell. */
export async function recordAttempt(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  attempt: Exclude<Attempt, { kind: "changed" }>,
): Promise<CallReport> {
  if (attempt.kind === "abandoned") return { callId: call.id, kind: "lost" };
  const result = scrubResult(await scrubHeld(engine, held), attempt);
  if (result.kind === "unknown") return await becomeUnknown(engine, held, call, result.content);
  const code = result.kind === "failed" ? (result.code ?? "error") : undefined;
  return await complete(engine, held, call, { status: result.kind, content: result.content, code });
}

/** How a call is settled, before it is put into a commit. */
export interface Completion {
  readonly status: CompleteCall["status"];
  readonly content: string;
  readonly code?: string | undefined;
  readonly blob?: string | undefined;
}

/** The commit that settles a call as `completion` says. */
export function transitionOf(
  held: HeldRun,
  call: RecordedCall,
  { status, content, code, blob }: Completion,
): CompleteCall {
  return {
    ...held.hold,
    callId: call.id,
    status,
    result: stringifyExact(content),
    ...(code === undefined ? {} : { code }),
    ...(blob === undefined ? {} : { blob }),
  };
}

/** Settles a call, with its result capped. Where the lease was lost meanwhile, what is known is kept as evidence and the report says `lost`. */
export async function complete(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  completion: Completion,
): Promise<CallReport> {
  const capped = await insist(held.abort.signal, () =>
    capResult(engine.sql, held.snapshot.workspaceId, completion.content),
  );
  const transition = transitionOf(held, call, { ...completion, ...capped });
  const outcome = await insist(held.abort.signal, () => engine.commit(completeCall, transition));
  if (outcome.kind === "lease_lost")
    await keepEvidence(engine, held, call, completion.status === "done" ? "done" : "failed", transition.result);
  return reportOf(call, transition, outcome);
}

/** What the outcome of a completing commit means for the loop. */
export function reportOf(
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

/**
 * Records that nobody can tell whether the effect happened, and asks a person: the outcome card shows what is known, and
 * every reason that running the call again would have to meet.
 */
export async function becomeUnknown(
  engine: Engine,
  held: HeldRun,
  call: RecordedCall,
  said: string,
): Promise<CallReport> {
  const known = cutShort(said);
  const tool = engine.tools.get(call.tool)?.tool;
  const policy = policyOf(held.snapshot, held.definition);
  const verdict = judgeCall(call, engine.tools.get(call.tool), policy, timeOf(held.snapshot));
  const result = stringifyExact(`unknown whether it happened: ${known}`);
  const { display } = await scrubHeld(engine, held);
  const outcome = await insist(held.abort.signal, () =>
    engine.commit(markUnknown, {
      ...held.hold,
      callId: call.id,
      result,
      approvalId: uuidv7(),
      card: outcomeCard(shownOf(held, call), tool, verdict, known, display),
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

/** What every card of a call shows: what would run, and apart from it what the model said in the same turn. */
function shownOf(held: HeldRun, call: RecordedCall): CallOnCard {
  const { argsText, argsHash, isEdited } = inputOf(call);
  const turn = held.snapshot.messages.find(({ seq, kind }) => seq === call.turnSeq && kind === "assistant");
  const blocks = turn === undefined ? [] : parseExact<StoredBlock[]>(turn.content);
  const narration = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  return { name: call.tool, args: argsText, argsHash, isEdited, requires: call.requires, narration };
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
