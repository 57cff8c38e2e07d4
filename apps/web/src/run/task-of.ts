import type { Approval, Question, Task } from "../api.ts";

const plain = { section: "needs-confirm", pageId: null, nodeId: null, createdBy: { id: null, name: "" } } as const;

/** An approval or a question as the card that stands for it, so that it is drawn by the same hands everywhere. */
export function taskOfApproval(approval: Approval): Task {
  const { taskId: id, kind, status, tool: title, run, requestedAt: createdAt, decidedAt, decidedBy } = approval;
  const isOpen = status === "pending";
  return {
    ...plain,
    id,
    kind,
    status: isOpen ? "open" : "done",
    title,
    run,
    createdAt,
    resolvedAt: decidedAt,
    resolvedBy: decidedBy,
    resolution: null,
    approval,
    question: null,
  };
}

/** As `taskOfApproval`, of a question. */
export function taskOfQuestion(question: Question): Task {
  const { taskId: id, status, question: title, run, askedAt: createdAt, answeredAt, answeredBy } = question;
  return {
    ...plain,
    id,
    kind: "question",
    status: status === "open" ? "open" : "done",
    title,
    run,
    createdAt,
    resolvedAt: answeredAt,
    resolvedBy: answeredBy,
    resolution: null,
    approval: null,
    question,
  };
}
