import { bigint, defineCommit, detailsOf, integer, text, uuid } from "../commit.ts";
import { type Hold, holdColumns, type Standing, standingOf, type StandingRow } from "../held-run.ts";
import type { Effect, Question } from "../tool.ts";

/** A tool call as the gate left it: to be run, settled already, or waiting for a person. */
export interface NewCall {
  readonly id: string;
  readonly position: number;
  readonly providerId: string;
  readonly tool: string;
  /** The exact JSON text the model gave. */
  readonly args: string;
  readonly argsHash: string;
  readonly definitionHash: string;
  readonly effect: Effect;
  readonly requires: readonly string[];
  readonly verdict: string;
  readonly gateRow: string;
  readonly gateReason: string;
  readonly policyVersions: string;
  readonly next:
    | { readonly kind: "run" }
    | {
        readonly kind: "settled";
        readonly status: "denied" | "failed";
        readonly result: string;
        readonly code: string;
      }
    | {
        readonly kind: "approval";
        readonly approvalId: string;
        readonly card: Card;
        readonly expiresMs: number | undefined;
      }
    | {
        readonly kind: "question";
        readonly questionId: string;
        readonly card: Card;
        readonly question: Question;
      };
}

/** What a person sees in the queue. `body` is the JSON of what the card shows. */
export interface Card {
  readonly taskId: string;
  readonly title: string;
  readonly body: string;
}

/** One turn of the model, with all that follows from it. */
export interface RecordTurn extends Hold {
  /** How many turns the run had before this one: a turn is recorded once. */
  readonly turn: number;
  /** The content blocks, as JSON text. */
  readonly content: string;
  /** The last steer that was in the prompt. */
  readonly steersRead: number;
  readonly usage: {
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly costMicros: number;
  };
  readonly calls: readonly NewCall[];
  /** Where the turn ends the run: its output, as JSON text. */
  readonly output?: string;
}

export type TurnOutcome =
  | ({ readonly kind: "recorded" | "unread"; readonly seq: number } & Standing)
  | { readonly kind: "finished" }
  | { readonly kind: "already" }
  | { readonly kind: "lease_lost" };

interface Row extends StandingRow {
  outcome: TurnOutcome["kind"];
  seq: number;
}

/**
 * Afterwards the assistant message, its calls, what they wait for (approvals and questions with their cards), the usage
 * and the read steers are recorded, and the run is running, paused or completed accordingly. `unread`: a finish was
 * refused because a steer came meanwhile; ask the model once more.
 */
export const recordTurn = defineCommit<RecordTurn, Row, TurnOutcome>({
  name: "record_turn",
  runOf: (turn) => turn.runId,
  columns: {
    ...holdColumns,
    p_turns: integer((turn) => turn.turn),
    p_contents: text((turn) => turn.content),
    p_steers_read: integer((turn) => turn.steersRead),
    p_input_tokens: integer((turn) => turn.usage.inputTokens),
    p_output_tokens: integer((turn) => turn.usage.outputTokens),
    p_cost_micros: bigint((turn) => turn.usage.costMicros),
    p_outputs: text((turn) => turn.output),
  },
  details: detailsOf((turn: RecordTurn) => turn.calls, {
    c_runs: uuid(({ of }) => of.runId),
    c_ids: uuid(({ row }) => row.id),
    c_positions: integer(({ row }) => row.position),
    c_provider_ids: text(({ row }) => row.providerId),
    c_tools: text(({ row }) => row.tool),
    c_args: text(({ row }) => row.args),
    c_args_hashes: text(({ row }) => row.argsHash),
    c_definition_hashes: text(({ row }) => row.definitionHash),
    c_effects: text(({ row }) => row.effect),
    c_requires: text(({ row }) => row.requires.join(",")),
    c_verdicts: text(({ row }) => row.verdict),
    c_rows: text(({ row }) => row.gateRow),
    c_reasons: text(({ row }) => row.gateReason),
    c_versions: text(({ row }) => row.policyVersions),
    c_statuses: text(({ row }) => statusOf(row)),
    c_results: text(({ row: { next } }) => (next.kind === "settled" ? next.result : null)),
    c_codes: text(({ row: { next } }) => (next.kind === "settled" ? next.code : null)),
    c_waits: text(({ row: { next } }) => (next.kind === "approval" || next.kind === "question" ? next.kind : null)),
    c_wait_ms: bigint(({ row }) => waitMsOf(row)),
    c_approvals: uuid(({ row: { next } }) => (next.kind === "approval" ? next.approvalId : null)),
    c_questions: uuid(({ row: { next } }) => (next.kind === "question" ? next.questionId : null)),
    c_tasks: uuid(({ row }) => cardOf(row)?.taskId),
    c_titles: text(({ row }) => cardOf(row)?.title),
    c_cards: text(({ row }) => cardOf(row)?.body),
    c_question_texts: text(({ row }) => questionOf(row)?.question),
    c_options: text(({ row }) => JSON.stringify(questionOf(row)?.options ?? [])),
    c_contexts: text(({ row }) => questionOf(row)?.context),
    c_defaults: text(({ row }) => questionOf(row)?.defaultAnswer),
  }),
  outcomeOf: (row) => ({ kind: row.outcome, seq: row.seq, ...standingOf(row) }),
});

function statusOf({ next }: NewCall): string {
  if (next.kind === "run") return "requested";
  return next.kind === "settled" ? next.status : "waiting";
}

function waitMsOf({ next }: NewCall): number | undefined {
  if (next.kind === "approval") return next.expiresMs;
  return next.kind === "question" ? next.question.timeoutMs : undefined;
}

function cardOf({ next }: NewCall): Card | undefined {
  return next.kind === "approval" || next.kind === "question" ? next.card : undefined;
}

function questionOf({ next }: NewCall): Question | undefined {
  return next.kind === "question" ? next.question : undefined;
}
