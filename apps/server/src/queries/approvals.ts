import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Approval } from "../shapes/approvals.ts";
import { firstId, lastId } from "./ids.ts";

/** SQL: what a card says of the run it belongs to. Needs `runs r`, `definitions d` and the starter `users s`. */
export const runRef = `json_build_object('id', r.id, 'title', r.title, 'definition', d.name, 'startedBy', s.name)`;

/**
 * SQL: true from the deadline on, whether or not the sweeper has come; under a kill, and for a while after it, nothing
 * is overdue. Needs `policy_of` as `p`.
 */
export function isOverdue(expiresAt: string): string {
  return `(${expiresAt} is not null and p.killed is null and greatest(${expiresAt}, p.expires_not_before) <= clock_timestamp())`;
}

/** SQL: the approvals that `where` finds, as people read them; each statement keeps its own plan and index. */
function selectApprovals(where: string): string {
  return `
  select * from (
    select a.id, a.kind, case when o.is_overdue then 'expired' else a.status end as status, a.version,
           a.args_hash as "argsDigest", a.task_id as "taskId", a.call_id as "callId", ${runRef} as run,
           c.tool, c.args, a.gate_row as "gateRow", a.gate_reason as "gateReason", a.card,
           case when a.status = 'pending' then p.killed end as "heldBy",
           a.requested_at as "requestedAt", a.expires_at as "expiresAt",
           case when o.is_overdue then a.expires_at else a.decided_at end as "decidedAt",
           case when u.id is not null then json_build_object('id', u.id, 'name', u.name)
                when o.is_overdue or a.status = 'expired' then json_build_object('id', null, 'name', 'system:timeout') end as "decidedBy",
           a.answer, a.feedback, a.note, a.settled_reason as "settledReason", a.consumed_at as "consumedAt"
      from approvals a
      join runs r        on r.id = a.run_id
      join definitions d on d.id = r.definition_id
      join users s       on s.id = r.started_by
      join tool_calls c  on c.id = a.call_id
      left join users u  on u.id = a.decided_by
     cross join lateral policy_of(array[a.run_id]) p
     cross join lateral (select a.status = 'pending' and ${isOverdue("a.expires_at")} as is_overdue) o
     where a.workspace_id = $1 and ${where}) a`;
}

const byIds = selectApprovals("a.id = any ($2::uuid[])");

const ofCalls = `${selectApprovals("a.call_id = any ($2::uuid[])")} order by id`;

const pending = `${selectApprovals("a.status = 'pending' and a.id > $2::uuid")}
  where status = 'pending' order by id limit $3::int + 1`;

const expired = `${selectApprovals("(a.status = 'expired' or (a.status = 'pending' and a.expires_at <= clock_timestamp())) and a.id < $2::uuid")}
  where status = 'expired' order by id desc limit $3::int + 1`;

const settled = `${selectApprovals("a.status = $4 and a.id < $2::uuid")}
  order by id desc limit $3::int + 1`;

type Row = Approval & { card: string };

/** The given approvals of the workspace, in no order; ids of other workspaces are left out. */
export async function readApprovals(sql: Queryable, workspaceId: string, ids: readonly string[]): Promise<Approval[]> {
  if (ids.length === 0) return [];
  const rows = await sql.unsafe<Row[]>(byIds, [workspaceId, [...ids]], { prepare: true });
  return rows.map(toApproval);
}

/** Every approval that the given calls of the workspace have waited for, oldest first. */
export async function readApprovalsOfCalls(
  sql: Queryable,
  workspaceId: string,
  callIds: readonly string[],
): Promise<Approval[]> {
  if (callIds.length === 0) return [];
  const rows = await sql.unsafe<Row[]>(ofCalls, [workspaceId, [...callIds]], { prepare: true });
  return rows.map(toApproval);
}

/** One approval; undefined where the workspace has none of this id. */
export async function readApproval(sql: Queryable, workspaceId: string, id: string): Promise<Approval | undefined> {
  const [approval] = await readApprovals(sql, workspaceId, [id]);
  return approval;
}

/**
 * A page of approvals of one status, from `cursorId` on: pending ones oldest first, others newest first. One more than
 * `limit` where the list goes on.
 */
export async function listApprovals(
  sql: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly status: Approval["status"];
    readonly cursorId: string | undefined;
    readonly limit: number;
  },
): Promise<Approval[]> {
  const { workspaceId, status, cursorId, limit } = asked;
  const send = (text: string, parameters: (string | number)[]) =>
    sql.unsafe<Row[]>(text, parameters, { prepare: true });
  if (status === "pending") {
    return (await send(pending, [workspaceId, cursorId ?? firstId, limit])).map(toApproval);
  }
  if (status === "expired") {
    return (await send(expired, [workspaceId, cursorId ?? lastId, limit])).map(toApproval);
  }
  return (await send(settled, [workspaceId, cursorId ?? lastId, limit, status])).map(toApproval);
}

function toApproval(row: Row): Approval {
  return { ...row, card: parseExact(row.card) };
}
