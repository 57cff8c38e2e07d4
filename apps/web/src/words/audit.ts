const number = (n: number): string => n.toLocaleString("en");

/** The words of the audit. */
export const auditWords = {
  lead: "Every decision, credential and change of policy, chained and sealed.",
  rows: "What was done",
  action: "Action, such as approval.decided",
  actor: "Actor",
  filter: "Show",
  filteredEmpty: "Nothing of this action was done.",
  seq: (n: number) => `no. ${n}`,
  unsealed: "not sealed yet",
  export: "Export all",
  check: {
    title: "Is it what was sealed?",
    ask: "Check every row",
    never: "Nobody has had it checked from here yet.",
    waits: "Asked for. A worker makes the check, since it alone holds the key.",
    reading: "A worker compares row after row…",
    read: (rows: number) => `${number(rows)} rows so far`,
    sound: (rows: number) =>
      rows === 1 ? "The one sealed row is what was sealed." : `All ${number(rows)} sealed rows are what was sealed.`,
    nothing: "Nothing is sealed yet.",
    broken: (count: number) =>
      count === 1 ? "One place is not what was sealed." : `${number(count)} places are not what was sealed.`,
    first: (count: number) => `The first ${number(count)}:`,
    checked: "Rows compared",
    by: (name: string) => `for ${name}`,
    end: "Last row",
    head: "Signed head outside the database",
    noHead: "none",
    signed: "signed",
    hash: "Hash",
    cannot: "What it cannot see",
    noKept:
      "No signed head is kept outside the database. Whoever cuts off the end of the chain, and the heads with it, leaves no trace here.",
    afterHead: (seq: number) =>
      `Rows after no. ${seq} have no signed head outside the database yet: had they been cut off together with the heads inside it, nothing would show.`,
    sameHands:
      "The head that was compared lies in the worker's folder. Against whoever holds that folder too, only a head that you keep elsewhere helps.",
    waiting: (rows: number) =>
      rows === 1
        ? "One row is not sealed yet; of it nothing can be said."
        : `${number(rows)} rows are not sealed yet; of them nothing can be said.`,
    badLines: (lines: number) =>
      lines === 1
        ? "One line of the worker's file of heads cannot be read as a head."
        : `${number(lines)} lines of the worker's file of heads cannot be read as heads.`,
    take: "Take the head",
    takeHint: "./countersign audit verify --heads audit-head.jsonl compares with it later.",
  },
} as const;
