import { readConfig } from "./config.ts";
import type { Setting } from "./contestant.ts";
import { contestantNames, type ContestantName } from "./contestants.ts";
import { measureGate } from "./gate-speed.ts";
import { countRowsPerRun, type HandWritten, runHandWritten } from "./hand-written.ts";
import { measureLongRuns } from "./long-runs.ts";
import { describeMachine } from "./machine.ts";
import { type Measured, percentile } from "./measure.ts";
import { type MeasuringProcess, startMeasuring } from "./measuring-process.ts";
import { prepareOurs } from "./ours.ts";
import { type OwnPostgres, startOwnPostgres } from "./own-postgres.ts";
import { type BenchResults, type Entry, writeResults } from "./results.ts";

/** The level at which one transition a commit is written by hand. */
const handWrittenAtATime = 64;

const { rounds, windowMs, levels, absurdSql, environment } = readConfig();

interface Entrant {
  readonly process: MeasuringProcess;
  readonly url: string;
}

/** Every contestant that can be measured here, each with a database and a process of its own. */
async function enter(postgres: OwnPostgres, leftOut: string[]): Promise<Entrant[]> {
  const entrants: Entrant[] = [];
  for (const name of contestantNames) {
    const process = startMeasuring(name);
    const url = await postgres.createDatabase(`bench_${name}`);
    if ((await process.ask({ kind: "prepare", url }, "prepared")) === undefined) {
      leftOut.push(
        name === "absurd" && absurdSql === undefined
          ? "absurd: ABSURD_SQL names no file sql/absurd.sql; twice the figure of DBOS stands in for it"
          : name,
      );
      await process.stop();
    } else {
      entrants.push({ process, url });
    }
  }
  return entrants;
}

interface Choice {
  readonly setting: Setting;
  readonly tried: Entry["tried"];
}

/** The setting with which the contestant does the most runs at this level. */
async function choose({ process, url }: Entrant, atATime: number): Promise<Choice> {
  const { settings } = (await process.ask({ kind: "settings", atATime }, "settings")) ?? { settings: [] };
  const tried: { setting: Setting; runsPerSecond: number }[] = [];
  for (const setting of settings) {
    const { runsPerSecond } =
      settings.length === 1 ? { runsPerSecond: 0 } : await measureOne({ process, url }, atATime, setting, windowMs / 2);
    tried.push({ setting, runsPerSecond });
  }
  const best = tried.toSorted((a, b) => b.runsPerSecond - a.runsPerSecond)[0];
  if (best === undefined) throw new Error(`${process.name} has no settings`);
  return { setting: best.setting, tried };
}

async function measureOne(
  { process, url }: Entrant,
  atATime: number,
  setting: Setting,
  forMs: number,
): Promise<Measured> {
  const answer = await process.ask({ kind: "measure", url, setting, atATime, windowMs: forMs }, "measured");
  if (answer === undefined) throw new Error(`${process.name} cannot be measured`);
  return answer.measured;
}

function medianOf(measured: readonly Measured[]): Omit<Measured, "runs"> {
  const median = (of: (one: Measured) => number): number => percentile(measured.map(of), 0.5);
  return {
    runsPerSecond: median((one) => one.runsPerSecond),
    effectMs: { p50: median((one) => one.effectMs.p50), p99: median((one) => one.effectMs.p99) },
    writeTransactionsPerRun: median((one) => one.writeTransactionsPerRun),
  };
}

function tell(name: ContestantName, atATime: number, what: string, measured: Omit<Measured, "runs">): void {
  const { runsPerSecond, effectMs, writeTransactionsPerRun } = measured;
  console.log(
    `${name.padEnd(12)} ${String(atATime).padStart(3)} at a time, ${what}: ${runsPerSecond.toFixed(1)} runs/s, ` +
      `decision to effect ${effectMs.p50.toFixed(1)} / ${effectMs.p99.toFixed(1)} ms, ${writeTransactionsPerRun.toFixed(2)} commits a run`,
  );
}

