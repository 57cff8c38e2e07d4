import { type CheckedArguments, checkArguments } from "./arguments.ts";
import { type Choice, choiceOf } from "./choice.ts";
import { type Voucher, vouchersOf } from "./coverage.ts";
import { effectiveApprovalPolicy, effectiveDials, type Entry } from "./layers.ts";
import { chainOf, effectiveOf, type LayerMode, layerModes, type ModeEntry } from "./modes.ts";
import { isReadable } from "./readable.ts";
import { type ApprovalNeed, approvalNeedOf, dangerOf, riskOf, tierOf } from "./risk.ts";
import type { ApprovalPolicy, DialLevel } from "./rule.ts";
import { speaksOf } from "./rule-targets.ts";
import type { Policy, ProposedCall, Risk, Tier, Verdict } from "./types.ts";
import type { Unit } from "./unit.ts";

/** What the rows read: the call, the policy, and all that follows from the two together. */
export interface Facts {
  readonly call: ProposedCall;
  readonly policy: Policy;
  /** The names that switches and denials may know the tool by, its own first. */
  readonly names: readonly string[];
  readonly checked: CheckedArguments;
  /** Undefined where nobody can say what the call touches. */
  readonly units: readonly Unit[] | undefined;
  readonly tier: Tier;
  readonly risk: Risk;
  readonly approvalNeed: ApprovalNeed;
  readonly danger: string | undefined;
  readonly choice: Choice;
  readonly approvalPolicy: ApprovalPolicy;
  readonly layers: readonly LayerMode[];
  /** The entries that bind the call together, and the one that holds. */
  readonly chain: readonly ModeEntry[];
  readonly mode: ModeEntry | undefined;
  readonly vouchers: readonly Voucher[];
  readonly dials: readonly Entry<DialLevel>[];
  readonly isPolicyReadable: boolean;
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
  const args = isKnown ? checked.args : undefined;
  const units = isKnown ? checked.units : undefined;
  const tier = isKnown ? tierOf(tool, args) : "exec";
  const layers = tool ? layerModes(tool, policy, now, (rule) => speaksOf(rule, units, args)) : [];
  const chain = chainOf(layers);
  return {
    call,
    policy,
    names: tool ? [tool.name, ...(tool.aliases ?? [])] : [call.name],
    checked,
    units,
    tier,
    risk: isKnown ? riskOf(tool, tier, args) : "unknown",
    approvalNeed: isKnown ? approvalNeedOf(tool, args) : "error",
    danger: isKnown ? dangerOf(tool, args) : undefined,
    choice: isKnown ? choiceOf(tool, args, policy) : { kind: "none" },
    approvalPolicy: effectiveApprovalPolicy(policy, now),
    layers,
    chain,
    mode: effectiveOf(chain),
    vouchers: vouchersOf(layers, call.definitionHash),
    dials: effectiveDials(policy, now),
    isPolicyReadable: isReadable(policy),
  };
}
