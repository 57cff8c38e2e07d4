import type { Engine, HeldRun } from "./engine.ts";
import { insist } from "./insist.ts";
import type { Scrub } from "./scrub.ts";

/**
 * The scrub for what leaves a held run now. What the process itself holds is looked at anew each time; what the run has
 * acquired is asked of the database once in a hold, and again after each attempt that may have acquired something: while
 * a run is held only its holder can acquire for it. A run none of whose calls may acquire anything asks nothing.
 */
export async function scrubHeld(engine: Engine, held: HeldRun): Promise<Scrub> {
  const { runId, epoch } = held.hold;
  const { mayAcquire } = held.conversation.callsOf(held.snapshot);
  const mark = mayAcquire ? `${epoch}.${held.acquisitions}` : null;
  // A database that is away for a moment is no reason for the run to fail.
  return await insist(held.abort.signal, () => engine.scrubberOf(runId, mark));
}
