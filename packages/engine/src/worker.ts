import { setTimeout as delay } from "node:timers/promises";
import { isOutcomeUnknown, passesByItself } from "@countersign/db/connection-errors.ts";
import type { Sql } from "@countersign/db/connect.ts";
import { advance, type Step } from "./advance.ts";
import { claimRuns } from "./commits/claim-runs.ts";
import { passOverRun } from "./commits/pass-over-run.ts";
import { releaseRun } from "./commits/release-run.ts";
import { renewLeases } from "./commits/renew-leases.ts";
import { type Engine, type HeldRun, takeInHand } from "./engine.ts";
import { findStoppedHolds } from "./find-stopped-holds.ts";
import type { RunSnapshot } from "./run-snapshot.ts";
import { singly } from "./singly.ts";
import { createSweep } from "./sweep.ts";
import { isFaultOfRows } from "./together.ts";

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

/** How often a beat tries the leases whose rows were locked, within a quarter of the time to the next. */
const renewAttempts = 10;

/** How long a run is held on to after an error of a database in trouble, so that its next claim does not meet it at once. */
const troubleMs = 1_000;

/** The most runs of one claim: the first of them are at work while the next are claimed. */
const mostAtOnce = 64;

interface InHand {
  readonly run: HeldRun;
  readonly done: Promise<void>;
  renewedAt: number;
}

