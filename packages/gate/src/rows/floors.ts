import { entryFor, isVouchedFor, voucherFor } from "../coverage.ts";
import type { Facts, Row } from "../facts.ts";
import { findDisguise } from "../inspect.ts";
import type { Unit } from "../unit.ts";

/** Row 9: there is nothing to approve until somebody picked an option. */
export const pickOption: Row = ({ choice }) =>
  choice.kind === "unbound"
    ? { verdict: "pick", row: "9", reason: "needs_selection", role: choice.role, options: choice.options }
    : undefined;

/** Row 10: the tool's author wants a person to see every call. */
export const askAlwaysGated: Row = ({ call }) =>
  call.tool?.alwaysGate === true ? { verdict: "ask", row: "10", reason: "always_gate" } : undefined;

/** Row 11: the tool's author sees a danger in these arguments. */
export const askBySafety: Row = ({ danger }) =>
  danger === undefined ? undefined : { verdict: "ask", row: "11", reason: `safety:${danger}` };

/** Row 12: the tool is not the one that was accepted, or nobody has accepted the MCP tool yet. */
export const askChangedDefinition: Row = ({ call, policy, vouchers, units }) => {
  if (call.tool === undefined) return undefined;
  const pin = policy.pins?.get(call.tool.name);
  const isUnpinned = pin === undefined && call.tool.server !== undefined;
  const hasChanged = pin !== undefined && pin !== call.definitionHash;
  return isUnpinned || hasChanged || wouldBeVouchedFor({ vouchers, units })
    ? { verdict: "ask", row: "12", reason: "definition_changed" }
    : undefined;
};

/** Whether what was remembered of another definition is all that the call lacks. */
function wouldBeVouchedFor({ vouchers, units }: Pick<Facts, "vouchers" | "units">): boolean {
  const standing = vouchers.filter(({ isSuspended }) => !isSuspended);
  if (units === undefined || standing.length === vouchers.length) return false;
  return isVouchedFor(units, vouchers) && !isVouchedFor(units, standing);
}

/** Row 13: a policy that asks for everything, or that nobody can read. */
export const askByStrictPolicy: Row = ({ approvalPolicy, mode, dials, isPolicyReadable }) => {
  if (!isPolicyReadable) return { verdict: "ask", row: "13", reason: "policy_unreadable" };
  if (approvalPolicy === "all") return { verdict: "ask", row: "13", reason: "policy_all" };
  if (mode?.value === "ask" && mode.isLocked) {
    return { verdict: "ask", row: "13", reason: `ask_locked@${mode.layer}` };
  }
  return dials.some(({ value }) => value === "none") ? { verdict: "ask", row: "13", reason: "dial_none" } : undefined;
};

/** Row 14: nobody can say, or see, what the call touches. */
export const askUninspectable: Row = (facts) => {
  const { checked, units, choice } = facts;
  if (checked.kind !== "valid" || facts.call.tool === undefined) return undefined;
  const why = units === undefined ? "units_error" : findUninspectable(units, facts);
  if (why !== undefined) return { verdict: "ask", row: "14", reason: `uninspectable:${why}` };
  return choice.kind === "error" ? { verdict: "ask", row: "14", reason: "uninspectable:options_error" } : undefined;
};

function findUninspectable(units: readonly Unit[], facts: Facts): string | undefined {
  for (const unit of units) {
    const why = findDisguise(unit.text);
    if (why !== undefined) return why;
    if (unit.unkeyable !== undefined && !isNamedByItsKey(unit, facts)) return unit.unkeyable;
  }
  return undefined;
}

/** Only an entry can know a unit that has a key and yet cannot be keyed: a rule without entries vouches for it no more. */
function isNamedByItsKey(unit: Unit, { chain, vouchers }: Facts): boolean {
  if (unit.key === undefined) return false;
  const byEntry = vouchers.filter(({ rule, isSuspended }) => rule.entries !== undefined && !isSuspended);
  return (
    voucherFor(unit, byEntry) !== undefined ||
    chain.some((entry) => entry.value === "allowlist" && entryFor(unit, entry) !== undefined)
  );
}
