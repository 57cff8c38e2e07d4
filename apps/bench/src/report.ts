import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ContestantName } from "./contestants.ts";
import { type BenchResults, type Entry, type PausedRunsResults, readResults } from "./results.ts";

const readme = join(import.meta.dirname, "../../../README.md");
const markers = { start: "<!-- speed: written by npm run bench:report -->", end: "<!-- speed: end -->" } as const;

const shownNames: Readonly<Record<ContestantName, string>> = {
  countersign: "**Countersign**",
  http: "**Countersign** over HTTP",
  dbos: "DBOS",
  absurd: "absurd",
  openworkflow: "OpenWorkflow",
  langgraph: "LangGraph (one process, no worker)",
};

const isOurs = ({ name }: Entry): boolean => name === "countersign" || name === "http";

/** Each contestant's medians, a level a column: gated runs per second, decision to effect, commits a run. */
function speedTable({ entries }: BenchResults): string[] {
  const levels = [...new Set(entries.map(({ atATime }) => atATime))].toSorted((a, b) => a - b);
  const names = [...new Set(entries.map(({ name }) => name))];
  const cell = (name: string, atATime: number): string => {
    const entry = entries.find((one) => one.name === name && one.atATime === atATime);
    if (entry === undefined) return "";
    const { runsPerSecond, effectMs, writeTransactionsPerRun } = entry.median;
    return `${shown(runsPerSecond)}/s · ${shown(effectMs.p50)} / ${shown(effectMs.p99)} ms · ${shown(writeTransactionsPerRun)}`;
  };
  return [
    `| gated runs at a time | ${levels.join(" | ")} |`,
    `| --- |${levels.map(() => " --- |").join("")}`,
    ...names.map(
      (name) =>
        `| ${shownNames[name as ContestantName]} | ${levels.map((atATime) => cell(name, atATime)).join(" | ")} |`,
    ),
  ];
}

/** What Countersign does against the best of the peers at each level; twice DBOS stands in for absurd where that is missing. */
function ratioRows(results: BenchResults): string[] {
  const levels = [...new Set(results.entries.map(({ atATime }) => atATime))].toSorted((a, b) => a - b);
  const hasAbsurd = results.entries.some(({ name }) => name === "absurd");
  const ratios = levels.map((atATime) => {
    const ofLevel = results.entries.filter((entry) => entry.atATime === atATime);
    const ours = ofLevel.find(({ name }) => name === "countersign");
    const peers = ofLevel.filter((entry) => !isOurs(entry));
    const doubled = (name: string): number => (name === "dbos" && !hasAbsurd ? 2 : 1);
    const most = Math.max(...peers.map(({ name, median }) => median.runsPerSecond * doubled(name)));
    const soonest = Math.min(...peers.map(({ name, median }) => median.effectMs.p50 / doubled(name)));
    return {
      runs: (ours?.median.runsPerSecond ?? Number.NaN) / most,
      effect: (ours?.median.effectMs.p50 ?? Number.NaN) / soonest,
    };
  });
  return [
    `| runs/s, times the best peer's | ${ratios.map(({ runs }) => `${shown(runs)} ×`).join(" | ")} |`,
    `| decision to effect p50, times the fastest peer's | ${ratios.map(({ effect }) => `${shown(effect)} ×`).join(" | ")} |`,
  ];
}

function benchSection(results: BenchResults): string[] {
  const { machine, rounds, entries, handWritten, longRuns, gateVerdictsPerSecond, leftOut } = results;
  const ours = entries.find(({ name, atATime }) => name === "countersign" && atATime === handWritten.atATime);
  const versions = Object.entries(machine.peers).map(([name, version]) => `${name} ${version}`);
  return [
    `Measured side by side with \`npm run bench\` on ${machine.date}: ${machine.processors}, ${machine.memoryGb} GB, PostgreSQL`,
    `${machine.postgres} with fsync on, Node ${machine.node}; medians of ${rounds} rounds, taken in turn, each peer at the best of three`,
    `settings; load of the machine at the start ${shown(machine.load)}. Against ${versions.join(", ")}.`,
    ...(leftOut.length === 0 ? [] : [`Left out: ${leftOut.join("; ")}.`]),
    "",
    "A gated run is: start, a model turn that does nothing, a durable wait for a person, the decision from another connection,",
    "an effect that does nothing, a second turn, the end. Each cell: runs per second · from decision to effect, p50 / p99 ·",
    "commits that wrote, a run.",
    "",
    ...speedTable(results),
    ...ratioRows(results),
    "",
    "| figure | |",
    "| --- | --- |",
    `| the same rows written by hand with ${handWritten.by}, one transition a commit, ${handWritten.atATime} at a time | ${shown(handWritten.runsPerSecond)} runs/s; Countersign ${shown((ours?.median.runsPerSecond ?? Number.NaN) / handWritten.runsPerSecond)} × that |`,
    `| time of the engine for a turn of a long run, at turn 10 and at turn ${longRuns.turns} | ${shown(longRuns.msAtTurn10)} ms, ${shown(longRuns.msAtLastTurns)} ms |`,
    `| verdicts of the gate | ${Math.round(gateVerdictsPerSecond).toLocaleString("en")} per second |`,
  ];
}

function pausedRunsRows({ measured }: PausedRunsResults): string[] {
  const { runs, empty, full, bytesPerRun, loadSeconds } = measured;
  const many = runs.toLocaleString("en");
  return [
    `| decision to effect p50 with ${many} paused runs in the database, and with none | ${shown(full.aloneP50Ms)} ms, ${shown(empty.aloneP50Ms)} ms alone; ${shown(full.sixteenP50Ms)} ms, ${shown(empty.sixteenP50Ms)} ms at 16 at a time |`,
    `| a run that was among them, decided alone | ${shown(full.loadedP50Ms ?? Number.NaN)} ms |`,
    `| disk for each, with 1 KB of content | ${shown(bytesPerRun / 1_024)} KB |`,
    `| an idle worker's load on the database, with them and without | ${shown(full.idle.databaseMsPerSecond)} ms, ${shown(empty.idle.databaseMsPerSecond)} ms a second |`,
    `| lists and queue among them over HTTP, p95 | ${shown(full.listP95Ms)} ms |`,
    `| loading them | ${Math.round(loadSeconds)} s |`,
  ];
}

/** Two or three digits are all that such a figure says. */
function shown(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}

const bench = readResults("bench");
if (bench === undefined) throw new Error("There are no results in docs/proof/bench.json: run npm run bench first");
const million = readResults("million");
const lines = [...benchSection(bench), ...(million === undefined ? [] : pausedRunsRows(million))];
const text = readFileSync(readme, "utf8");
const from = text.indexOf(markers.start);
const to = text.indexOf(markers.end);
if (from === -1 || to === -1)
  throw new Error(`README.md has no lines ${markers.start} and ${markers.end} to write between`);
writeFileSync(readme, `${text.slice(0, from)}${markers.start}\n${lines.join("\n")}\n${text.slice(to)}`);
console.log(lines.join("\n"));
