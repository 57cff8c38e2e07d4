import { decide } from "@countersign/gate/decide.ts";
import { meetsSecondLook } from "@countersign/gate/second-look.ts";
import type { Verdict } from "@countersign/gate/types.ts";
import type { Queryable } from "@countersign/db/connect.ts";
import type { BeginCall, BeginOutcome } from "./commits/begin-call.ts";
import type { HeldRun } from "./engine.ts";
import { policyOf } from "./policy.ts";
import { readSnapshot, type RecordedCall } from "./run-snapshot.ts";
import type { RegisteredTool } from "./tools.ts";

/** Whether a call may start, decided just before it does. */
export type Start =
  | { readonly kind: "begun"; readonly args: unknown }
  | { readonly kind: "refused" | "ask"; readonly verdict: Verdict }
  /** The audit cannot be written, so nothing that needs a credential starts. */
  | { readonly kind: "audit_unavailable" }
  | { readonly kind: "held" | "lost" | "settled" };

/**
 * Gates a call again and begins it under exactly the policy it was judged by: where policy moved between the two, it is
 * judged again. A call that neither reaches outside nor was asked about needs no commit to begin.
 */
export async function beginWithSecondLook(
  held: HeldRun,
  call: RecordedCall,
  registered: RegisteredTool,
  sql: Queryable,
  begin: (transition: BeginCall) => Promise<BeginOutcome>,
): Promise<Start> {
  const { tool, definitionHash } = registered;
  for (;;) {
    const policy = policyOf(held.snapshot, held.definition);
    const verdict = decide({ tool, name: call.tool, argsText: call.args }, policy, new Date());
    const approval = {
      approved: call.approval?.status === "approved",
      shownReasons: call.approval?.shownReasons ?? [],
    };
    if (verdict.verdict === "held") return { kind: "held" };
    if (!meetsSecondLook(verdict, approval)) {
      const isQuestion = verdict.verdict === "ask" || verdict.verdict === "pick";
      return { kind: isQuestion ? "ask" : "refused", verdict };
    }
    if (!needsBegin(call, verdict)) return { kind: "begun", args: verdict.args };

    const outcome = await begin({
      ...held.hold,
      callId: call.id,
      policyVersions: policy.versions,
      definitionHash,
      needsApproval: verdict.verdict !== "allow",
      again: call.status === "executing",
    });
    switch (outcome.kind) {
      case "begun":
      case "already":
        return { kind: "begun", args: verdict.args };
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
        return { kind: "ask", verdict: { ...verdict, verdict: "ask", reason: outcome.kind } };
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

/** Takes in the part of the record that policy is made of; what the run has done meanwhile stays as the loop left it. */
async function refreshPolicy(held: HeldRun, sql: Queryable): Promise<void> {
  const { policyVersions, killed, grants, denials, canAnybodyAnswer } = await readSnapshot(sql, held.hold.runId);
  held.snapshot = { ...held.snapshot, policyVersions, killed, grants, denials, canAnybodyAnswer };
}
