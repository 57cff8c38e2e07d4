import { entryFor, isVouchedFor, type Voucher, voucherFor } from "../coverage.ts";
import { textOfEntry } from "../entries.ts";
import type { Facts, Row } from "../facts.ts";
import type { Unit } from "../unit.ts";

/** Row 15: rules vouch for every unit, or the option was bound beforehand. */
export const allowVouchedFor: Row = (facts) => {
  const { units, choice } = facts;
  const standing = standingVouchers(facts);
  if (units !== undefined && isVouchedFor(units, standing)) {
    const [unit] = units;
    const voucher =
      unit === undefined ? standing.find(({ rule }) => rule.entries === undefined) : voucherFor(unit, standing);
    if (voucher) return { verdict: "allow", row: "15", reason: `rule:${voucher.rule.id}@${voucher.layer}` };
  }
  return choice.kind === "bound" ? { verdict: "allow", row: "15", reason: `companion:${choice.role}` } : undefined;
};

/** Row 16: a rule allows the tool. An outbound or irreversible call only where one names the tool itself. */
export const allowByMode: Row = ({ mode, chain, approvalNeed }) => {
  if (mode?.value !== "allow") return undefined;
  const mustBeNamed = approvalNeed === "yes" || approvalNeed === "error";
  const entry = chain.find(({ rules }) => !mustBeNamed || rules.some(({ target }) => target.kind === "tool"));
  return entry && { verdict: "allow", row: "16", reason: `mode_allow@${entry.layer}` };
};

/** Row 17: every unit is on every allowlist that binds the call, or vouched for. */
export const allowListed: Row = (facts) => {
  const { mode, units } = facts;
  if (mode?.value !== "allowlist" || units === undefined || units.length === 0) return undefined;
  if (findMiss(units, facts) !== undefined) return undefined;
  const entry = units.map((unit) => entryFor(unit, mode)).find((found) => found !== undefined);
  return entry && { verdict: "allow", row: "17", reason: `allowlist:${textOfEntry(entry)}@${mode.layer}` };
};

/** Row 18: a rule asks, or an allowlist misses a unit. */
export const askByRule: Row = (facts) => {
  const { mode, units, names } = facts;
  if (mode?.value === "ask") return { verdict: "ask", row: "18", reason: `mode_ask@${mode.layer}` };
  if (mode?.value !== "allowlist") return undefined;
  const miss = findMiss(units ?? [], facts);
  return { verdict: "ask", row: "18", reason: `allowlist_miss:${miss?.text ?? names[0] ?? ""}` };
};

function findMiss(units: readonly Unit[], facts: Facts): Unit | undefined {
  const lists = facts.chain.filter(({ value }) => value === "allowlist");
  const standing = standingVouchers(facts);
  return units.find(
    (unit) => voucherFor(unit, standing) === undefined && !lists.every((list) => entryFor(unit, list) !== undefined),
  );
}

function standingVouchers({ vouchers }: Facts): readonly Voucher[] {
  return vouchers.filter(({ isSuspended }) => !isSuspended);
}
