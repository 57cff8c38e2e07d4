import { meetsSecondLook } from "@countersign/gate/second-look.ts";
import type { Option, Policy, Verdict } from "@countersign/gate/types.ts";
import type { Queryable } from "@countersign/db/connect.ts";
import { boundPreconditions, pickedOption } from "./call-input.ts";
import type { BeginCall, BeginOutcome } from "./commits/begin-call.ts";
import type { HeldRun } from "./engine.ts";
import { judgeCall } from "./judge-call.ts";
import { policyOf, timeOf, validUntil } from "./policy.ts";
import { changedPreconditions, type Proposal } from "./propose-call.ts";
import { readSnapshot, type RecordedCall } from "./run-snapshot.ts";
import type { Tool } from "./tool.ts";
import type { RegisteredTool } from "./tools.ts";

/** Whether a call may start, decided just before it does. */
export type Start =
  | { readonly kind: "begun"; readonly args: unknown; readonly selectedOptionId: string | undefined }
  | { readonly kind: "refused" | "ask"; readonly verdict: Verdict }
  /** What the classifier says could still change the verdict: ask it, and look again. */
  | { readonly kind: "unclassified"; readonly verdict: Verdict }
  /** The audit cannot be written, so nothing that needs a credential starts. */
  | { readonly kind: "audit_unavailable" }
  | { readonly kind: "held" | "lost" | "settled" };

/**
 * Gates a call again and begins it under exactly the policy it was judged by: where policy moved between the two, it is
 * judged again. `begin` is told with what it would run. A call that neither reaches outside nor was asked about needs no commit to begin. `proposal` is what the
 * tool says it would do, just now: where that rests on something else than a person agreed to, it asks.
 */
export async function beginWithSecondLook(
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  proposal: Proposal | undefined,
  sql: Queryable,
  begin: (transition: BeginCall, start: Extract<Start, { kind: "begun" }>) => Promise<BeginOutcome>,
): Promise<Start> {
  const { tool, definitionHash } = registered;
  for (;;) {
    const policy = policyOf(held.snapshot, held.definition);
    const now = timeOf(held.snapshot);
    const verdict = judgeCall(call, registered, policy, now);
    const approval = {
      approved: call.approval?.status === "approved",
      shownReasons: call.approval?.shownReasons ?? [],
    };
    if (verdict.verdict === "held") return { kind: "held" };
    if (!meetsSecondLook(verdict, approval)) {
      if (verdict.classify === true) return { kind: "unclassified", verdict };
      const isQuestion = verdict.verdict === "ask" || verdict.verdict === "pick";
      return { kind: isQuestion ? "ask" : "refused", verdict };
    }
    const choice = findChoice(call, tool, verdict, proposal, policy);
    if (choice.kind === "open") return askOrRefuse(choice.verdict, policy);
    const moved = verdict.verdict === "allow" ? undefined : findMoved(call, proposal);
    if (moved !== undefined) return askOrRefuse({ ...verdict, verdict: "ask", reason: moved }, policy);
    const begun = { kind: "begun", args: verdict.args, selectedOptionId: choice.selectedOptionId } as const;
    if (!needsBegin(call, verdict)) return begun;

    const transition = {
      ...held.hold,
      callId: call.id,
      policyVersions: policy.versions,
      validUntil: validUntil(held.snapshot, now),
      definitionHash,
      needsApproval: verdict.verdict !== "allow",
      again: call.status === "executing",
    };
    const outcome = await begin(transition, begun);
    switch (outcome.kind) {
      case "begun":
      case "already":
        return begun;
      case "policy_moved":
        await refreshPolicy(held, sql);
        continue;
      case "not_granted":
        return {
          kind: "refused",
          verdict: { verdict: "deny", row: "5", reason: `capability_denied:${outcome.capability}` },
        };
      case "not_approved":
      case "definition_changed":
        return askOrRefuse({ ...verdict, verdict: "ask", reason: outcome.kind }, policy);
      case "killed":
        return { kind: "held" };
      case "lease_lost":
        return { kind: "lost" };
      case "settled":
        return { kind: "settled" };
    }
  }
}

