import type { Facts, Row } from "../facts.ts";
import { isWithinDial } from "../layers.ts";
import type { Verdict } from "../types.ts";

/** Row 18: a rule asks. An allowlist asks too: every unit is a miss while no entry can match. */
export const askByRule: Row = ({ mode, checked, toolName }) => {
  if (mode?.value === "ask") {
    return { verdict: "ask", row: "18", reason: `mode_ask@${mode.layer}` };
  }
  if (mode?.value !== "allowlist") return undefined;
  const unit = checked.kind === "valid" ? checked.units?.[0] : undefined;
  return { verdict: "ask", row: "18", reason: `allowlist_miss:${unit ?? toolName}` };
};

/** Row 19: an outbound or irreversible call, or one whose tool could not tell. */
export const askByNeed: Row = ({ approvalPolicy, approvalNeed }) => {
  if (approvalPolicy !== "outbound") return undefined;
  if (approvalNeed === "yes") return { verdict: "ask", row: "19", reason: "needs_approval" };
  return approvalNeed === "error" ? { verdict: "ask", row: "19", reason: "needs_approval_error" } : undefined;
};

/** Row 20: without a dial, what the policy or the tool's author leaves free. */
export const allowWithoutDial: Row = ({ dials, approvalPolicy, approvalNeed }) => {
  if (dials.length > 0) return undefined;
  if (approvalPolicy === "none") return { verdict: "allow", row: "20", reason: "policy_none" };
  return approvalNeed === "no" ? { verdict: "allow", row: "20", reason: "needs_no_approval" } : undefined;
};

/** Row 21: within every dial that holds; where none is set, within read-only. */
export const allowWithinDial: Row = ({ dials, tier, risk }) => {
  const [level = "read-only", ...ceilings] = dials;
  return [level, ...ceilings].every((dial) => isWithinDial(dial, tier, risk))
    ? { verdict: "allow", row: "21", reason: `dial:${level}` }
    : undefined;
};

/** Row 24: anything else asks. */
export function askAboveDial({ risk }: Facts): Verdict {
  return { verdict: "ask", row: "24", reason: `above_dial:${risk}` };
}
