import type { Queryable } from "@countersign/db/connect.ts";
import type { Committer } from "@countersign/engine/committer.ts";
import { answerQuestion } from "@countersign/engine/commits/answer-question.ts";
import { type Actor, requireRole } from "./auth.ts";
import { heldByKill, Problem } from "./problem.ts";
import { readExactOptions, readQuestions } from "./queries/questions.ts";
import type { Question } from "./shapes/questions.ts";

/**
 * Answers a question for the actor, or dismisses it where `answer` is undefined. When it returns, that stands and the run
 * is on its way; where the actor had answered the same before, it still stands. Other outcomes are refusals. Of an option in
 * which a secret was hidden from the actor, the answer is what it says.
 */
export async function answer(
  { sql, commit }: { readonly sql: Queryable; readonly commit: Committer },
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
    answer: answerText === undefined ? undefined : await meantBy(sql, actor, question, answerText),
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
    case "killed": {
      const [now] = await readQuestions(sql, actor.workspaceId, [question.id]);
      throw heldByKill(now?.heldBy ?? null, "Nothing is answered; the question waits until an administrator lifts it.");
    }
    case "forbidden":
      throw new Problem("forbidden", `Answering needs the role operator or more; ${actor.name} is ${actor.role}.`);
    case "not_found":
      throw new Problem("not_found", `There is no question ${question.id} in this workspace.`);
  }
}

async function meantBy(sql: Queryable, actor: Actor, question: Question, shown: string): Promise<string> {
  if (!question.options.includes(shown)) return shown;
  const options = new Set(await readExactOptions(sql, actor.workspaceId, question.id, shown));
  const [option = shown, another] = options;
  if (another === undefined) return option;
  throw new Problem(
    "invalid_request",
    `${JSON.stringify(shown)} is how more than one option of the question is shown: they differ in what looks like a secret and is hidden. Answer in your own words. Nothing was answered.`,
  );
}
