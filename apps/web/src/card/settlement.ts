import type { Approval, Question, Task } from "../api.ts";
import { words } from "../words.ts";

/** How a task ended, as a sentence without its moment; undefined while it waits. */
export function settlementOf(task: Task): { readonly text: string; readonly at: string } | undefined {
  if (task.approval !== null) return ofApproval(task.approval);
  if (task.question !== null) return ofQuestion(task.question);
  if (task.resolvedAt === null) return undefined;
  return { text: words.settled.task(task.status, task.resolvedBy?.name), at: task.resolvedAt };
}

function ofApproval(approval: Approval): { readonly text: string; readonly at: string } | undefined {
  const { status, answer, decidedBy, decidedAt, settledReason } = approval;
  if (status === "pending" || decidedAt === null) return undefined;
  const by = decidedBy?.name;
  const how = answer === null ? status : (words.settled.answers[answer] ?? answer);
  return { text: words.settled.approval(how, by, settledReason ?? undefined), at: decidedAt };
}

function ofQuestion(question: Question): { readonly text: string; readonly at: string } | undefined {
  const { status, answeredBy, answeredAt } = question;
  if (status === "open" || answeredAt === null) return undefined;
  if (status === "expired") return { text: words.settled.defaultUsed, at: answeredAt };
  return { text: words.settled.question(status, answeredBy?.name), at: answeredAt };
}
