import type { Verdict } from "./types.ts";

/** Why a tool call has no ordinary result: the closed set of codes that a model can meet. */
export const resultCodes = [
  "user_denied",
  "already_denied",
  "policy_denied",
  "capability_denied",
  "audit_unavailable",
  "tool_off",
  "tool_not_available",
  "invalid_args",
  "no_approver",
  "timeout",
  "expired",
  "canceled",
  "sibling_failed",
  "unknown",
  "killed",
  "error",
] as const;

export type ResultCode = (typeof resultCodes)[number];

/**
 * The code of the result that a verdict settles its call with. Undefined where the call
 * has no result yet: allow, ask, pick and held.
 */
export function codeOfVerdict(verdict: Verdict): ResultCode | undefined {
  if (verdict.verdict === "invalid") return "invalid_args";
  if (verdict.verdict !== "deny") return undefined;
  switch (verdict.row) {
    case "1b":
      return "killed";
    case "3":
      return "tool_not_available";
    case "4":
      return "tool_off";
    case "5":
      return "capability_denied";
    case "8":
      return "already_denied";
    // A choice that nobody was bound to and nobody can make.
    case "9":
    case "afterwards":
      return "no_approver";
    default:
      return "policy_denied";
  }
}

/**
 * What the model reads as the result of a call that a verdict settled; undefined where
 * `codeOfVerdict` is. It names the tool and what to do, never an approval, a rule or a person.
 */
export function textOfVerdict(verdict: Verdict, toolName: string): string | undefined {
  const tool = JSON.stringify(toolName.slice(0, 100));
  switch (codeOfVerdict(verdict)) {
    case undefined:
      return undefined;
    case "invalid_args":
      return `invalid arguments for ${tool}: ${verdict.detail ?? verdict.reason}`;
    case "capability_denied":
      return `capability denied: ${verdict.reason.slice("capability_denied:".length)}`;
    case "killed":
      return `${tool} is stopped by an administrator; go on without it`;
    case "tool_not_available":
      return `there is no tool ${tool} in this run; use one of the tools that were offered`;
    case "tool_off":
      return `${tool} is turned off; go on without it`;
    case "already_denied":
      return `a person already denied this same call of ${tool} in this run; do not repeat it`;
    case "no_approver":
      if (verdict.row === "9")
        return `${tool} needs an option for ${verdict.role ?? "it"}, and nobody can pick one here; it works once one is bound to that role`;
      return `${tool} needs a person's approval here, and nobody can give it`;
    default:
      if (verdict.row === "7")
        return `denied by policy: this call of ${tool} ${verdict.detail ?? "does what no call may"}; find another way`;
      return `denied by policy: this call of ${tool} is not permitted`;
  }
}
