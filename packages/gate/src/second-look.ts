import type { Verdict } from "./types.ts";

/**
 * Whether a call may start under the verdict it gets just before. Allow may. A question may
 * where a person approved this very call (`approved`) and rows 10 to 14 give no reason beside
 * those that the card showed (`shownReasons`: its verdict's `floorReasons`). A denial, invalid
 * arguments and a kill switch never may.
 */
export function meetsSecondLook(
  verdict: Verdict,
  approval: { readonly approved: boolean; readonly shownReasons: readonly string[] },
): boolean {
  if (verdict.verdict === "allow") return true;
  // Denied only because nobody can answer now: the answer may have been given before.
  const isQuestion = verdict.verdict === "ask" || verdict.verdict === "pick" || verdict.row === "afterwards";
  if (!isQuestion || !approval.approved) return false;
  return (verdict.floorReasons ?? []).every((reason) => approval.shownReasons.includes(reason));
}
