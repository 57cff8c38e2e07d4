import type { Queryable } from "@countersign/db/connect.ts";
import { EngineError } from "./engine-error.ts";
import type { Effect } from "./tool.ts";

export type CallStatus = "requested" | "waiting" | "executing" | "done" | "failed" | "denied" | "unknown" | "canceled";

/**
 * An entry of the conversation. `content` is JSON text: of a string for a user's, of content blocks for the assistant's,
 * of a `Summary` for one that stands in for what came before.
 */
export interface LoggedMessage {
  readonly seq: number;
  readonly kind: "user" | "assistant" | "summary";
  readonly content: string;
  /** What the provider counted for the turn, prompt and reply together; null where it counted nothing. */
  readonly tokens?: number | null;
}

/** A tool call as it stands. `result` is JSON text of a string. */
export interface RecordedCall {
  readonly id: string;
  readonly turnSeq: number;
  readonly position: number;
  readonly providerId: string;
  readonly tool: string;
  readonly args: string;
  readonly argsHash: string;
  readonly definitionHash: string;
  readonly effect: Effect;
  readonly requires: readonly string[];
  readonly status: CallStatus;
  readonly waitsOn: "approval" | "question" | "outcome" | "timer" | "child" | null;
  readonly attempt: number;
  readonly epoch: number | null;
  readonly result: string | null;
  readonly resultCode: string | null;
  readonly approval: {
    readonly id: string;
    readonly status: string;
    readonly gateRow: string;
    readonly gateReason: string;
    readonly policyVersions: string;
    readonly isConsumed: boolean;
    /** What the card gave as reasons that hold under any policy. */
    readonly shownReasons: readonly string[] | null;
    readonly answer: string | null;
    readonly feedback: string | null;
  } | null;
}

export interface UnreadSteer {
  readonly n: number;
  readonly author: string;
  readonly content: string;
}

/** All that a worker needs to go on with a run, as `run_snapshot` of the database gives it. */
export interface RunSnapshot {
  readonly id: string;
  readonly workspaceId: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly startedBy: string;
  readonly title: string;
  readonly status: string;
  readonly waitsOn: string | null;
  readonly epoch: number;
  readonly leaseId: string | null;
  readonly turns: number;
  readonly callCount: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costMicros: number;
  readonly workedMs: number;
  readonly grants: readonly string[];
  readonly policyVersions: string;
  readonly killed: "app" | "workspace" | "definition" | "run" | null;
  /** Whether the workspace has anybody who may approve. */
  readonly canAnybodyAnswer: boolean;
  readonly messages: readonly LoggedMessage[];
  readonly calls: readonly RecordedCall[];
  readonly steers: readonly UnreadSteer[];
  readonly denials: readonly {
    readonly approvalId: string;
    readonly tool: string;
    readonly argsHash: string;
  }[];
}

const read = "select snapshot from run_snapshot($1::uuid[])";

/** The run as it stands now; read only. */
export async function readSnapshot(sql: Queryable, runId: string): Promise<RunSnapshot> {
  const [row] = await sql.unsafe<{ snapshot: RunSnapshot }[]>(read, [[runId]], { prepare: true });
  if (row === undefined) throw new EngineError("unknown_run", `There is no run ${runId}`);
  return row.snapshot;
}
