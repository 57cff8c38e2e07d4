import { type Facts, gatherFacts, type Row } from "./facts.ts";
import { askAlwaysGated, askByStrictPolicy, askUninspectable } from "./rows/floors.ts";
import { allowWithinDial, allowWithoutDial, askAboveDial, askByNeed, askByRule } from "./rows/modes.ts";
import {
  allowNeverGated,
  denyByRule,
  denyKilledTool,
  denyMissingCapability,
  denyRepeatOfDenied,
  denyToolTurnedOff,
  denyUnofferedTool,
  holdKilledRun,
  refuseInvalidArguments,
} from "./rows/refuse.ts";
import type { Policy, ProposedCall, Verdict } from "./types.ts";

/** Rows 10 to 14: they ask under every dial, and a card must have shown each that holds. */
const floors: readonly Row[] = [askAlwaysGated, askByStrictPolicy, askUninspectable];

/** The decision table, in order. */
const table: readonly Row[] = [
  holdKilledRun,
  denyKilledTool,
  refuseInvalidArguments,
  denyUnofferedTool,
  denyToolTurnedOff,
  allowNeverGated,
  denyMissingCapability,
  denyByRule,
  denyRepeatOfDenied,
  ...floors,
  askByRule,
  askByNeed,
  allowWithoutDial,
  allowWithinDial,
];

/**
 * The gate: what happens with a tool call under a policy, now. The first row of the table
 * that matches gives the verdict, and the verdict names it. Pure: the same call, policy and
 * time give the same answer; nothing is read or written. Never throws, whatever the model
 * wrote and whatever the tool's functions do.
 */
export function decide(call: ProposedCall, policy: Policy, now: Date): Verdict {
  const facts = gatherFacts(call, policy, now);
  const verdict = settleUnanswerable(addFloorReasons(matchFirst(facts), facts), policy);
  const isKillSwitch = verdict.row === "1a" || verdict.row === "1b";
  return !isKillSwitch && call.tool !== undefined && facts.checked.kind === "valid"
    ? { ...verdict, args: facts.checked.args }
    : verdict;
}

/** Row 24 is what remains. */
function matchFirst(facts: Facts): Verdict {
  for (const row of table) {
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
  return {
    ...verdict,
    verdict: "deny",
    row: "afterwards",
    reason: "no_approver",
    unasked: { row, reason },
  };
}
