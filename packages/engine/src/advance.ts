import { failRun } from "./commits/fail-run.ts";
import { releaseRun } from "./commits/release-run.ts";
import type { CallReport, Engine, HeldRun } from "./engine.ts";
import { insist } from "./insist.ts";
import { positionOf } from "./position.ts";
import { runCall } from "./run-call.ts";
import { type RecordedCall, readAgain, type RunSnapshot } from "./run-snapshot.ts";
import { takeTurn } from "./take-turn.ts";

/** The most calls of one run under way at once. */
const maxConcurrentCalls = 10;

/**
 * Where one step left the run: `go_on` to take the next; any other is the end of this hold. `parked`: it waits and holds
 * nothing. `lost`: somebody else has it, or nobody; write nothing more. `given_back`: it is ready for another worker.
 */
export type Step = "go_on" | "parked" | "ended" | "lost" | "given_back";

/** Takes one step of a held run: starts the calls that can go on, takes in one that came back, or asks the model. */
export async function advance(engine: Engine, held: HeldRun): Promise<Step> {
  if (held.hasNews) await look(engine, held);
  if (held.isLeaving || held.abort.signal.aborted) return await leave(engine, held);

  const position = positionOf(atPresent(held), held.definition, new Set(held.inFlight.keys()));
  switch (position.kind) {
    case "calls":
      if (held.inFlight.size >= maxConcurrentCalls) return await takeIn(engine, held);
      for (const call of position.calls.slice(0, maxConcurrentCalls - held.inFlight.size)) start(engine, held, call);
      return "go_on";
    case "busy":
      return await takeIn(engine, held);
    case "model":
      return await turn(engine, held);
    case "wait":
      return await park(engine, held);
    case "fail":
      return await fail(engine, held, position.reason);
  }
}

/** The record with the time worked since it was read, which the limits count too. */
function atPresent({ snapshot }: HeldRun): RunSnapshot {
  return { ...snapshot, workedMs: snapshot.workedMs + performance.now() - snapshot.readAt };
}

function start(engine: Engine, held: HeldRun, call: RecordedCall): void {
  const report = runCall(engine, held, call);
  // Its error is met where the report is taken in; until then a rejection is not unhandled.
  report.catch(() => undefined);
  held.inFlight.set(call.id, report);
}

/** Waits for the first call to come back, or for news; what came back is taken in here and nowhere else. */
async function takeIn(engine: Engine, held: HeldRun): Promise<Step> {
  const report = await Promise.race([...held.inFlight.values(), held.news.promise]);
  if (report === undefined) return "go_on";
  held.inFlight.delete(report.callId);
  return await applyReport(engine, held, report);
}

async function applyReport(engine: Engine, held: HeldRun, report: CallReport): Promise<Step> {
  if (report.kind === "lost") {
    held.abort.abort();
    return "go_on";
  }
  if (report.kind === "held") held.isLeaving = true;
  const { change } = report;
  if (change !== undefined) {
    const calls = held.snapshot.calls.map((call) => (call.id === report.callId ? { ...call, ...change } : call));
    held.snapshot = { ...held.snapshot, calls };
  }
  if (report.isParked === true) return "parked";
  if (report.hasNews === true) await look(engine, held);
  return "go_on";
}

/** Reads the run anew. Calls under way keep their place in `inFlight`, so an older state of theirs does no harm. */
async function look(engine: Engine, held: HeldRun): Promise<void> {
  held.hasNews = false;
  held.news = Promise.withResolvers();
  const { snapshot } = held;
  held.snapshot = await insist(held.abort.signal, () => readAgain(engine.sql, snapshot));
}

async function turn(engine: Engine, held: HeldRun): Promise<Step> {
  const report = await takeTurn(engine, held);
  switch (report.kind) {
    case "recorded":
      return "go_on";
    case "stale":
      await look(engine, held);
      return "go_on";
    case "held":
      held.isLeaving = true;
      return "go_on";
    case "lost":
      // A lease that is still ours (the scope was killed, the process is going) is given back on the way out.
      held.abort.abort();
      return "go_on";
    default:
      return report.kind;
  }
}

async function park(engine: Engine, held: HeldRun): Promise<Step> {
  const outcome = await insist(held.abort.signal, () => engine.commit(releaseRun, { ...held.hold, isLeaving: false }));
  if (outcome.kind === "busy") {
    await look(engine, held);
    return "go_on";
  }
  return outcome.kind === "released" ? "parked" : "lost";
}

async function fail(engine: Engine, held: HeldRun, reason: string): Promise<Step> {
  const outcome = await insist(held.abort.signal, () => engine.commit(failRun, { ...held.hold, reason }));
  return outcome.kind === "failed" ? "ended" : "lost";
}

/** Lets what is under way come to its end, then gives the run back; a lease that is lost is not given back. */
async function leave(engine: Engine, held: HeldRun): Promise<Step> {
  const ends = await Promise.allSettled(held.inFlight.values());
  held.inFlight.clear();
  if (ends.some((end) => end.status === "fulfilled" && end.value.isParked === true)) return "parked";
  if (!held.isLeaving) return "lost";
  const outcome = await insist(held.abort.signal, () => engine.commit(releaseRun, { ...held.hold, isLeaving: true }));
  return outcome.kind === "released" ? "given_back" : "lost";
}
