import type { Queryable } from "@countersign/db/connect.ts";
import { closedText, listClosedRuns } from "@countersign/ops/visible.ts";
import { type Actor, hasRole } from "./auth.ts";
import { Problem } from "./problem.ts";
import type { FoundApproval } from "./queries/approvals.ts";
import type { FoundQuestion } from "./queries/questions.ts";
import type { FoundRun } from "./queries/runs.ts";
import type { FoundTask } from "./queries/tasks.ts";
import type { Approval } from "./shapes/approvals.ts";
import type { Question } from "./shapes/questions.ts";
import type { Run } from "./shapes/runs.ts";
import type { Task } from "./shapes/tasks.ts";

type Reader = Pick<Actor, "workspaceId" | "userId">;

/** Something of a run. `isGuarded`: its tree was shown what is closed to somebody, so that it has to be asked who may read it. */
interface Guarded {
  readonly isGuarded: boolean;
}

/** Whether what a run did is closed to the reader; asks the database only where it may be. */
export async function isClosedTo(sql: Queryable, reader: Reader, run: Guarded & { readonly id: string }) {
  return run.isGuarded && (await listClosedRuns(sql, reader, [run.id])).has(run.id);
}

/** The refusal of somebody who may not read what a run did; it names no page. */
export async function closedRun(sql: Queryable, { workspaceId }: Pick<Actor, "workspaceId">): Promise<Problem> {
  const admins = await sql.unsafe<{ name: string }[]>(
    `select name from users where workspace_id = $1::uuid and role = 'admin' and not is_service and disabled_at is null
      order by name limit 3`,
    [workspaceId],
    { prepare: true },
  );
  const names = admins.map(({ name }) => name).join(" or ");
  return new Problem(
    "closed_run",
    `This run has read pages that are closed to you. Ask ${names === "" ? "an administrator" : names}, who can change access.`,
  );
}

/** Returns where the reader may read what the run did; else refuses with 403. */
export async function requireOpenRun(
  sql: Queryable,
  reader: Reader,
  run: Guarded & { readonly id: string },
): Promise<void> {
  if (await isClosedTo(sql, reader, run)) throw await closedRun(sql, reader);
}

/** Runs as the reader may see them: of a closed one that it is there, what its starter called it, and how it stands. */
export async function showRuns<R extends Run>(
  sql: Queryable,
  reader: Reader,
  runs: readonly (R & Guarded)[],
): Promise<Omit<R, "isGuarded">[]> {
  const closed = await listClosed(sql, reader, runs, ({ id }) => id);
  return runs.map(({ isGuarded: _isGuarded, ...run }) =>
    closed.has(run.id)
      ? { ...run, endReason: null, ...("output" in run ? { output: null } : {}), isClosed: true as const }
      : run,
  );
}

/** One run, as `showRuns` shows it. */
export async function showRun(sql: Queryable, reader: Reader, run: FoundRun) {
  const [shown] = await showRuns(sql, reader, [run]);
  return shown ?? run;
}

/**
 * Approvals as the reader may see them: the private note is for approvers; of a closed run the arguments and what the card
 * says are for those who may decide it, since they have to see in full what will happen.
 */
export async function showApprovals(
  sql: Queryable,
  actor: Actor,
  approvals: readonly FoundApproval[],
): Promise<Approval[]> {
  const closed = await listClosed(sql, actor, approvals, ({ run }) => run.id);
  const mine = await listMine(
    sql,
    actor,
    approvals.filter(({ run }) => closed.has(run.id)),
  );
  return approvals.map((approval) => {
    const told = showOpenApproval(actor, approval);
    return closed.has(approval.run.id) && !mine.has(approval.id) ? hideApproval(told) : told;
  });
}

/** An approval of a run that was found to be open to the actor. */
export function showOpenApproval(actor: Actor, { isGuarded: _isGuarded, ...approval }: FoundApproval): Approval {
  return hasRole(actor, "approver") ? approval : { ...approval, note: null };
}

