import type { Committer } from "@countersign/engine/committer.ts";
import { answerQuestion } from "@countersign/engine/commits/answer-question.ts";
import { type Actor, requireRole } from "./auth.ts";
import { Problem } from "./problem.ts";
import type { Question } from "./shapes/questions.ts";

/**
 * Answers a question for the actor, or dismisses it where `answer` is undefined. When it returns, that stands and the run
 * is on its way; where the actor had answered the same before, it still stands. Other outcomes are refusals.
 */
export async function answer(
  commit: Committer,
  actor: Actor,
  question: Question,
  answerText: string | undefined,
): Promise<"answered" | "repeated"> {
  requireRole(actor, "operator", "Answering");
  const outcome = await commit(answerQuestion, {
    runId: question.run.id,
    questionId: question.id,
    workspaceId: actor.workspaceId,
    userId: actor.userId,
    answer: answerText,
  });
  switch (outcome.kind) {
    case "answered":
    case "repeated":
      return outcome.kind;
    case "settled":
    case "expired": {
      const { status, answeredBy, answeredAt } = outcome;
      const settlement = {
        status: outcome.kind === "expired" ? "expired" : status,
        answer: outcome.answer,
        by: answeredBy,
        at: answeredAt,
        reason: null,
      };
      throw new Problem(
        outcome.kind === "expired" ? "expired" : status === "canceled" ? "already_closed" : "already_decided",
        `The question is ${settlement.status}${answeredBy === null ? "" : ` by ${answeredBy}`}${answeredAt === null ? "" : ` at ${answeredAt.toISOString()}`}; your answer changes nothing.`,
        { settlement },
      );
    }
    case "killed":
      throw new Problem(
        "killed",
        "A kill switch holds this run, so nothing is answered. The question waits until an administrator lifts it.",
      );
    case "forbidden":
      throw new Problem("forbidden", `Answering needs the role operator or more; ${actor.name} is ${actor.role}.`);
    case "not_found":
      throw new Problem("not_found", `There is no question ${question.id} in this workspace.`);
  }
}
