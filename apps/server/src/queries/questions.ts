import type { Queryable } from "@countersign/db/connect.ts";
import { isGuarded } from "@countersign/ops/visible.ts";
import type { Question } from "../shapes/questions.ts";
import { deadlineOf, hideInRun, isOverdue, policyOfRun, runRef } from "./approvals.ts";
import { hideInText } from "./hide-secrets.ts";
import { hideInHeldBy, switchOfRun } from "./switches.ts";

const questions = `
  select q.id, case when o.is_overdue then 'expired' else q.status end as status,
         q.task_id as "taskId", q.call_id as "callId", ${runRef} as run,
         q.question, q.options, q.context, q.default_answer as "defaultAnswer",
         case when q.status = 'open' and p.killed is not null then ${switchOfRun} end as "heldBy",
         q.asked_at as "askedAt", ${deadlineOf("q.expires_at", "q.status = 'open'")} as "expiresAt",
         case when o.is_overdue then q.expires_at else q.answered_at end as "answeredAt",
         case when u.id is not null then json_build_object('id', u.id, 'name', u.name)
              when o.is_overdue or q.status = 'expired' then json_build_object('id', null, 'name', 'system:timeout') end as "answeredBy",
         q.answer, ${isGuarded} as "isGuarded"
    from questions q
    join runs r        on r.id = q.run_id
    join definitions d on d.id = r.definition_id
    join users s       on s.id = r.started_by
    left join users u  on u.id = q.answered_by
   cross join lateral ${policyOfRun("q.run_id")} p
   cross join lateral (select q.status = 'open' and ${isOverdue("q.expires_at")} as is_overdue) o
   where q.workspace_id = $1 and q.id = any ($2::uuid[])`;

/** As it is found, whoever asks; `isGuarded`: its run is not for everybody to read. */
export type FoundQuestion = Question & { readonly isGuarded: boolean };

/** The given questions of the workspace, in no order; ids of other workspaces are left out. */
export async function readQuestions(
  sql: Queryable,
  workspaceId: string,
  ids: readonly string[],
): Promise<FoundQuestion[]> {
  if (ids.length === 0) return [];
  const rows = await sql.unsafe<FoundQuestion[]>(questions, [workspaceId, [...ids]], { prepare: true });
  return rows.map((row) => ({
    ...row,
    run: hideInRun(row.run),
    heldBy: hideInHeldBy(row.heldBy),
    question: hideInText(row.question),
    options: row.options.map(hideInText),
    context: hideInText(row.context),
    defaultAnswer: hideInText(row.defaultAnswer),
    answer: hideInText(row.answer),
  }));
}

/** The options of a question that are shown as `shown`, as they stand. */
export async function readExactOptions(
  sql: Queryable,
  workspaceId: string,
  questionId: string,
  shown: string,
): Promise<readonly string[]> {
  const [row] = await sql.unsafe<{ options: readonly string[] }[]>(
    "select options from questions where workspace_id = $1::uuid and id = $2::uuid",
    [workspaceId, questionId],
    { prepare: true },
  );
  return row?.options.filter((option) => hideInText(option) === shown) ?? [];
}
