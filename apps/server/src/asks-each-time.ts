import type { RowName } from "@countersign/gate/types.ts";

/** Rows that ask under any rule: remembering an answer would spare nobody the question. */
const asking: Readonly<Partial<Record<RowName, string>>> = {
  "9": "the choice has to be made each time",
  "10": "the tool asks each time, under every policy",
  "11": "such a call asks each time, under every policy",
  "13": "the policy asks each time, whatever was remembered",
  "14": "what it would do cannot be told apart well enough",
};

/** Why remembering an answer would spare nobody the question, by the row that asked it; null where it would. */
export function whyAsksEachTime(gateRow: string): string | null {
  return asking[gateRow as RowName] ?? null;
}
