import { expireWaits } from "./commits/expire-waits.ts";
import { recoverRuns } from "./commits/recover-runs.ts";
import type { Engine } from "./engine.ts";
import { readPolicyMark, regateApprovals } from "./regate.ts";

const batch = 100;

/** Open approvals looked at in one sweep after a change of policy; the next sweep goes on with older ones. */
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
  /** The policy that open approvals are being judged under, and how far that has come: all of them where undefined. */
  let judging: { readonly mark: string; readonly next: string | undefined } | undefined;

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

    const mark = await readPolicyMark(engine.sql);
    const hasMoved = mark !== judging?.mark;
    if (!hasMoved && judging?.next === undefined) return;
    const { next } = await regateApprovals(engine, hasMoved ? undefined : judging?.next, regateWindow);
    judging = { mark, next };
  };
}
