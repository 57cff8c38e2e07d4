import type { ApprovalPolicy, DialLevel } from "@countersign/gate/rule.ts";
import { boolean, defineCommit, integer, moment, text, uuid } from "../commit.ts";

/** A run to be started. */
export interface StartRun {
  readonly runId: string;
  readonly workspaceId: string;
  readonly definitionId: string;
  readonly definitionVersion: number;
  readonly startedBy: string;
  readonly title: string;
  /** The first message, as JSON text of a string. */
  readonly input: string;
  readonly grants: readonly string[];
  /** Whoever starts it was signed in as themselves: no program, and nobody acting for them. */
  readonly isTyped?: boolean;
  /** The same key again returns the run it started; `requestHash` tells whether the same thing was asked. */
  readonly key?: { readonly key: string; readonly requestHash: string };
  /** What is to run unasked in this run, and which of its calls ask; whoever starts it must have been found entitled. */
  readonly policy?: {
    readonly dial?: { readonly level: DialLevel; readonly expiresAt?: Date | undefined } | undefined;
    readonly approvalPolicy?: ApprovalPolicy | undefined;
    /** How the person was authenticated, for the audit. */
    readonly way: string;
  };
  readonly pageId?: string;
  readonly nodeId?: string;
}

export type StartOutcome =
  | { readonly kind: "started"; readonly runId: string }
  | { readonly kind: "existing"; readonly runId: string }
  | { readonly kind: "mismatch"; readonly runId: string }
  | { readonly kind: "unknown_definition" };

interface Row {
  run_id: string;
  outcome: StartOutcome["kind"];
  started_id: string;
}

/** Afterwards the run is queued and ready, with its first message and its grants; or nothing of it exists. */
export const startRun = defineCommit<StartRun, Row, StartOutcome>({
  name: "start_run",
  runOf: (run) => run.runId,
  columns: {
    p_runs: uuid((run) => run.runId),
    p_workspaces: uuid((run) => run.workspaceId),
    p_definitions: uuid((run) => run.definitionId),
    p_versions: integer((run) => run.definitionVersion),
    p_users: uuid((run) => run.startedBy),
    p_titles: text((run) => run.title),
    p_inputs: text((run) => run.input),
    p_grants: text((run) => run.grants.join(",")),
    p_keys: text((run) => run.key?.key),
    p_hashes: text((run) => run.key?.requestHash),
    p_pages: uuid((run) => run.pageId),
    p_nodes: uuid((run) => run.nodeId),
    p_dials: text((run) => run.policy?.dial?.level),
    p_dials_until: moment((run) => run.policy?.dial?.expiresAt),
    p_approval_policies: text((run) => run.policy?.approvalPolicy),
    p_ways: text((run) => run.policy?.way),
    p_typed: boolean((run) => run.isTyped ?? false),
  },
  outcomeOf: (row) => ({ kind: row.outcome, runId: row.started_id }),
  wakes: (outcome) => outcome.kind === "started",
});