function needsBegin(call: RecordedCall, verdict: Verdict): boolean {
  return (
    call.effect !== "read-only" || call.requires.length > 0 || call.approval !== null || verdict.verdict !== "allow"
  );
}

/** A question that the table did not ask itself; where nobody can answer it, what becomes of that is the definition's. */
function askOrRefuse(verdict: Verdict, policy: Policy): Start {
  if (policy.canAnybodyAnswer || policy.unattended === "park") return { kind: "ask", verdict };
  const { row, reason } = verdict;
  const unbound = verdict.verdict === "pick";
  return {
    kind: "refused",
    verdict: {
      ...verdict,
      verdict: "deny",
      row: unbound ? "9" : "afterwards",
      reason: unbound ? `selection_unbound:${verdict.role ?? ""}` : "no_approver",
      unasked: { row, reason },
    },
  };
}

type Choice =
  | { readonly kind: "made"; readonly selectedOptionId: string | undefined }
  | { readonly kind: "open"; readonly verdict: Verdict };

/** Which of the options that are offered now was picked by a person, or is bound; one that is offered no more is neither. */
function findChoice(
  call: RecordedCall,
  tool: Tool,
  verdict: Verdict,
  proposal: Proposal | undefined,
  policy: Policy,
): Choice {
  const options = offeredOptions(tool, verdict, proposal);
  if (options.length === 0) return { kind: "made", selectedOptionId: undefined };
  const role = roleOf(tool, verdict);
  const selected = pickedOption(call) ?? policy.bindings?.get(role);
  if (selected !== undefined && options.some(({ id }) => id === selected))
    return { kind: "made", selectedOptionId: selected };
  const reason = selected === undefined ? "needs_selection" : "selection_gone";
  return { kind: "open", verdict: { ...verdict, verdict: "pick", row: "9", reason, role, options } };
}

/** From what a person picks: what reading found, else what the arguments alone say. */
export function offeredOptions(tool: Tool, verdict: Verdict, proposal: Proposal | undefined): readonly Option[] {
  if (proposal?.options !== undefined) return proposal.options;
  if (verdict.options !== undefined) return verdict.options;
  try {
    return tool.options?.(verdict.args as never) ?? [];
  } catch {
    return [];
  }
}

function roleOf(tool: Tool, verdict: Verdict): string {
  if (verdict.role !== undefined) return verdict.role;
  if (typeof tool.role !== "function") return tool.role ?? tool.name;
  try {
    return tool.role(verdict.args as never);
  } catch {
    return tool.name;
  }
}

/** Why what a person agreed to is not what would happen now; undefined where it is. */
function findMoved(call: RecordedCall, proposal: Proposal | undefined): string | undefined {
  if (proposal === undefined) return undefined;
  const bound = boundPreconditions(call);
  // An attempt of which nobody knows what it did, and that nothing was bound to: a person said to run it again.
  if (bound === undefined && call.approval?.answer === "retry") return undefined;
  const [name, ...others] = changedPreconditions(bound ?? [], proposal.preconditions);
  if (name === undefined) return undefined;
  return `precondition_changed:${name}${others.length === 0 ? "" : ` and ${others.length} more`}`;
}

/** Takes in the part of the record that policy is made of; what the run has done meanwhile stays as the loop left it. */
async function refreshPolicy(held: HeldRun, sql: Queryable): Promise<void> {
  const { databaseTime, readAt, workedMs, policyVersions, killed, policy, grants, denials, canAnybodyAnswer } =
    await readSnapshot(sql, held.hold.runId);
  const moment = { databaseTime, readAt, workedMs };
  held.snapshot = { ...held.snapshot, ...moment, policyVersions, killed, policy, grants, denials, canAnybodyAnswer };
}
