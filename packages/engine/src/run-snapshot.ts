import type { Queryable } from "@countersign/db/connect.ts";
import type { Classified } from "@countersign/gate/types.ts";
import { EngineError } from "./engine-error.ts";
import type { StoredPolicy } from "./stored-policy.ts";
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

/** What the classifier said of a call, and what it was asked with. */
export interface StoredClassification extends Classified {
  readonly promptVersion: number;
  readonly model: string;
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
  /** What runs where it is not what the model wrote, and what the classifier said; null where there is nothing of it. */
  readonly amended?: {
    readonly args: string | null;
    readonly argsHash: string | null;
    readonly selectedOption: string | null;
    readonly classified: StoredClassification | null;
  } | null;
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
    /** What a person changed or picked, and the JSON text of what the preview rests on; null where there is nothing of it. */
    readonly choice?: {
      readonly editedArgs: string | null;
      readonly editedArgsHash: string | null;
      readonly selectedOption: string | null;
      readonly preconditions: string | null;
    } | null;
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
  /** When this was read: in milliseconds since 1970 by the database's clock, and in `performance.now()` of this process. */
  readonly databaseTime: number;
  readonly readAt: number;
  readonly policyVersions: string;
  readonly killed: "app" | "workspace" | "definition" | "run" | null;
  readonly policy: StoredPolicy;
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

const read = "select snapshot from run_snapshot($1::uuid[], $2::int)";

/** The run as it stands now; read only. */
export async function readSnapshot(sql: Queryable, runId: string): Promise<RunSnapshot> {
  return await readAfter(sql, runId, 0);
}

/**
 * The run as it stands now, by one who knows how it stood: of the conversation only the last turn and what came after it
 * are read, since nothing before can have changed.
 */
export async function readAgain(sql: Queryable, known: RunSnapshot): Promise<RunSnapshot> {
  const from = known.messages.findLast(({ kind }) => kind === "assistant")?.seq ?? 0;
  const last = known.messages.at(-1)?.seq ?? 0;
  const now = await readAfter(sql, known.id, from);
  return {
    ...now,
    messages: [...known.messages, ...now.messages.filter(({ seq }) => seq > last)],
    calls: [...known.calls.filter(({ turnSeq }) => turnSeq < from), ...now.calls],
  };
}

async function readAfter(sql: Queryable, runId: string, seq: number): Promise<RunSnapshot> {
  const [row] = await sql.unsafe<{ snapshot: Omit<RunSnapshot, "readAt"> }[]>(read, [[runId], seq], { prepare: true });
  if (row === undefined) throw new EngineError("unknown_run", `There is no run ${runId}`);
  return asRead(row.snapshot);
}

/** What the database just answered, with the moment of that by this process's clock. */
export function asRead<T>(answer: T): T & { readonly readAt: number } {
  return { ...answer, readAt: performance.now() };
}
