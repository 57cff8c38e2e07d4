import type { Tx } from "@countersign/db/connect.ts";
import type { Task } from "../shapes/tasks.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import {
  type FoundApproval,
  hideInRun,
  isOverdue,
  overdueWaits,
  policyOfRun,
  readApprovals,
  runRef,
} from "./approvals.ts";
import { hideInText } from "./hide-secrets.ts";
import { firstId, lastId } from "./ids.ts";
import { type FoundQuestion, readQuestions } from "./questions.ts";

/** SQL: who an actor text such as `user:<id>` is. */
function actorOf(column: string, user: string): string {
  return `case when ${column} is not null then json_build_object('id', ${user}.id, 'name', coalesce(${user}.name, ${column})) end`;
}

function userIn(column: string): string {
  return `case when ${column} like 'user:%' then substring(${column} from 6)::uuid end`;
}

/** SQL: the tasks that `where` finds, as people read them; each statement keeps its own plan and index. */
function selectTasks(where: string): string {
  return `
  select * from (
    select t.id, t.kind, case when o.is_overdue then 'expired' else t.status end as status, t.section, t.title,
           case when r.id is not null then ${runRef} end as run, t.page_id as "pageId", t.node_id as "nodeId",
           ${actorOf("t.created_by", "c")} as "createdBy", t.created_at as "createdAt",
           case when o.is_overdue then o.expires_at else t.resolved_at end as "resolvedAt",
           case when o.is_overdue then json_build_object('id', null, 'name', 'system:timeout')
                else ${actorOf("t.resolved_by", "v")} end as "resolvedBy",
           t.resolution, t.approval_id as "approvalId", t.question_id as "questionId", ${isGuarded} as "isGuarded"
      from tasks t
      left join runs r        on r.id = t.run_id
      left join definitions d on d.id = r.definition_id
      left join users s       on s.id = r.started_by
      left join users c       on c.id = ${userIn("t.created_by")}
      left join users v       on v.id = ${userIn("t.resolved_by")}
      left join approvals a   on a.id = t.approval_id
      left join questions q   on q.id = t.question_id
      left join lateral ${policyOfRun("t.run_id")} p on coalesce(a.expires_at, q.expires_at) is not null
     cross join lateral (
           select coalesce(a.expires_at, q.expires_at) as expires_at,
                  t.status = 'open' and ${isOverdue("coalesce(a.expires_at, q.expires_at)")} as is_overdue) o
     where t.workspace_id = $1 and ${where}) t`;
}

const byId = selectTasks("t.id = $2::uuid");

const inSection = "($4::text is null or t.section = $4)";

const open = `${selectTasks(`t.status = 'open' and t.id > $2::uuid and ${inSection}`)}
  where status = 'open' order by id limit $3::int + 1`;

const expired = `${selectTasks(`t.id = any (array(
       (select e.id from tasks e
         where e.workspace_id = $1 and e.status = 'expired' and ($4::text is null or e.section = $4) and e.id < $2::uuid
         order by e.id desc limit $3::int + 1)
       union all
       select coalesce((select f.task_id from approvals f where f.id = w.approval_id), (select g.task_id from questions g where g.id = w.question_id))
         from (${overdueWaits}) w)) and t.id < $2::uuid and ${inSection}`)}
  where status = 'expired' order by id desc limit $3::int + 1`;

const closed = `${selectTasks(`t.status <> 'open' and t.status = $5 and t.id < $2::uuid and ${inSection}`)}
  order by id desc limit $3::int + 1`;

/** As it is found, whoever asks; `isGuarded`: its run is not for everybody to read. */
export type FoundTask = Omit<Task, "approval" | "question"> & {
  readonly isGuarded: boolean;
  readonly approval: FoundApproval | null;
  readonly question: FoundQuestion | null;
};

type Row = Omit<FoundTask, "approval" | "question"> & {
  approvalId: string | null;
  questionId: string | null;
};

/** One task with what it stands for; undefined where the workspace has none of this id. */
export async function readTask(tx: Tx, workspaceId: string, id: string): Promise<FoundTask | undefined> {
  const rows = await tx.unsafe<Row[]>(byId, [workspaceId, id], { prepare: true });
  const [task] = await withCards(tx, workspaceId, rows);
  return task;
}

/**
 * A page of tasks of one status, each with what it stands for, from `cursorId` on: open ones oldest first, others newest
 * first. One more than `limit` where the list goes on.
 */
export async function listTasks(
  tx: Tx,
  asked: {
    readonly workspaceId: string;
    readonly status: Task["status"];
    readonly section: string | undefined;
    readonly cursorId: string | undefined;
    readonly limit: number;
  },
): Promise<FoundTask[]> {
  const { workspaceId, status, section = null, cursorId, limit } = asked;
  const send = async (text: string, parameters: (string | number | null)[]) =>
    await withCards(tx, workspaceId, await tx.unsafe<Row[]>(text, parameters, { prepare: true }));
  if (status === "open") return await send(open, [workspaceId, cursorId ?? firstId, limit, section]);
  if (status === "expired") return await send(expired, [workspaceId, cursorId ?? lastId, limit, section]);
  return await send(closed, [workspaceId, cursorId ?? lastId, limit, section, status]);
}

async function withCards(tx: Tx, workspaceId: string, rows: readonly Row[]): Promise<FoundTask[]> {
  const approvalIds = rows.flatMap((row) => row.approvalId ?? []);
  const questionIds = rows.flatMap((row) => row.questionId ?? []);
  const approvals = new Map(
    (await readApprovals(tx, workspaceId, approvalIds)).map((approval) => [approval.id, approval]),
  );
  const questions = new Map(
    (await readQuestions(tx, workspaceId, questionIds)).map((question) => [question.id, question]),
  );
  return rows.map(({ approvalId, questionId, ...task }) => ({
    ...task,
    title: hideInText(task.title),
    run: task.run === null ? null : hideInRun(task.run),
    resolution: hideInText(task.resolution),
    approval: approvals.get(approvalId ?? "") ?? null,
    question: questions.get(questionId ?? "") ?? null,
  }));
}
