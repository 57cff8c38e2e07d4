import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "@countersign/db/connect.ts";
import { advance, type Step } from "./advance.ts";
import { claimRuns } from "./commits/claim-runs.ts";
import { renewLeases } from "./commits/renew-leases.ts";
import { type Engine, type HeldRun, takeInHand } from "./engine.ts";
import { findStoppedHolds } from "./find-stopped-holds.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import { createSweep } from "./sweep.ts";

export interface WorkerOptions {
  readonly name: string;
  /** The most runs in hand at once. */
  readonly capacity: number;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly sweepMs: number;
  /** The floor under lost wake-ups. */
  readonly pollMs: number;
  /** Claims without progress after which a run is quarantined. */
  readonly maxClaims: number;
  /** Renewals have connections of their own: they must not queue behind the work they protect. */
  readonly renewals: Sql;
}

export interface Worker {
  /** There may be work: look now, or as soon as the look under way is done. */
  wake(): void;
  /** How many runs are in hand. */
  inHand(): number;
  /** Stops claiming and gives every run back, ready for another; what is under way after `graceMs` is aborted first. */
  stop(graceMs: number): Promise<void>;
}

interface InHand {
  readonly run: HeldRun;
  readonly done: Promise<void>;
  renewedAt: number;
}

/** Claims ready runs and drives each until it parks or ends, until stopped. Holds nothing for a run that is parked. */
export function startWorker(engine: Engine, options: WorkerOptions): Worker {
  const { name, capacity, leaseMs, renewMs, renewals } = options;
  const tools = new Map([...engine.tools].map(([tool, { definitionHash }]) => [tool, definitionHash]));
  const runs = new Map<string, InHand>();
  const look = singly(lookForWork, (error) => engine.report({ kind: "claim.failed", error }));
  const beat = singly(renew, () => abortOverdue());
  const sweep = singly(createSweep(engine, { maxClaims: options.maxClaims, ring: look }), (error) => engine.report({ kind: "sweep.failed", error }));
  const timers = [setInterval(tick, options.pollMs), setInterval(beat, renewMs), setInterval(sweep, options.sweepMs)];
  let isStopping = false;
  look();
  sweep();

  function tick(): void {
    look();
    stopStopped();
  }

  async function lookForWork(): Promise<void> {
    const limit = isStopping ? 0 : capacity - runs.size;
    const held = [...runs.values()].map(({ run }) => run.hold);
    if (limit === 0 && held.length === 0) return;
    const claimedAt = Date.now();
    const claimed = await claimRuns(engine.sql, { worker: name, leaseMs, limit, held, tools }, (runId, error) =>
      engine.report({ kind: "claim.failed", runId, error }),
    );
    for (const one of claimed) {
      if (one.kind === "claimed") await take(one.snapshot, claimedAt);
      else tellNews(one.runId);
    }
  }

  function tellNews(runId: string): void {
    const run = runs.get(runId)?.run;
    if (run === undefined) return;
    run.hasNews = true;
    run.news.resolve();
  }

  /** A run that cannot be taken in hand keeps its lease until it runs out; recovery counts that against it. */
  async function take(snapshot: RunSnapshot, renewedAt: number): Promise<void> {
    try {
      const definition = await engine.definitionOf(snapshot.definitionId, snapshot.definitionVersion);
      const run = takeInHand(snapshot, definition);
      if (run === undefined) return;
      run.isLeaving = isStopping;
      runs.set(snapshot.id, { run, renewedAt, done: drive(run) });
    } catch (error) {
      engine.report({ kind: "run.dropped", runId: snapshot.id, error });
    }
  }

  async function drive(run: HeldRun): Promise<void> {
    const { runId } = run.hold;
    let step: Step = "go_on";
    try {
      while (step === "go_on") step = await advance(engine, run);
      if (step === "lost") engine.report({ kind: "lease.lost", runId });
    } catch (error) {
      // The lease is left to run out: whoever claims the run next finds out what became of its calls.
      run.abort.abort();
      engine.report({ kind: "run.dropped", runId, error });
    } finally {
      runs.delete(runId);
      // There is room again for what was left behind for want of it.
      if (runs.size === capacity - 1) look();
    }
  }

  async function renew(): Promise<void> {
    const beganAt = Date.now();
    const kept = await renewLeases(renewals, [...runs.values()].map(({ run }) => run.hold), leaseMs);
    for (const { runId, isRenewed } of kept) {
      const inHand = runs.get(runId);
      if (inHand !== undefined && isRenewed) inHand.renewedAt = beganAt;
    }
    abortOverdue();
  }

  /** A lease that could not be renewed for two thirds of its time may soon be another's: its work stops here. */
  function abortOverdue(): void {
    for (const { run, renewedAt } of runs.values()) {
      if (Date.now() - renewedAt > (leaseMs * 2) / 3) run.abort.abort();
    }
  }

  function stopStopped(): void {
    if (runs.size === 0) return;
    const holds = [...runs.values()].map(({ run }) => run.hold);
    findStoppedHolds(renewals, holds).then(
      (stopped) => {
        for (const { runId, kind } of stopped) {
          const run = runs.get(runId)?.run;
          if (run === undefined || run.abort.signal.aborted) continue;
          if (kind === "killed") run.isLeaving = true;
          run.abort.abort();
        }
      },
      // The database cannot be reached; the beat stops what it must.
      () => undefined,
    );
  }

  return {
    wake: look,
    inHand: () => runs.size,
    async stop(graceMs) {
      isStopping = true;
      for (const timer of [timers[0], timers[2]]) clearInterval(timer);
      const all = [...runs.values()];
      for (const { run } of all) {
        run.isLeaving = true;
        run.news.resolve();
      }
      const done = Promise.all(all.map((inHand) => inHand.done));
      await Promise.race([done, delay(graceMs, undefined, { ref: false })]);
      for (const { run } of runs.values()) run.abort.abort();
      await done;
      clearInterval(timers[1]);
    },
  };
}

/** Runs `body` one at a time: what is asked for meanwhile is one more run after it. */
function singly(body: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let isRunning = false;
  let isWanted = false;
  return function ask(): void {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    void (async () => {
      while (isWanted) {
        isWanted = false;
        try {
          await body();
        } catch (error) {
          onError(error);
        }
      }
      isRunning = false;
    })();
  };
}
