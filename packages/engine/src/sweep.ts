import { expireWaits } from "./commits/expire-waits.ts";
import { recoverRuns } from "./commits/recover-runs.ts";
import type { Engine } from "./engine.ts";
import { regateApprovals } from "./regate.ts";

const batch = 100;

/** Open approvals judged again in one sweep after changes of policy; the next sweep goes on with older ones. */
const regateWindow = 1_000;

export interface SweepOptions {
  /** Claims without progress after which a run is quarantined. */
  readonly maxClaims: number;
  /** Called where a run became ready. */
  readonly ring: () => void;
}

/**
 * Finds what no wake-up tells of: deadlines that passed, leases of dead workers, approvals of an older policy. Any number
 * of sweepers may run at once; each row is judged again under its lock.
 */
export function createSweep(engine: Engine, { maxClaims, ring }: SweepOptions): () => Promise<void> {
  async function sweepUntilDone(step: () => Promise<number>): Promise<number> {
    let total = 0;
    for (;;) {
      const done = await step();
      total += done;
      if (done < batch) return total;
    }
  }

  return async () => {
    const expired = await sweepUntilDone(async () => (await expireWaits(engine.sql, batch)).length);
    const recovered = await sweepUntilDone(async () => {
      const found = await recoverRuns(engine.sql, batch, maxClaims);
      for (const { runId, kind } of found)
        if (kind === "quarantined") engine.report({ kind: "run.quarantined", runId });
      return found.length;
    });
    if (expired + recovered > 0) ring();

    await regateApprovals(engine, regateWindow);
  };
}
