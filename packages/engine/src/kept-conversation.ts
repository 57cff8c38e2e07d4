import { createPrompt, type Prompt } from "./prompt.ts";
import { createProviderCheck, type ProviderCheck } from "./provider-problem.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import { createScrubRequest, type ScrubRequest } from "./scrub.ts";

/**
 * What a process keeps of a run's conversation while it holds the run, so that a turn costs the same at any length: each
 * part looks only at what was added since it was asked before. It goes with the hold.
 */
export interface KeptConversation {
  readonly messagesOf: Prompt;
  readonly findProblem: ProviderCheck;
  readonly scrubRequest: ScrubRequest;
  readonly callsOf: (snapshot: Pick<RunSnapshot, "calls">) => CallsSoFar;
}

/** What is to be known of all calls of a run; calls are only ever added to a record, and neither of these changes. */
export interface CallsSoFar {
  /** The ids of the model's tool uses. */
  readonly usedIds: ReadonlySet<string>;
  /** Whether any call may acquire a capability. */
  readonly mayAcquire: boolean;
}

/** Nothing is kept yet. */
export function createKeptConversation(): KeptConversation {
  const usedIds = new Set<string>();
  let counted = 0;
  let mayAcquire = false;
  return {
    messagesOf: createPrompt(),
    findProblem: createProviderCheck(),
    scrubRequest: createScrubRequest(),
    callsOf({ calls }) {
      for (const call of calls.slice(counted)) {
        usedIds.add(call.providerId);
        mayAcquire ||= call.requires.length > 0;
      }
      counted = calls.length;
      return { usedIds, mayAcquire };
    },
  };
}
