import { type CheckedArguments, checkArguments } from "./arguments.ts";
import { effectiveApprovalPolicy, effectiveDials, effectiveMode, type Entry } from "./layers.ts";
import { type ApprovalNeed, approvalNeedOf, riskOf, tierOf } from "./risk.ts";
import type { ApprovalPolicy, DialLevel, Mode, Policy, ProposedCall, Risk, Tier, Verdict } from "./types.ts";

/** What the rows read: the call, the policy, and all that follows from the two together. */
export interface Facts {
  readonly call: ProposedCall;
  readonly policy: Policy;
  /** The name that rules, switches and denials go by. */
  readonly toolName: string;
  readonly checked: CheckedArguments;
  readonly tier: Tier;
  readonly risk: Risk;
  readonly approvalNeed: ApprovalNeed;
  readonly approvalPolicy: ApprovalPolicy;
  readonly mode: Entry<Mode> | undefined;
  readonly dials: readonly DialLevel[];
}

/** One row of the table: its verdict where its condition holds, else undefined. */
export type Row = (facts: Facts) => Verdict | undefined;

/**
 * Works out once what several rows read. Where the arguments are invalid or the tool is
 * unknown, tier, risk and approval need are the least favourable ones. Never throws.
 */
export function gatherFacts(call: ProposedCall, policy: Policy, now: Date): Facts {
  const { tool } = call;
  const checked = checkArguments(tool, call.argsText);
  const isKnown = tool !== undefined && checked.kind === "valid";
  const tier = isKnown ? tierOf(tool, checked.args) : "exec";
  return {
    call,
    policy,
    toolName: tool?.name ?? call.name,
    checked,
    tier,
    risk: isKnown ? riskOf(tool, tier, checked.args) : "unknown",
    approvalNeed: isKnown ? approvalNeedOf(tool, checked.args) : "error",
    approvalPolicy: effectiveApprovalPolicy(policy),
    mode: tool && effectiveMode(tool, policy),
    dials: effectiveDials(policy, now),
  };
}
