import type { DecideApproval } from "@countersign/engine/commits/decide-approval.ts";
import type { ServerDependencies } from "./context.ts";
import type { Queryable } from "@countersign/db/connect.ts";
import { type Actor, hasRole, requireRole, wayOf } from "./auth.ts";
import { type AskedChoice, chooseEdited, chooseRemembered } from "./choices.ts";
import type { Work } from "./idempotency.ts";
import { readVersion } from "./if-match.ts";
import type { Metrics } from "./metrics.ts";
import { notAnApprover } from "./not-an-approver.ts";
import { Problem } from "./problem.ts";
import { type FoundApproval, readApproval } from "./queries/approvals.ts";
import { auditRefusedDecision } from "./queries/audit.ts";
import type { Approval } from "./shapes/approvals.ts";

/** A decision as a request brings it: what is decided, and what the person saw when deciding. */
export interface AskedDecision extends AskedChoice {
  readonly approvalId: string;
  readonly answer: DecideApproval["answer"];
  /** The version that was seen, or the header that names it. */
  readonly version?: number | undefined;
  readonly ifMatch?: string | undefined;
  readonly argsDigest?: string | undefined;
  readonly feedback?: string | undefined;
  readonly note?: string | undefined;
}

/** What routes that decide work with, besides what all do. */
export interface DecidingDependencies extends Pick<ServerDependencies, "tools"> {
  /** Told of each decision that was taken, with how long the approval had waited. */
  readonly countDecision: Metrics["countDecision"];
}

/** What a decision is made with. */
export type Deciding = Pick<Work, "sql" | "commit"> & DecidingDependencies;

export interface Prepared {
  /** As it stands now, for what the person is told. */
  readonly approval: FoundApproval;
  readonly decision: DecideApproval;
}

/**
 * A decision ready for its commit, which alone judges who may and what still holds. Refused before: an approval of another
 * workspace, a token without the right, nothing said of what was seen, a choice that cannot be.
 */
export async function prepareDecision(work: Deciding, actor: Actor, asked: AskedDecision): Promise<Prepared> {
  const { sql } = work;
  const approval = await readApproval(sql, actor.workspaceId, asked.approvalId);
  if (approval === undefined) throw noApproval(asked.approvalId);
  await requireRightToDecide(work, actor, approval, asked.answer);
  const seen = whatWasSeen(asked, approval);
  const { answer, feedback, note, selectedOption } = asked;
  const edited = await chooseEdited(work, approval, asked);
  if (asked.remember?.scope === "workspace" && actor.via !== undefined)
    requireRole(actor, "admin", "Leaving a rule of the workspace behind");
  const remember = await chooseRemembered(work, approval, asked, edited?.args);
  return {
    approval,
    decision: {
      runId: approval.run.id,
      approvalId: approval.id,
      workspaceId: actor.workspaceId,
      userId: actor.userId,
      answer,
      ...seen,
      way: wayOf(actor),
      ...(feedback === undefined ? {} : { feedback }),
      ...(note === undefined ? {} : { note }),
      ...(edited === undefined ? {} : { edited }),
      ...(selectedOption === undefined ? {} : { selectedOption }),
      ...(remember === undefined ? {} : { remember }),
    },
  };
}

/**
 * Which of some approvals a service may not decide although the person whom it acts for may: those whose rule names that
 * person by a role that is more than the service's own. The commit knows of the person alone.
 */
export async function readBeyondRole(sql: Queryable, actor: Actor, approvalIds: readonly string[]): Promise<string[]> {
  if (actor.via === undefined) return [];
  const rows = await sql.unsafe<{ id: string }[]>(beyondRole, [[...approvalIds], actor.userId, actor.role], {
    prepare: true,
  });
  return rows.map(({ id }) => id);
}

const beyondRole = `
  select a.id
    from approvals a
    join users u on u.id = $2::uuid
   where a.id = any ($1::uuid[])
     and is_among_approvers(a.approver_rule, a.escalated_at is not null, u.id, u.role)
     and not is_among_approvers(a.approver_rule, a.escalated_at is not null, u.id, $3)`;

/** Returns where a service that acts for a person has the role for it itself; for a person, always. */
export async function isWithinRole(sql: Queryable, actor: Actor, approvalId: string): Promise<boolean> {
  if (actor.via === undefined) return true;
  return hasRole(actor.via, "approver") && (await readBeyondRole(sql, actor, [approvalId])).length === 0;
}

/** Refuses, with a line in the audit, what the commit cannot know of: how the person was authenticated. */
async function requireRightToDecide(
  { sql }: Deciding,
  actor: Actor,
  approval: Approval,
  answer: DecideApproval["answer"],
): Promise<void> {
  if (!actor.mayDecide) {
    await auditRefusedDecision(sql, actor, approval, { answer, outcome: "may_not_decide" });
    throw new Problem(
      "may_not_decide",
      `This token of ${(actor.via ?? actor).name} was made without the right to decide. Decide with your own token.`,
    );
  }
  // The commit judges the person alone; a service that acts for one has no more than its own role.
  if (!(await isWithinRole(sql, actor, approval.id))) {
    await auditRefusedDecision(sql, actor, approval, { answer, outcome: "forbidden" });
    throw await notAnApprover(sql, actor, approval);
  }
}

function whatWasSeen(
  { ifMatch, version, argsDigest }: AskedDecision,
  approval: Approval,
): { version: number; argsHash: string } {
  if ((ifMatch === undefined && version === undefined) || argsDigest === undefined) {
    const missing = [
      ...(ifMatch === undefined && version === undefined ? ['the header If-Match with its version, such as "1"'] : []),
      ...(argsDigest === undefined ? ["argsDigest in the body"] : []),
    ];
    throw new Problem(
      "precondition_required",
      `A decision says what it was made on: send ${missing.join(" and ")}, both as GET /v1/approvals/${approval.id} shows them.`,
    );
  }
  return { version: version ?? readVersion(ifMatch ?? ""), argsHash: argsDigest };
}

/** There is no such approval in the workspace. */
export function noApproval(id: string): Problem {
  return new Problem(
    "not_found",
    `There is no approval ${id} in this workspace. GET /v1/approvals lists those that wait.`,
  );
}
