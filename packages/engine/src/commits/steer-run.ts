import { boolean, defineCommit, text, uuid } from "../commit.ts";

/** A person's message into a live run. */
export interface SteerRun {
  readonly runId: string;
  readonly workspaceId: string;
  /** Sending the same id again changes nothing. */
  readonly steerId: string;
  readonly authorId: string;
  /** As JSON text of a string. */
  readonly content: string;
  /** The author was signed in as themselves: no program, and nobody acting for them. */
  readonly isTyped?: boolean;
}

export type SteerOutcome =
  | { readonly kind: "queued"; readonly n: number }
  | { readonly kind: "ended" | "not_found" | "mismatch" };

/** Afterwards the message is in the run's inbox and read before its next model turn, or the run had ended and nothing is stored. */
export const steerRun = defineCommit<
  SteerRun,
  { run_id: string; outcome: SteerOutcome["kind"]; n: number | null },
  SteerOutcome
>({
  name: "steer_run",
  runOf: (steer) => steer.runId,
  columns: {
    p_runs: uuid((steer) => steer.runId),
    p_workspaces: uuid((steer) => steer.workspaceId),
    p_ids: uuid((steer) => steer.steerId),
    p_authors: uuid((steer) => steer.authorId),
    p_contents: text((steer) => steer.content),
    p_typed: boolean((steer) => steer.isTyped ?? false),
  },
  outcomeOf: ({ outcome, n }) => (outcome === "queued" ? { kind: outcome, n: n ?? 0 } : { kind: outcome }),
  wakes: (outcome) => outcome.kind === "queued",
});
