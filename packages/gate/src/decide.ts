import { type Facts, gatherFacts } from "./facts.ts";
import { floors, table } from "./table.ts";
import { askAboveDial } from "./rows/dial.ts";
import type { Policy, ProposedCall, Verdict } from "./types.ts";

/**
 * The gate: what happens with a tool call under a policy, now. The first row of the table
 * that matches gives the verdict, and the verdict names it. Pure: the same call, policy and
 * time give the same answer; nothing is read or written. Never throws, whatever the model
 * wrote and whatever the tool's functions do.
 */
export function decide(call: ProposedCall, policy: Policy, now: Date): Verdict {
  return settle(gatherFacts(call, policy, now));
}

/** The verdict on facts that are gathered already. */
export function settle(facts: Facts): Verdict {
  const { call, policy, checked } = facts;
  const verdict = settleUnanswerable(addFloorReasons(matchFirst(facts), facts), policy);
  if (verdict.row === "1a" || verdict.row === "1b" || call.tool === undefined || checked.kind !== "valid") {
    return verdict;
  }
  return { ...verdict, args: checked.args };
}

/** Row 24 is what remains. */
function matchFirst(facts: Facts): Verdict {
  for (const { row } of table) {
    const verdict = row(facts);
    if (verdict !== undefined) return verdict;
  }
  return askAboveDial(facts);
}

function addFloorReasons(verdict: Verdict, facts: Facts): Verdict {
  if (verdict.verdict !== "ask" && verdict.verdict !== "pick") return verdict;
  const floorReasons = floors.flatMap((floor) => floor(facts)?.reason ?? []);
  return { ...verdict, floorReasons };
}

/** Afterwards: a question that nobody can answer, where the definition does not wait for one. */
function settleUnanswerable(verdict: Verdict, policy: Policy): Verdict {
  const isQuestion = verdict.verdict === "ask" || verdict.verdict === "pick";
  if (!isQuestion || policy.canAnybodyAnswer || policy.unattended === "park") return verdict;
  const { row, reason } = verdict;
  const denied =
    verdict.verdict === "pick"
      ? ({ row: "9", reason: `selection_unbound:${verdict.role}` } as const)
      : ({ row: "afterwards", reason: "no_approver" } as const);
  return { ...verdict, verdict: "deny", ...denied, unasked: { row, reason } };
}