/** One approval, as `showApprovals` shows it. */
export async function showApproval(sql: Queryable, actor: Actor, approval: FoundApproval): Promise<Approval> {
  const [shown] = await showApprovals(sql, actor, [approval]);
  return shown ?? hideApproval(approval);
}

/** Whether the actor may see what an approval is of: the run is open to them, or the decision theirs. */
export async function mayReadApproval(
  sql: Queryable,
  actor: Actor,
  approval: Guarded & { readonly id: string; readonly run: { readonly id: string } },
): Promise<boolean> {
  const isClosed = await isClosedTo(sql, actor, { isGuarded: approval.isGuarded, id: approval.run.id });
  return !isClosed || (await listMine(sql, actor, [approval])).has(approval.id);
}

/** Tasks as the reader may see them, with what they stand for. */
export async function showTasks(sql: Queryable, actor: Actor, tasks: readonly FoundTask[]): Promise<Task[]> {
  const closed = await listClosed(sql, actor, tasks, ({ run }) => run?.id ?? "");
  const approvals = await showApprovals(
    sql,
    actor,
    tasks.flatMap(({ approval }) => approval ?? []),
  );
  const shownApprovals = new Map(approvals.map((approval) => [approval.id, approval]));
  return tasks.map(({ isGuarded: _isGuarded, approval, question, ...task }) => {
    const isClosed = closed.has(task.run?.id ?? "");
    const card = approval === null ? null : (shownApprovals.get(approval.id) ?? hideApproval(approval));
    const asked = question === null ? null : showQuestion(question, isClosed);
    if (!isClosed || (card !== null && card.isClosed !== true)) return { ...task, approval: card, question: asked };
    return {
      ...task,
      title: closedText,
      section: task.kind === "task" ? closedText : task.section,
      resolution: null,
      pageId: null,
      nodeId: null,
      approval: card,
      question: asked,
      isClosed: true as const,
    };
  });
}

/** One task, as `showTasks` shows it. */
export async function showTask(sql: Queryable, actor: Actor, task: FoundTask): Promise<Task> {
  const [shown] = await showTasks(sql, actor, [task]);
  if (shown === undefined) throw new Error(`The task ${task.id} is not shown`);
  return shown;
}

/** A question as whoever reads it may see it. */
export function showQuestion({ isGuarded: _isGuarded, ...question }: FoundQuestion, isClosed: boolean): Question {
  if (!isClosed) return question;
  const hidden = { question: closedText, options: [], context: null, defaultAnswer: null, answer: null };
  return { ...question, ...hidden, isClosed: true as const };
}

function hideApproval(approval: Approval): Approval {
  return {
    ...approval,
    args: "{}",
    argsDigest: "",
    card: null,
    gateReason: "",
    feedback: null,
    note: null,
    settledReason: null,
    editedArgs: null,
    selectedOption: null,
    isClosed: true as const,
  };
}

async function listClosed<T extends Guarded>(
  sql: Queryable,
  reader: Reader,
  rows: readonly T[],
  runOf: (row: T) => string,
): Promise<ReadonlySet<string>> {
  return await listClosedRuns(sql, reader, rows.filter(({ isGuarded }) => isGuarded).map(runOf));
}

/** Those of the approvals that the actor may decide; a service that acts for somebody has no more than its own role. */
async function listMine(
  sql: Queryable,
  actor: Actor,
  approvals: readonly { readonly id: string }[],
): Promise<ReadonlySet<string>> {
  if (approvals.length === 0 || (actor.via !== undefined && !hasRole(actor.via, "approver"))) return new Set();
  const rows = await sql.unsafe<{ id: string }[]>(
    "select n.id from unnest($1::uuid[]) n (id) where say_of(n.id, $2::uuid) is not null",
    [approvals.map(({ id }) => id), actor.userId],
    { prepare: true },
  );
  return new Set(rows.map(({ id }) => id));
}
