import { settle } from "./decide.ts";
import { gatherFacts } from "./facts.ts";
import { askAboveDial } from "./rows/dial.ts";
import { table } from "./table.ts";
import type { Policy, ProposedCall, RowName, Verdict } from "./types.ts";

/** What one row of the table says of a call, whether or not an earlier one settles it. */
export interface ExplainedRow {
  readonly row: RowName;
  /** Undefined where the row does not match. */
  readonly said: Pick<Verdict, "verdict" | "reason" | "detail"> | undefined;
  /** The first that matches: the one that gives the verdict. */
  readonly isFirst: boolean;
}

export interface Explanation {
  /** What `decide` says. Where nobody can answer, it is what becomes of the first row's question. */
  readonly verdict: Verdict;
  /** Every row in order. 4 and 7 come twice: off, then never gated; denied, then softened. */
  readonly rows: readonly ExplainedRow[];
}

/** Why the gate decides as it does on a call: every row of the table, looked at by itself. Pure, as `decide` is. */
export function explain(call: ProposedCall, policy: Policy, now: Date): Explanation {
  const facts = gatherFacts(call, policy, now);
  const looked = [...table, { name: "24" as const, row: askAboveDial }].map(({ name, row }) => ({
    row: name,
    said: row(facts),
  }));
  const first = looked.findIndex(({ said }) => said !== undefined);
  return {
    verdict: settle(facts),
    rows: looked.map(({ row, said }, index) => ({
      row,
      said: said && {
        verdict: said.verdict,
        reason: said.reason,
        ...(said.detail === undefined ? {} : { detail: said.detail }),
      },
      isFirst: index === first,
    })),
  };
}