/** Claims ready runs and drives each until it parks or ends, until stopped. Holds nothing for a run that is parked. */
export function startWorker(engine: Engine, options: WorkerOptions): Worker {
  const { name, capacity, leaseMs, renewMs, renewals } = options;
  const tools = new Map([...engine.tools].map(([tool, { definitionHash }]) => [tool, definitionHash]));
  /** By lease: a run that was lost and claimed again can be in hand twice for as long as its old hold takes to end. */
  const runs = new Map<string, InHand>();
  const leasesOf = new Map<string, Set<string>>();
  const look = singly(lookForWork, (error) => engine.report({ kind: "claim.failed", error }));
  const beat = singly(renew, () => undefined);
  const watch = singly(stopStopped, () => undefined);
  const sweep = singly(createSweep(engine, { maxClaims: options.maxClaims, ring: look.ask }), (error) =>
    engine.report({ kind: "sweep.failed", error }),
  );
  const polling = setInterval(tick, options.pollMs);
  const renewing = setInterval(() => beat.ask(), renewMs);
  const sweeping = setInterval(() => sweep.ask(), options.sweepMs);
  let isStopping = false;
  /** The last look took all it had room for, so there may be more than it took. */
  let mayBeMore = false;
  look.ask();
  sweep.ask();

  function tick(): void {
    abortOverdue();
    look.ask();
    watch.ask();
  }

  async function lookForWork(): Promise<void> {
    const limit = isStopping ? 0 : Math.min(Math.max(capacity - runs.size, 0), mostAtOnce);
    const held = [...runs.values()].map(({ run }) => run.hold);
    if (limit === 0 && held.length === 0) return;
    const claimedAt = performance.now();
    const request = { worker: name, leaseMs, limit, held, tools };
    const claimed = await claimRuns(engine.sql, request, passOver).catch((error: unknown) => {
      for (const { runId } of held) tellLost(runId, error);
      throw error;
    });
    mayBeMore = limit > 0 && claimed.filter(({ kind }) => kind === "claimed").length === limit;
    for (const one of claimed) {
      if (one.kind === "claimed") await take(one.snapshot, claimedAt);
      else tellNews(one.runId);
    }
    if (mayBeMore && runs.size < capacity) look.ask();
  }

  /** A run that its own rows keep from being claimed, also with its news: it waits, and at last a person is to look at it. */
  async function passOver(runId: string, error: unknown): Promise<void> {
    engine.report({ kind: "claim.failed", runId, error });
    tellLost(runId, error);
    if (!isFaultOfRows(error)) return;
    const holds = holdsOf(runId);
    for (const run of holds) {
      run.isLeaving = true;
      run.news.resolve();
    }
    if (holds.length > 0) return;
    try {
      const outcome = await passOverRun(engine.sql, runId, options.maxClaims);
      if (outcome === "quarantined") engine.report({ kind: "run.quarantined", runId });
    } catch (refusal) {
      engine.report({ kind: "claim.failed", runId, error: refusal });
    }
  }

  function holdsOf(runId: string): HeldRun[] {
    return [...(leasesOf.get(runId) ?? [])].flatMap((leaseId) => runs.get(leaseId)?.run ?? []);
  }

  /** News is told once: where the answer was lost on the way, nobody but the run itself knows whether there was any. */
  function tellLost(runId: string, error: unknown): void {
    if (isOutcomeUnknown(error)) tellNews(runId);
  }

  function tellNews(runId: string): void {
    for (const run of holdsOf(runId)) {
      run.hasNews = true;
      run.news.resolve();
    }
  }

  /**
   * A run that cannot be taken in hand keeps its lease until it runs out, and recovery counts that against it; where the
   * database was in trouble, which is not the run's fault, it is given back.
   */
  async function take(snapshot: RunSnapshot, renewedAt: number): Promise<void> {
    try {
      const definition = await engine.definitionOf(snapshot.definitionId, snapshot.definitionVersion);
      const run = takeInHand(snapshot, definition);
      if (run === undefined) return;
      run.isLeaving = isStopping;
      for (const lost of holdsOf(snapshot.id)) lost.abort.abort();
      const { leaseId } = run.hold;
      runs.set(leaseId, { run, renewedAt, done: drive(run) });
      leasesOf.set(snapshot.id, (leasesOf.get(snapshot.id) ?? new Set()).add(leaseId));
    } catch (error) {
      engine.report({ kind: "run.dropped", runId: snapshot.id, error });
      const { id: runId, epoch, leaseId } = snapshot;
      if (leaseId === null || !passesByItself(error)) return;
      await engine.commit(releaseRun, { runId, epoch, leaseId, isLeaving: true }).catch(() => undefined);
    }
  }

  async function drive(run: HeldRun): Promise<void> {
    const { runId, leaseId } = run.hold;
    try {
      let step: Step = "go_on";
      while (step === "go_on") step = await advance(engine, run).catch((error: unknown) => leaveForNow(run, error));
      if (step === "lost") engine.report({ kind: "lease.lost", runId });
    } catch (error) {
      // The lease is left to run out: whoever claims the run next finds out what became of its calls.
      run.abort.abort();
      engine.report({ kind: "run.dropped", runId, error });
    } finally {
      runs.delete(leaseId);
      const leases = leasesOf.get(runId);
      leases?.delete(leaseId);
      if (leases?.size === 0) leasesOf.delete(runId);
      // There is room again for what was left behind for want of it.
      if (mayBeMore) look.ask();
    }
  }

  /** What a database in trouble refused is no fault of the run: it is given back, once what else is under way has ended. */
  async function leaveForNow(run: HeldRun, error: unknown): Promise<Step> {
    if (run.isLeaving || run.abort.signal.aborted || !passesByItself(error)) throw error;
    engine.report({ kind: "run.dropped", runId: run.hold.runId, error });
    run.isLeaving = true;
    await delay(troubleMs, undefined, { signal: run.abort.signal }).catch(() => undefined);
    return "go_on";
  }

  /**
   * A renewal passes over rows that are locked, and the row of a busy run is locked most of the time by its own commits:
   * those are tried again at once, not a beat later. One that fails leaves `renewedAt` as it was.
   */
  async function renew(): Promise<void> {
    const beganAt = performance.now();
    for (let attempt = 0; attempt < renewAttempts; attempt += 1) {
      if (attempt > 0) await delay(renewMs / (4 * renewAttempts));
      const holds = [...runs.values()].flatMap(({ run, renewedAt }) => (renewedAt < beganAt ? [run.hold] : []));
      if (holds.length === 0) return;
      const sentAt = performance.now();
      const kept = await renewLeases(renewals, holds, leaseMs, () => undefined);
      const renewed = new Set(kept.flatMap(({ runId, isRenewed }) => (isRenewed ? [runId] : [])));
      for (const inHand of runs.values()) if (renewed.has(inHand.run.hold.runId)) inHand.renewedAt = sentAt;
      if (renewed.size === kept.length) return;
    }
  }

  /**
   * A lease that could not be renewed for two thirds of its time may soon be another's: its work stops here. Asked at
   * every poll and not after a renewal, since a renewal may hang as long as the connection that it was sent on.
   */
  function abortOverdue(): void {
    for (const { run, renewedAt } of runs.values()) {
      if (performance.now() - renewedAt > (leaseMs * 2) / 3) run.abort.abort();
    }
  }

  /** One that fails leaves the work to the next, and at last to `abortOverdue`. */
  async function stopStopped(): Promise<void> {
    if (runs.size === 0) return;
    const holds = [...runs.values()].map(({ run }) => ({
      ...run.hold,
      policyVersions: run.snapshot.policyVersions,
    }));
    for (const { leaseId, kind } of await findStoppedHolds(renewals, holds)) {
      const run = runs.get(leaseId)?.run;
      if (run === undefined || run.abort.signal.aborted) continue;
      if (kind === "judged_anew") {
        run.hasNews = true;
        run.news.resolve();
        continue;
      }
      if (kind === "killed") run.isLeaving = true;
      run.abort.abort();
    }
  }

  /** What a claim under way still takes is taken in hand, and given back with the rest. */
  async function empty(): Promise<void> {
    await look.settled();
    await Promise.all([...runs.values()].map((inHand) => inHand.done));
  }

  return {
    wake: look.ask,
    inHand: () => runs.size,
    async stop(graceMs) {
      isStopping = true;
      clearInterval(polling);
      clearInterval(sweeping);
      for (const { run } of runs.values()) {
        run.isLeaving = true;
        run.news.resolve();
      }
      const emptied = empty();
      await Promise.race([emptied, delay(graceMs, undefined, { ref: false })]);
      for (const { run } of runs.values()) run.abort.abort();
      await emptied;
      clearInterval(renewing);
      await Promise.all([look.settled(), beat.settled(), watch.settled(), sweep.settled()]);
    },
  };
}