/** In every round each contestant has its turn, in another order, so that what else the machine does falls on all alike. */
async function measureLevel(
  entrants: readonly Entrant[],
  atATime: number,
  endRound: (round: number) => Promise<void>,
): Promise<Entry[]> {
  const choices = new Map<Entrant, Choice>();
  for (const entrant of entrants) choices.set(entrant, await choose(entrant, atATime));
  const measured = new Map<Entrant, Measured[]>(entrants.map((entrant) => [entrant, []]));
  for (let round = 0; round < rounds; round += 1) {
    const from = round % entrants.length;
    for (const entrant of [...entrants.slice(from), ...entrants.slice(0, from)]) {
      const { setting } = choices.get(entrant) as Choice;
      const one = await measureOne(entrant, atATime, setting, windowMs);
      measured.get(entrant)?.push(one);
      tell(entrant.process.name, atATime, `round ${round + 1}`, one);
    }
    await endRound(round);
  }
  return entrants.map((entrant): Entry => {
    const { setting, tried } = choices.get(entrant) as Choice;
    const ofRounds = measured.get(entrant) ?? [];
    const median = medianOf(ofRounds);
    tell(entrant.process.name, atATime, `median with ${JSON.stringify(setting)}`, median);
    return { name: entrant.process.name, atATime, setting, tried, median, rounds: ofRounds };
  });
}

/** What goes on beside the levels: what one would write by hand, long runs, the gate. */
async function measureBeside(postgres: OwnPostgres): Promise<Pick<BenchResults, "longRuns" | "gateVerdictsPerSecond">> {
  const url = await postgres.createDatabase("bench_long_runs");
  await prepareOurs(url);
  measureGate(500);
  const gateVerdictsPerSecond = measureGate(2_000);
  console.log(`gate: ${gateVerdictsPerSecond.toFixed(0)} verdicts/s`);
  const longRuns = await measureLongRuns(url, 1_000, 3);
  console.log("long runs:", longRuns);
  return { longRuns, gateVerdictsPerSecond };
}

async function run(postgres: OwnPostgres): Promise<string> {
  const machine = await describeMachine(postgres.url);
  console.log(machine);
  const leftOut: string[] = [];
  const entrants = await enter(postgres, leftOut);
  for (const line of leftOut) console.log(`left out: ${line}`);
  const ours = entrants.find(({ process }) => process.name === "countersign");
  const byHand = await postgres.createDatabase("bench_by_hand");
  await prepareOurs(byHand);
  const handWritten: HandWritten[] = [];
  const entries: Entry[] = [];
  let file = "";

  async function writeByHand(atATime: number, round: number): Promise<void> {
    if (atATime !== handWrittenAtATime) return;
    const one = await runHandWritten(byHand, atATime, windowMs, environment);
    handWritten.push(one);
    console.log(`by hand       ${atATime} at a time, round ${round + 1}: ${one.runsPerSecond.toFixed(1)} runs/s`);
  }

  try {
    const beside = await measureBeside(postgres);
    for (const atATime of levels) {
      entries.push(...(await measureLevel(entrants, atATime, (round) => writeByHand(atATime, round))));
      // After every level: what was measured is kept where a later one fails.
      file = writeResults("bench", {
        machine,
        rounds,
        windowMs,
        entries,
        leftOut,
        handWritten: {
          by: handWritten[0]?.by ?? "node",
          atATime: handWrittenAtATime,
          runsPerSecond: percentile(
            handWritten.map(({ runsPerSecond }) => runsPerSecond),
            0.5,
          ),
          rounds: handWritten.map(({ runsPerSecond }) => runsPerSecond),
        },
        rowsPerRun: {
          ours: ours === undefined ? {} : await countRowsPerRun(ours.url),
          handWritten: await countRowsPerRun(byHand),
        },
        ...beside,
      });
    }
    return file;
  } finally {
    await Promise.all(entrants.map(({ process }) => process.stop()));
  }
}

const postgres = await startOwnPostgres();
try {
  console.log(`written to ${await run(postgres)}`);
} finally {
  await postgres.remove();
}
