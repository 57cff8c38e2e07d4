import type { Queryable } from "@countersign/db/connect.ts";
import type { Actor } from "../auth.ts";
import type { Approval } from "../shapes/approvals.ts";
import type { AuditRow } from "../shapes/audit.ts";
import { auditedUser } from "./actors.ts";

/** Afterwards the audit says, in the transaction that `sql` is in, that the actor did this; `details` hold ids and codes only. */
export async function appendAudit(
  sql: Queryable,
  actor: Pick<Actor, "workspaceId" | "userId">,
  action: string,
  subject: string,
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await sql.unsafe(
    `insert into audit (workspace_id, actor, action, subject, details) values ($1, $2, $3, $4, $5::text::json)`,
    [actor.workspaceId, `user:${actor.userId}`, action, subject, JSON.stringify(details)],
    { prepare: true },
  );
}

/**
 * Leaves a line in the audit log for a decision that was refused before it reached the commit, as the commit does for
 * those it refuses itself. Changes nothing else.
 */
export async function auditRefusedDecision(
  sql: Queryable,
  actor: Actor,
  approval: Approval,
  refused: { readonly answer: string; readonly outcome: string },
): Promise<void> {
  const via = actor.via === undefined ? {} : { via: actor.via.userId };
  await sql.unsafe(
    `insert into audit (workspace_id, actor, action, run_id, call_id, subject, details)
     values ($1, $2, 'approval.decision_refused', $3, $4, $5, $6::text::json)`,
    [
      actor.workspaceId,
      `user:${actor.userId}`,
      approval.run.id,
      approval.callId,
      approval.id,
      JSON.stringify({ ...refused, token: actor.tokenId, ...via }),
    ],
  );
}

export interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly run?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

const audit = `
  select a.id::text as id, c.seq, a.at, a.actor, u.name as "actorName", a.action, a.run_id as "runId", a.call_id as "callId",
         a.subject, a.details
    from audit a
    left join audit_chain c on c.audit_id = a.id
    left join users u       on u.id = ${auditedUser("a.actor")}
   where a.workspace_id = $1 and a.id < $2::bigint
     and ($4::text is null or a.actor = $4) and ($5::text is null or a.action = $5) and ($6::text is null or a.subject = $6)
     and ($7::uuid is null or a.run_id = $7::uuid)
     and ($8::text is null or a.at >= $8::text::timestamptz) and ($9::text is null or a.at < $9::text::timestamptz)
   order by a.id desc
   limit $3::int + 1`;

/** A page of the workspace's audit before `cursorKey`, newest first; one more than `limit` where the list goes on. */
export async function listAudit(
  sql: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly cursorKey: string | undefined;
    readonly limit: number;
    readonly filter: AuditFilter;
  },
): Promise<AuditRow[]> {
  const { workspaceId, cursorKey = "9223372036854775807", limit, filter } = asked;
  const { actor = null, action = null, subject = null, run = null, since = null, until = null } = filter;
  return await sql.unsafe<AuditRow[]>(
    audit,
    [workspaceId, cursorKey, limit, actor, action, subject, run, since, until],
    { prepare: true },
  );
}
