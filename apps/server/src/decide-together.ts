import {
  type DecideApproval,
  decideApprovals,
  type DecisionOutcome,
} from "@countersign/engine/commits/decide-approval.ts";
import type { Actor } from "./auth.ts";
import { type Decided, isDecided, refusalOf, taken } from "./decide.ts";
import { type AskedDecision, type Deciding, prepareDecision, readBeyondRole } from "./prepare-decision.ts";
import { invalidField, Problem } from "./problem.ts";
import { readApproval, readApprovals, readEqual } from "./queries/approvals.ts";

/** How many approvals that ask for the same are decided with one answer. */
const mostEqual = 200;

/**
 * Decides several approvals together or not at all, whatever runs they are of. Refused as a whole where one is named twice,
 * or any is refused: the problem is the first one's, and names all that were.
 */
export async function decideTogether(
  work: Deciding,
  actor: Actor,
  asked: readonly AskedDecision[],
): Promise<readonly Decided[]> {
  const ids = asked.map(({ approvalId }) => approvalId);
  const twice = ids.findIndex((id, index) => ids.indexOf(id) !== index);
  if (twice >= 0)
    throw invalidField(`json.decisions.${twice}.approvalId`, "is named before; decide each approval once, or none");
  const prepared = [];
  for (const one of asked) prepared.push(await prepareDecision(work, actor, one));
  const outcomes = await work.commit(
    decideApprovals,
    prepared.map(({ decision }) => decision),
  );
  const rows = await readApprovals(work.sql, actor.workspaceId, ids);
  const told = prepared.map(({ approval, decision }, index) => ({
    approval: rows.find(({ id }) => id === approval.id) ?? approval,
    outcome: outcomes[index] ?? { kind: "not_found" as const },
    answer: decision.answer,
  }));
  const refused = [];
  for (const { approval, outcome, answer } of told) {
    if (isDecided(outcome) || outcome.kind === "held_back") continue;
    refused.push({ approvalId: approval.id, problem: await refusalOf(work.sql, outcome, approval, actor, answer) });
  }
  const [first] = refused;
  if (first !== undefined) {
    const refusals = refused.map(({ approvalId, problem }) => ({
      approvalId,
      code: problem.code,
      detail: problem.message,
    }));
    throw new Problem(first.problem.code, `None of the ${asked.length} was decided. ${first.problem.message}`, {
      ...first.problem.details,
      refusals,
    });
  }
  return told.flatMap(({ approval, outcome }) => (isDecided(outcome) ? [taken(work, outcome.kind, approval)] : []));
}

/**
 * Decides an approval and with it, in the same commit, the others that ask for the very same and are this person's to
 * decide. One that somebody else settles meanwhile is left out; where the named one is refused nothing is decided.
 */
export async function decideEqual(
  work: Deciding,
  actor: Actor,
  asked: AskedDecision,
): Promise<Decided & { readonly together: string[] }> {
  if (asked.editedArgs !== undefined || asked.selectedOption !== undefined)
    throw invalidField("json.equal", "goes with the card as it is; changed arguments and options are for one approval");
  const { approval, decision } = await prepareDecision(work, actor, asked);
  const { workspaceId, userId } = actor;
  const { remember: _once, ...same } = decision;
  const equal = await readEqual(work.sql, { workspaceId, approvalId: approval.id, userId, limit: mostEqual });
  const beyond = await readBeyondRole(
    work.sql,
    actor,
    equal.map(({ id }) => id),
  );
  const within = equal.filter(({ id }) => !beyond.includes(id));
  let others: DecideApproval[] = within.map(({ id, runId, version }) => ({ ...same, approvalId: id, runId, version }));
  for (;;) {
    const outcomes = await work.commit(decideApprovals, [decision, ...others]);
    const [own = { kind: "not_found" }, ...rest] = outcomes;
    if (!isDecided(own) && own.kind !== "held_back") {
      const now = (await readApproval(work.sql, workspaceId, approval.id)) ?? approval;
      throw await refusalOf(work.sql, own, now, actor, asked.answer);
    }
    if (isDecided(own)) {
      const now = (await readApproval(work.sql, workspaceId, approval.id)) ?? approval;
      return { ...taken(work, own.kind, now), together: others.map(({ approvalId }) => approvalId) };
    }
    const open = others.filter((_other, index) => isOpen(rest[index]));
    if (open.length === others.length)
      throw new Error(`Nothing of the batch of ${approval.id} was refused, and all of it held back.`);
    others = open;
  }
}

function isOpen(outcome: DecisionOutcome | undefined): boolean {
  return outcome !== undefined && (isDecided(outcome) || outcome.kind === "held_back");
}
