import { expireDue } from "./commits/expire-waits.ts";
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
 * of sweepers may run at once; each row is judged again under its lock. What fails is reported, a run by itself and each of
 * the three by itself; the next sweep tries it again.
 */
export function createSweep(engine: Engine, { maxClaims, ring }: SweepOptions): () => Promise<void> {
  const onFailure = (runId: string, error: unknown): void => engine.report({ kind: "sweep.failed", runId, error });

  async function sweepUntilDone<T>(step: () => Promise<readonly T[]>, isNews: (one: T) => boolean): Promise<void> {
    for (;;) {
      const found = await step();
      if (found.some(isNews)) ring();
      if (found.length < batch) return;
    }
  }

  const steps = [
    () =>
      sweepUntilDone(
        () => expireDue(engine.sql, batch, onFailure),
        ({ isSaid }) => isSaid,
      ),
    () =>
      sweepUntilDone(
        async () => {
          const found = await recoverRuns(engine.sql, batch, maxClaims, onFailure);
          for (const { runId, kind } of found)
            if (kind === "quarantined") engine.report({ kind: "run.quarantined", runId });
          return found;
        },
        () => true,
      ),
    async () => {
      await regateApprovals(engine, regateWindow);
    },
  ];

  return async () => {
    for (const step of steps) {
      try {
        await step();
      } catch (error) {
        engine.report({ kind: "sweep.failed", error });
      }
    }
  };
}
