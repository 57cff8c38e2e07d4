import type { Approval, HeldBy, KillSwitch, ListedRun, Question, Run, Task } from "../client.ts";
import type { Style } from "../terminal/style.ts";
import { absoluteTime, relativeTime } from "../terminal/time.ts";

type StatusOfRun = Pick<Run | ListedRun, "status" | "waitsOn">;
type Paint = (text: string) => string;

const waits: Readonly<Record<string, string>> = {
  approval: "waits for you",
  question: "waits for your answer",
  outcome: "waits for you: did it happen?",
  quarantine: "in quarantine",
  kill: "held by a kill switch",
};

/** A run's status in words that say what it waits on, and how to paint it. */
export function statusOf({ status, waitsOn }: StatusOfRun, style: Style): { text: string; paint: Paint } {
  switch (status) {
    case "queued":
      return { text: "○ queued", paint: style.dim };
    case "running":
      return { text: "● running", paint: style.blue };
    case "paused":
      return { text: `⏸ paused: ${waits[waitsOn ?? ""] ?? `waits on ${waitsOn ?? "something"}`}`, paint: style.yellow };
    case "completed":
      return { text: "✔ completed", paint: style.green };
    case "failed":
      return { text: "✘ failed", paint: style.red };
    case "canceled":
      return { text: "■ canceled", paint: style.dim };
  }
}

const kinds: Readonly<Record<Task["kind"], { sign: string; word: string }>> = {
  approval: { sign: "⚑", word: "approve?" },
  outcome: { sign: "‽", word: "did it happen?" },
  question: { sign: "?", word: "answer?" },
  task: { sign: "·", word: "task" },
};

/** The sign and the word of a task's kind. */
export function kindOf(task: Pick<Task, "kind">): { readonly sign: string; readonly word: string } {
  return kinds[task.kind];
}

/** What a kill switch holds, of each scope. */
export const heldScopes: Readonly<Record<HeldBy["scope"], string>> = {
  app: "this installation",
  workspace: "this workspace",
  definition: "this definition",
  run: "this run",
};

/** The kill switch that holds an open card; null where none does. */
export function heldByOf({ status, approval, question }: Task): HeldBy | null {
  return status === "open" ? (approval?.heldBy ?? question?.heldBy ?? null) : null;
}

/** That a kill switch holds something: of what it is, by whom, since when and why. */
export function sayHeld(heldBy: HeldBy): string {
  return `a kill switch holds ${heldScopes[heldBy.scope]}; ${thrownBy(heldBy)}`;
}

/** Who threw a switch, when and why. */
export function thrownBy({ by, since, reason }: Pick<KillSwitch, "by" | "since" | "reason">): string {
  return `${by.name} threw it ${momentOf(since)}: ${reason}`;
}

/** Until when something holds, by the clock and seen from now. */
export function untilOf(at: string | Date): string {
  return `until ${absoluteTime(at)} (${relativeTime(at)})`;
}

/** A moment as people say it, with the moment itself. */
export function momentOf(at: string | Date): string {
  return `${relativeTime(at)} (${absoluteTime(at)})`;
}

const answers: Readonly<Record<string, string>> = {
  approve: "approved",
  deny: "denied",
  done: "said that it happened",
  retry: "had it run again",
  give_up: "gave it up",
};

/** Who settled an approval, when and how; for one that nobody decided, why it is closed. */
export function settlementOf(approval: Approval): string {
  const { status, answer, decidedBy, decidedFor, decidedAt, settledReason } = approval;
  const when = decidedAt === null ? "" : `, ${momentOf(decidedAt)}`;
  if (status === "pending") return "waits for a decision";
  if (answer !== null)
    return `${answers[answer] ?? answer} by ${decidedBy?.name ?? "somebody"}${decidedFor === null ? "" : ` for ${decidedFor.name}`}${when}`;
  return `${status}${settledReason === null ? "" : ` (${settledReason})`}${when}`;
}

/** Who answered a question and when; for one without an answer, why it is closed. */
export function answerOf(question: Question): string {
  const { status, answeredBy, answeredAt } = question;
  const when = answeredAt === null ? "" : `, ${momentOf(answeredAt)}`;
  if (status === "open") return "waits for an answer";
  return `${status}${answeredBy === null ? "" : ` by ${answeredBy.name}`}${when}`;
}
