import { hashArguments } from "../canonical.ts";
import type { Facts, Row } from "../facts.ts";
import { isWithinDial } from "../layers.ts";
import type { DialLevel } from "../rule.ts";
import type { Classified, Risk, Verdict } from "../types.ts";

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
export const allowWithinDial: Row = (facts) =>
  isWithinDials(facts, facts.risk) ? { verdict: "allow", row: "21", reason: `dial:${levelsOf(facts)[0]}` } : undefined;

/** Row 22: of unknown risk, and the classifier lowered it to within every dial. */
export const allowClassified: Row = (facts) => {
  const level = classifiedOf(facts)?.level;
  if (!canClassify(facts) || (level !== "read-only" && level !== "low")) return undefined;
  return isWithinDials(facts, level) ? { verdict: "allow", row: "22", reason: `classified:${level}` } : undefined;
};

/** Row 23: every dial that holds lets everything run. */
export const allowYolo: Row = ({ dials }) => {
  const [dial] = dials;
  return dial !== undefined && dials.every(({ value }) => value === "high")
    ? { verdict: "allow", row: "23", reason: `yolo@${dial.layer}` }
    : undefined;
};

/** Row 24: anything else asks, and says where the classifier could still change that. */
export function askAboveDial(facts: Facts): Verdict {
  const classified = classifiedOf(facts);
  if (!canClassify(facts)) return { verdict: "ask", row: "24", reason: `above_dial:${facts.risk}` };
  switch (classified?.level) {
    case undefined:
      return { verdict: "ask", row: "24", reason: `above_dial:${facts.risk}`, classify: true };
    case "unavailable":
      return { verdict: "ask", row: "24", reason: "classifier_unavailable" };
    default:
      return { verdict: "ask", row: "24", reason: `above_dial:${classified?.level}` };
  }
}

/** Only an unknown risk is classified, and only where dials go by risk. */
function canClassify(facts: Facts): boolean {
  return facts.risk === "unknown" && levelsOf(facts).every((level) => level !== "read" && level !== "write");
}

/** What the classifier said of these very arguments. */
function classifiedOf({ call }: Facts): Classified | undefined {
  const { classified } = call;
  return classified !== undefined && classified.argsHash === hashArguments(call.argsText) ? classified : undefined;
}

function isWithinDials(facts: Facts, risk: Risk): boolean {
  return levelsOf(facts).every((level) => isWithinDial(level, facts.tier, risk));
}

function levelsOf({ dials }: Facts): readonly [DialLevel, ...DialLevel[]] {
  const [first, ...others] = dials;
  return [first?.value ?? "read-only", ...others.map(({ value }) => value)];
}
