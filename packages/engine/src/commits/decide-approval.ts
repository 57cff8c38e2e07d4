import type { Queryable } from "@countersign/db/connect.ts";
import { missed } from "@countersign/db/group-commit.ts";
import { type CommitKind, defineCommit, integer, text, uuid } from "../commit.ts";
import { EngineError } from "../engine-error.ts";

/** `approve` and `deny` answer a permission; `done`, `retry` and `give_up` say what became of an unknown effect. */
export type Answer = "approve" | "deny" | "done" | "retry" | "give_up";

/** A person's decision. Who it is comes from authentication, never from a request's body. */
export interface DecideApproval {
  readonly runId: string;
  readonly approvalId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly answer: Answer;
  /** The version and the arguments hash of the card the person saw: anything else is `stale`. */
  readonly version: number;
  readonly argsHash: string;
  /** Goes to the model with the result. */
  readonly feedback?: string;
  /** Stays with the approval; the model never sees it. */
  readonly note?: string;
  /** How the person was authenticated and through which channel, for the audit, such as `token:<id> over http`. */
  readonly way?: string;
  /** Of an approval: the arguments as the person changed them, exact JSON text that the gate has judged. */
  readonly edited?: { readonly args: string; readonly argsHash: string };
  /** Of an approval: the id of the option that was picked. */
  readonly selectedOption?: string;
  /** Of an approval: the rule that answers later calls as well; absent, it is for this call alone. */
  readonly remember?: Remembered;
}

/** A rule that a decision leaves behind, for the tool of the call. */
export interface Remembered {
  readonly ruleId: string;
  readonly scope: "run" | "definition" | "workspace";
  /** JSON: what of the tool is allowed; absent, all of it. */
  readonly entries?: unknown;
  readonly expiresMs?: number;
}

/** How the approval stands: who decided what, and when. */
export interface Settlement {
  readonly status: string;
  readonly answer: Answer | null;
  readonly decidedBy: string | null;
  readonly decidedAt: Date | null;
  readonly version: number;
}

/** How many votes of the `quorum` there are for what this person answered, theirs included. */
interface Count {
  readonly votes: number;
  readonly quorum: number;
}

export type DecisionOutcome =
  | ({ readonly kind: "decided" | "repeated" | "voted" } & Settlement & Count)
  | ({ readonly kind: "settled" | "expired" | "stale" } & Settlement & Count)
  | { readonly kind: "killed" | "forbidden" | "not_found" | "wrong_answer" | "may_not_remember" | "not_offered" }
  /** Of several that were to be decided together: refused because another of them was. */
  | { readonly kind: "held_back" };

interface Row {
  run_id: string;
  approval_id: string;
  outcome: DecisionOutcome["kind"];
  status: string;
  answer: Answer | null;
  decided_by: string | null;
  decided_at: Date | null;
  version: number;
  vote_count: number;
  quorum: number;
}

const columns = {
  p_runs: uuid((decision: DecideApproval) => decision.runId),
  p_approvals: uuid((decision: DecideApproval) => decision.approvalId),
  p_workspaces: uuid((decision: DecideApproval) => decision.workspaceId),
  p_users: uuid((decision: DecideApproval) => decision.userId),
  p_answers: text((decision: DecideApproval) => decision.answer),
  p_versions: integer((decision: DecideApproval) => decision.version),
  p_args_hashes: text((decision: DecideApproval) => decision.argsHash),
  p_feedbacks: text((decision: DecideApproval) => decision.feedback),
  p_notes: text((decision: DecideApproval) => decision.note),
  p_ways: text((decision: DecideApproval) => decision.way),
  p_edited_args: text((decision: DecideApproval) => decision.edited?.args),
  p_edited_hashes: text((decision: DecideApproval) => decision.edited?.argsHash),
  p_options: text((decision: DecideApproval) => decision.selectedOption),
  p_scopes: text((decision: DecideApproval) =>
    decision.answer === "approve" ? (decision.remember?.scope ?? "once") : null,
  ),
  p_choices: text(choiceOf),
  p_rules: text(ruleOf),
};

function outcomeOf(row: Row): DecisionOutcome {
  return {
    kind: row.outcome,
    status: row.status,
    answer: row.answer,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at,
    version: row.version,
    votes: row.vote_count,
    quorum: row.quorum,
  };
}

/**
 * Afterwards the approval is decided, its card resolved, what was to be remembered is a rule, its call is on its way and the
 * run ready. `voted`: the vote counts, and the approval waits for more. Otherwise nothing changed and the outcome says why,
 * and who was first.
 */
export const decideApproval = defineCommit<DecideApproval, Row, DecisionOutcome>({
  name: "decide_approval",
  runOf: (decision) => decision.runId,
  columns,
  outcomeOf,
  wakes: (outcome) => outcome.kind === "decided",
});

const parameters = Object.entries(columns).map(
  ([column, { sqlType }], index) => `${column} => $${index + 1}::${sqlType}`,
);
const decideAll = `select * from decide_approval(${parameters.join(", ")}, p_blocking => true, p_is_whole => true)`;

/**
 * Decides several approvals, of any number of runs, together or not at all; the outcomes are in the order of the decisions.
 * Where one is refused the others are `held_back`, and nothing but the audit of the refusals was written. Throws
 * `repeated_approval` where one is named twice. Its locks are of many runs, so it travels with no other.
 */
export const decideApprovals: CommitKind<readonly DecideApproval[], readonly DecisionOutcome[]> = {
  name: "decide_approvals",
  runsOf: (decisions) => decisions.map(({ runId }) => runId),
  max: 1,
  wakes: (outcomes) => outcomes.some(({ kind }) => kind === "decided"),
  async send(sql: Queryable, transitions, { blocking }) {
    if (!blocking) return transitions.map(() => missed);
    const answers: (readonly DecisionOutcome[])[] = [];
    for (const decisions of transitions) answers.push(await decideTogether(sql, decisions));
    return answers;
  },
};

async function decideTogether(
  sql: Queryable,
  decisions: readonly DecideApproval[],
): Promise<readonly DecisionOutcome[]> {
  const ids = decisions.map(({ approvalId }) => approvalId);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined)
    throw new EngineError("repeated_approval", `The approval ${twice} is named twice; decide each once, or none`);
  const values = Object.values(columns).map(({ valueOf }) => decisions.map((decision) => valueOf(decision)));
  const rows = await sql.unsafe<Row[]>(decideAll, values, { prepare: true });
  const byApproval = new Map(rows.map((row) => [row.approval_id, row]));
  return decisions.map(({ approvalId }) => {
    const row = byApproval.get(approvalId);
    return row === undefined ? { kind: "not_found" } : outcomeOf(row);
  });
}

/** What is approved beyond the plain call: nobody's vote counts for arguments or a rule that they did not see. */
function choiceOf({ edited, selectedOption, remember }: DecideApproval): string {
  if (edited === undefined && selectedOption === undefined && remember === undefined) return "";
  const { scope, entries, expiresMs } = remember ?? {};
  return JSON.stringify({ editedArgsHash: edited?.argsHash, selectedOption, scope, entries, expiresMs });
}

function ruleOf({ answer, remember }: DecideApproval): string | null {
  if (answer !== "approve" || remember === undefined) return null;
  const { ruleId: id, entries, expiresMs } = remember;
  return JSON.stringify({ id, entries, expiresMs });
}
