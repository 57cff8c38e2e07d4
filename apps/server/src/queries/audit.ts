import type { Queryable } from "@countersign/db/connect.ts";
import type { Actor } from "../auth.ts";
import type { Approval } from "../shapes/approvals.ts";

/**
 * Leaves a line in the audit log for a decision that was refused before it reached the commit, as the commit does for
 * those it refuses itself. Changes nothing else.
 */
export async function auditRefusedDecision(
  sql: Queryable,
  actor: Actor,
  approval: Approval,
  answer: string,
): Promise<void> {
  await sql.unsafe(
    `insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
     values ($1, $2, 'approval.decision_refused', $3, $4, $5, $6::text::json)`,
    [
      actor.workspaceId,
      `user:${actor.userId}`,
      approval.run.id,
      approval.callId,
      approval.id,
      JSON.stringify({ answer, outcome: "may_not_decide", token: actor.tokenId }),
    ],
  );
}
