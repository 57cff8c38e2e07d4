import type { Row } from "../facts.ts";

/** Row 10: the tool's author wants a person to see every call. */
export const askAlwaysGated: Row = ({ call }) =>
  call.tool?.alwaysGate === true ? { verdict: "ask", row: "10", reason: "always_gate" } : undefined;

/** Row 13: a policy that asks for everything. */
export const askByStrictPolicy: Row = ({ approvalPolicy, mode, dials }) => {
  if (approvalPolicy === "all") return { verdict: "ask", row: "13", reason: "policy_all" };
  if (mode?.value === "ask" && mode.isLocked) {
    return { verdict: "ask", row: "13", reason: `ask_locked@${mode.layer}` };
  }
  return dials.includes("none") ? { verdict: "ask", row: "13", reason: "dial_none" } : undefined;
};

/** Row 14: nobody can say what the call touches. */
export const askUninspectable: Row = ({ checked }) =>
  checked.kind === "valid" && checked.units === undefined
    ? { verdict: "ask", row: "14", reason: "uninspectable:units_error" }
    : undefined;
