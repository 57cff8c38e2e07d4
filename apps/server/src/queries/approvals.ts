import type { Queryable } from "@countersign/db/connect.ts";
import { parseExact } from "@countersign/engine/exact-text.ts";
import type { Approval } from "../shapes/approvals.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import { whyAsksEachTime } from "../asks-each-time.ts";
import { hideInJson, hideInText } from "./hide-secrets.ts";
import { firstId, lastId } from "./ids.ts";
import { type Owned, readGrouped, readOwned } from "./read-grouped.ts";
import { hideInHeldBy, switchOfRun } from "./switches.ts";

/** SQL: what a card says of the run it belongs to. Needs `runs r`, `definitions d` and the starter `users s`. */
export const runRef = `json_build_object('id', r.id, 'title', r.title, 'definition', d.name, 'startedBy', s.name)`;

/** What `runRef` gives, for people's eyes. */
export function hideInRun<R extends { readonly title: string }>(run: R): R {
  return { ...run, title: hideInText(run.title) };
}

/**
 * SQL: the policy that a run is judged under, to be joined laterally. `offset 0`: the planner orders no more than eight
 * tables together, and would put a join of all runs with their policies beside them.
 */
export function policyOfRun(runId: string): string {
  return `(select * from policy_of(array[${runId}]) offset 0)`;
}

/**
 * SQL: true from the deadline on, whether or not the sweeper has come; under a kill, and for a while after it, nothing
 * is overdue. Needs `policyOfRun` as `p`.
 */
export function isOverdue(expiresAt: string): string {
  return `(${expiresAt} is not null and p.killed is null and greatest(${expiresAt}, p.expires_not_before) <= clock_timestamp())`;
}

/** SQL: until when something waits that `isOpen`: a lift gives it more time than its own deadline. Needs `policyOfRun` as `p`. */
export function deadlineOf(expiresAt: string, isOpen: string): string {
  return `case when ${isOpen} and ${expiresAt} is not null then greatest(${expiresAt}, p.expires_not_before) else ${expiresAt} end`;
}

/** SQL: what waits in the workspace $1 beyond its deadline and no sweeper has come to: few, as the time of waking finds them. */
export const overdueWaits = `
  select c.approval_id, c.question_id
    from (select id from runs where wake_at <= clock_timestamp() and workspace_id = $1 offset 0) r
   cross join lateral (
         select t.approval_id, t.question_id
           from tool_calls t
          where t.run_id = r.id and t.waits_on in ('approval', 'question') and t.wait_until <= clock_timestamp()
         offset 0) c`;

const votes = `coalesce((
  select json_agg(json_build_object(
           'by', json_build_object('id', w.user_id, 'name', b.name),
           'sayOf', case when w.say_of <> w.user_id then json_build_object('id', w.say_of, 'name', g.name) end,
           'answer', w.answer, 'at', to_char(w.voted_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by w.voted_at)
    from votes w
    left join users b on b.id = w.user_id
    left join users g on g.id = w.say_of
   where w.approval_id = a.id), '[]')`;

/** SQL: true of the pending approvals `e` that ask for the very same as `a`. */
const isEqual = `e.workspace_id = a.workspace_id and e.status = 'pending' and e.kind = 'approval'
  and e.args_hash = a.args_hash and e.definition_hash = a.definition_hash and e.id <> a.id`;

const countEqual = `(select count(*)::int from (select from approvals e where ${isEqual} limit 1000) n)`;

/** SQL: the approvals that `where` finds, as people read them; each statement keeps its own plan and index. */
function selectApprovals(where: string): string {
  return `
  select * from (
    select a.id, a.kind, case when o.is_overdue then 'expired' else a.status end as status, a.version,
           a.args_hash as "argsDigest", a.task_id as "taskId", a.call_id as "callId", ${runRef} as run,
           c.tool, case when a.args_hash = c.run_args_hash then c.run_args else c.args end as args, a.gate_row as "gateRow", a.gate_reason as "gateReason", a.card,
           case when a.status = 'pending' and p.killed is not null then ${switchOfRun} end as "heldBy",
           a.requested_at as "requestedAt", ${deadlineOf("a.expires_at", "a.status = 'pending'")} as "expiresAt",
           case when o.is_overdue then a.expires_at else a.decided_at end as "decidedAt",
           case when u.id is not null then json_build_object('id', u.id, 'name', u.name)
                when o.is_overdue or a.status = 'expired' then json_build_object('id', null, 'name', 'system:timeout') end as "decidedBy",
           a.answer, a.feedback, a.note, a.settled_reason as "settledReason", a.consumed_at as "consumedAt",
           a.approver_rule as "approverRule", coalesce((a.approver_rule ->> 'quorum')::int, 1) as quorum,
           case when a.approver_rule is null then '[]'::json else ${votes} end as votes,
           case when f.id is not null then json_build_object('id', f.id, 'name', f.name) end as "decidedFor",
           a.scope, a.edited_args as "editedArgs", a.selected_option as "selectedOption",
           a.reminded_at as "remindedAt", a.escalated_at as "escalatedAt",
           case when a.status = 'pending' and a.kind = 'approval' then ${countEqual} else 0 end as equal,
           ${isGuarded} as "isGuarded"
      from approvals a
      join runs r        on r.id = a.run_id
      join definitions d on d.id = r.definition_id
      join users s       on s.id = r.started_by
      join tool_calls c  on c.id = a.call_id
      left join users u  on u.id = a.decided_by
      left join users f  on f.id = a.decided_for
     cross join lateral ${policyOfRun("a.run_id")} p
     cross join lateral (select a.status = 'pending' and ${isOverdue("a.expires_at")} as is_overdue) o
     where a.workspace_id = $1 and ${where}) a`;
}

