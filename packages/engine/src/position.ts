import type { Definition } from "./definition.ts";
import type { RecordedCall, RunSnapshot } from "./run-snapshot.ts";

/** Where a run stands and what comes next; a function of what is recorded and of what this process has in its hands. */
export type Position =
  /** Calls that nobody is working on and that can go on. */
  | { readonly kind: "calls"; readonly calls: readonly RecordedCall[] }
  /** Everything that can go on is under way in this process. */
  | { readonly kind: "busy" }
  /** All that is left is waiting for a person or a time. */
  | { readonly kind: "wait" }
  /** Every call is settled: the model speaks next. */
  | { readonly kind: "model" }
  /** The run ends here. */
  | { readonly kind: "fail"; readonly reason: string };

/**
 * The next step of a run. Total over everything a crash can leave: each call of the last turn is settled, waiting, under
 * way here (`inFlight`), or one to go on with, be it fresh, begun by the claim, or interrupted under an older epoch.
 */
export function positionOf(snapshot: RunSnapshot, definition: Definition, inFlight: ReadonlySet<string>): Position {
  const turn = callsOfLastTurn(snapshot);
  const isBlocked = definition.onDenial === "stop" && turn.some((call) => call.resultCode === "user_denied");
  // What is under way comes to its end first: cut off, nobody could tell how far it came.
  if (isBlocked) return inFlight.size > 0 ? { kind: "busy" } : { kind: "fail", reason: "blocked_by_approval" };

  const calls = turn.filter((call) => isOpen(call) && !inFlight.has(call.id));
  if (calls.length > 0) return { kind: "calls", calls };
  if (inFlight.size > 0) return { kind: "busy" };
  if (turn.some((call) => call.waitsOn !== null)) return { kind: "wait" };

  const limit = reachedLimit(snapshot, definition);
  return limit === undefined ? { kind: "model" } : { kind: "fail", reason: `limit:${limit}` };
}

function callsOfLastTurn(snapshot: RunSnapshot): readonly RecordedCall[] {
  const last = snapshot.calls.at(-1)?.turnSeq;
  return snapshot.calls.slice(snapshot.calls.findLastIndex(({ turnSeq }) => turnSeq !== last) + 1);
}

function isOpen(call: RecordedCall): boolean {
  return call.status === "requested" || call.status === "executing";
}

/** The first limit that the run has reached, by its name. */
function reachedLimit(snapshot: RunSnapshot, { limits }: Definition): keyof Definition["limits"] | undefined {
  if (snapshot.turns >= limits.turns) return "turns";
  if (snapshot.callCount >= limits.toolCalls) return "toolCalls";
  if (snapshot.inputTokens + snapshot.outputTokens >= (limits.tokens ?? Infinity)) return "tokens";
  if (snapshot.costMicros >= (limits.costMicros ?? Infinity)) return "costMicros";
  if (snapshot.workedMs >= (limits.workedMs ?? Infinity)) return "workedMs";
  return undefined;
}
