import type { Verdict } from "./types.ts";

/**
 * Whether a call may start under the verdict it gets just before. Allow may. A question may
 * where a person approved this very call (`approved`; for a pick that they picked one of what is
 * offered now is the caller's to see) and neither rows 10 to 14 nor a softened row 7 give a reason
 * beside those that the card showed (`shownReasons`: its verdict's `floorReasons`). A denial,
 * invalid arguments and a kill switch never may.
 */
export function meetsSecondLook(
  verdict: Verdict,
  approval: { readonly approved: boolean; readonly shownReasons: readonly string[] },
): boolean {
  if (verdict.verdict === "allow") return true;
  // Denied only because nobody can answer now: the answer may have been given before.
  const isQuestion = verdict.verdict === "ask" || verdict.verdict === "pick" || verdict.unasked !== undefined;
  if (!isQuestion || !approval.approved) return false;
  return (verdict.floorReasons ?? []).every((reason) => approval.shownReasons.includes(reason));
}
