import type { Sql } from "@countersign/db/connect.ts";
import type { Committer } from "./committer.ts";
import type { Definition } from "./definition.ts";
import type { Hold } from "./held-run.ts";
import { createKeptConversation, type KeptConversation } from "./kept-conversation.ts";
import type { Model } from "./model.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import type { Scrub } from "./scrub.ts";
import type { Handle } from "./tool.ts";
import type { Tools } from "./tools.ts";

/** Everything the driver works with; passed in, so that the engine knows no broker, no provider and no environment. */
export interface Engine {
  readonly sql: Sql;
  readonly commit: Committer;
  readonly tools: Tools;
  readonly model: Model;
  readonly definitionOf: (definitionId: string, version: number) => Promise<Definition>;
  /** Opens the credential of a capability that the call has acquired; throws `CapabilityRefused` where it cannot. */
  readonly openCapability: (request: CapabilityRequest) => Promise<Handle>;
  /**
   * Takes secrets out of what leaves a run's tools and its model. Asked for anew before each use: a run acquires more, and
   * the process holds more. With the same `mark` as before the run has acquired nothing since; with null nothing ever.
   */
  readonly scrubberOf: (runId: string, mark?: string | null) => Promise<Scrub>;
  readonly report: (event: EngineEvent) => void;
  /** The most tokens a model takes, prompt and reply together; where it is not known nothing is summarized by itself. */
  readonly contextTokensOf?: (model: string) => number | undefined;
  /** How long the classifier may take, 15 s unless stated. */
  readonly classifierTimeoutMs?: number;
}

export interface CapabilityRequest {
  readonly workspaceId: string;
  readonly runId: string;
  readonly callId: string;
  readonly capability: string;
  /** Acquires the capability once more for the call, with an audit row of its own; to be called where its lease is over. */
  readonly renew: () => Promise<"renewed" | "refused" | "audit_unavailable">;
}

/** The credential cannot be had; `message` is for the model and the person, and holds no secret. */
export class CapabilityRefused extends Error {
  override readonly name = "CapabilityRefused";
}

/** What an operator should be able to see in the log. */
export type EngineEvent =
  | { readonly kind: "run.dropped"; readonly runId: string; readonly error: unknown }
  | { readonly kind: "run.failed"; readonly runId: string; readonly error: unknown }
  | { readonly kind: "run.quarantined"; readonly runId: string }
  | { readonly kind: "tool.failed"; readonly runId: string; readonly tool: string; readonly error: unknown }
  | { readonly kind: "classifier.failed"; readonly runId: string; readonly tool: string; readonly error: unknown }
  | { readonly kind: "claim.failed"; readonly runId?: string; readonly error: unknown }
  | { readonly kind: "lease.lost"; readonly runId: string }
  | { readonly kind: "sweep.failed"; readonly runId?: string; readonly error: unknown }
  | { readonly kind: "bell.unavailable"; readonly error?: unknown };

/** A run in this process's hands. Only the loop that drives it takes results in; a second look may freshen its policy. */
export interface HeldRun {
  readonly hold: Hold;
  readonly definition: Definition;
  snapshot: RunSnapshot;
  readonly conversation: KeptConversation;
  /** Grows whenever a call of the run may have acquired something. */
  acquisitions: number;
  /** The calls under way here, each resolving with what came of it. */
  readonly inFlight: Map<string, Promise<CallReport>>;
  /** Settles with the last transactional call that was asked for; it never rejects. */
  lastWrite: Promise<unknown>;
  /** Aborted when the run must not be worked on any more: its lease is lost, its scope killed, or time is up. */
  readonly abort: AbortController;
  /** Set where the run is to be given back as soon as nothing is under way. */
  isLeaving: boolean;
  /** Resolves when something became ready on the run; replaced each time. */
  news: PromiseWithResolvers<void>;
  hasNews: boolean;
}

/** Takes a claimed run in hand. Undefined where the snapshot is of a run that nobody holds. */
export function takeInHand(snapshot: RunSnapshot, definition: Definition): HeldRun | undefined {
  const { id: runId, epoch, leaseId } = snapshot;
  if (leaseId === null) return undefined;
  return {
    hold: { runId, epoch, leaseId },
    definition,
    snapshot,
    conversation: createKeptConversation(),
    acquisitions: 0,
    inFlight: new Map(),
    lastWrite: Promise.resolve(),
    abort: new AbortController(),
    isLeaving: false,
    news: Promise.withResolvers(),
    hasNews: false,
  };
}

/** What came of running a call, for the loop to take in. */
export interface CallReport {
  readonly callId: string;
  readonly kind: "settled" | "lost" | "held";
  /** What changed on the call. */
  readonly change?: Partial<RunSnapshot["calls"][number]>;
  readonly hasNews?: boolean;
  readonly isParked?: boolean;
}
