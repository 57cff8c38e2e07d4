import { defineCommit, text, uuid } from "../commit.ts";

/** A person's answer; `answer` undefined dismisses the question. */
export interface AnswerQuestion {
  readonly runId: string;
  readonly questionId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly answer: string | undefined;
}

export type AnswerOutcome =
  | {
      readonly kind: "answered" | "repeated" | "settled" | "expired";
      readonly status: string;
      readonly answer: string | null;
      readonly answeredBy: string | null;
      readonly answeredAt: Date | null;
    }
  | { readonly kind: "killed" | "forbidden" | "not_found" };

interface Row {
  run_id: string;
  outcome: AnswerOutcome["kind"];
  status: string;
  answer: string | null;
  answered_by: string | null;
  answered_at: Date | null;
}

/** Afterwards the answer is the call's result, the card is resolved and the run is ready. It permits nothing. */
export const answerQuestion = defineCommit<AnswerQuestion, Row, AnswerOutcome>({
  name: "answer_question",
  runOf: (answer) => answer.runId,
  columns: {
    p_runs: uuid((answer) => answer.runId),
    p_questions: uuid((answer) => answer.questionId),
    p_workspaces: uuid((answer) => answer.workspaceId),
    p_users: uuid((answer) => answer.userId),
    p_answers: text((answer) => answer.answer),
  },
  outcomeOf: (row) => ({
    kind: row.outcome,
    status: row.status,
    answer: row.answer,
    answeredBy: row.answered_by,
    answeredAt: row.answered_at,
  }),
  wakes: (outcome) => outcome.kind === "answered",
});
