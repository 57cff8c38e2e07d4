import type { FromArgs, Risk, Tier, ToolFacts } from "./types.ts";

const tiers: ReadonlySet<unknown> = new Set<Tier>(["read", "write", "exec"]);
const risks: ReadonlySet<unknown> = new Set<Risk>(["read-only", "low", "high", "unknown"]);

const riskOfTier = { read: "read-only", write: "high", exec: "unknown" } as const;

/** The tool's own word on whether a person must approve; `absent` leaves it to risk and dial. */
export type ApprovalNeed = "yes" | "no" | "absent" | "error";

/** The tier of a call: exec where the tool does not say, throws, or says something else. */
export function tierOf(tool: ToolFacts, args: unknown): Tier {
  const tier = evaluate(tool.tier, args);
  return isTier(tier) ? tier : "exec";
}

/**
 * The risk of a call: the tool's own word, else the one that follows from `tier`.
 * Unknown where the tool throws or says something else.
 */
export function riskOf(tool: ToolFacts, tier: Tier, args: unknown): Risk {
  if (tool.risk === undefined) return riskOfTier[tier];
  const risk = evaluate(tool.risk, args);
  return isRisk(risk) ? risk : "unknown";
}

/** Whether a call needs approval. `error` where the tool throws or answers with no boolean. */
export function approvalNeedOf(tool: ToolFacts, args: unknown): ApprovalNeed {
  if (tool.needsApproval === undefined) return "absent";
  const needed = evaluate(tool.needsApproval, args);
  if (needed === true) return "yes";
  return needed === false ? "no" : "error";
}

/** The danger that a tool's `safety` names, `error` where it throws or answers with something else. */
export function dangerOf(tool: ToolFacts, args: unknown): string | undefined {
  if (tool.safety === undefined) return undefined;
  try {
    const danger: unknown = tool.safety(args);
    return danger === undefined || (typeof danger === "string" && danger !== "") ? danger : "error";
  } catch {
    return "error";
  }
}

/** A throw comes back as undefined, which none of the callers takes for an answer. */
function evaluate(declared: unknown, args: unknown): unknown {
  if (!isFromArgs(declared)) return declared;
  try {
    return declared(args);
  } catch {
    return undefined;
  }
}

function isFromArgs(declared: unknown): declared is FromArgs<unknown> {
  return typeof declared === "function";
}

function isTier(tier: unknown): tier is Tier {
  return tiers.has(tier);
}

function isRisk(risk: unknown): risk is Risk {
  return risks.has(risk);
}