const byIds = selectApprovals("a.id = any ($2::uuid[])");

const ofCalls = `${selectApprovals("a.call_id = any ($2::uuid[])")} order by id`;

const pending = `${selectApprovals("a.status = 'pending' and a.id > $2::uuid")}
  where status = 'pending' order by id limit $3::int + 1`;

const expired = `${selectApprovals(`a.id = any (array(
       (select e.id from approvals e where e.workspace_id = $1 and e.status = 'expired' and e.id < $2::uuid order by e.id desc limit $3::int + 1)
       union all select w.approval_id from (${overdueWaits}) w where w.approval_id < $2::uuid))`)}
  where status = 'expired' order by id desc limit $3::int + 1`;

const settled = `${selectApprovals("a.status <> 'pending' and a.status = $4 and a.id < $2::uuid")}
  order by id desc limit $3::int + 1`;

/** As it is found, whoever asks; `isGuarded`: its run is not for everybody to read. */
export type FoundApproval = Approval & { readonly isGuarded: boolean };

type Row = Omit<FoundApproval, "asksEachTime"> & { card: string };

/** The given approvals of the workspace, in no order; ids of other workspaces are left out. */
export async function readApprovals(
  sql: Queryable,
  workspaceId: string,
  ids: readonly string[],
): Promise<FoundApproval[]> {
  if (ids.length === 0) return [];
  const rows = await sql.unsafe<Row[]>(byIds, [workspaceId, [...ids]], { prepare: true });
  return rows.map(toApproval);
}

/** Every approval that the given calls of the workspace have waited for, oldest first. */
export async function readApprovalsOfCalls(
  sql: Queryable,
  workspaceId: string,
  callIds: readonly string[],
): Promise<FoundApproval[]> {
  if (callIds.length === 0) return [];
  const rows = await sql.unsafe<Row[]>(ofCalls, [workspaceId, [...callIds]], { prepare: true });
  return rows.map(toApproval);
}

/** One approval; undefined where the workspace has none of this id. */
export async function readApproval(
  sql: Queryable,
  workspaceId: string,
  id: string,
): Promise<FoundApproval | undefined> {
  return await readOne(sql, { workspaceId, id });
}

const readOne = readGrouped((sql, asked: readonly Owned[]) =>
  readOwned(asked, (workspaceId, ids) => readApprovals(sql, workspaceId, ids)),
);

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
): Promise<FoundApproval[]> {
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

/** Those that ask for the very same as `approvalId`, wait, and are this person's to decide; oldest first. */
export async function readEqual(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly approvalId: string; readonly userId: string; readonly limit: number },
): Promise<readonly { readonly id: string; readonly runId: string; readonly version: number }[]> {
  const { workspaceId, approvalId, userId, limit } = asked;
  return await sql.unsafe(
    `select e.id, e.run_id as "runId", e.version
       from approvals a
       join approvals e on ${isEqual}
      where a.workspace_id = $1::uuid and a.id = $2::uuid
        and (e.approver_rule is null or say_of(e.id, $3::uuid) is not null)
      order by e.id
      limit $4::int`,
    [workspaceId, approvalId, userId, limit],
    { prepare: true },
  );
}

/** The exact arguments that an approval is for: what a change of them starts from. Never shown. */
export async function readExactArgs(sql: Queryable, approvalId: string): Promise<string> {
  const [row] = await sql.unsafe<{ args: string }[]>(
    `select case when a.args_hash = c.run_args_hash then c.run_args else c.args end as args
       from approvals a join tool_calls c on c.id = a.call_id where a.id = $1::uuid`,
    [approvalId],
    { prepare: true },
  );
  return row?.args ?? "";
}

/** What looks like a secret is hidden from people's eyes; what runs is the text itself. */
function toApproval({ card, args, editedArgs, ...row }: Row): FoundApproval {
  return {
    ...row,
    run: hideInRun(row.run),
    heldBy: hideInHeldBy(row.heldBy),
    feedback: hideInText(row.feedback),
    note: hideInText(row.note),
    args: hideInJson(args),
    editedArgs: editedArgs === null ? null : hideInJson(editedArgs),
    asksEachTime: row.kind === "approval" ? whyAsksEachTime(row.gateRow) : null,
    card: parseExact(card),
  };
}
