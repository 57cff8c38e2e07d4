import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Setting } from "./contestant.ts";
import type { HandWritten } from "./hand-written.ts";
import type { LongRuns } from "./long-runs.ts";
import type { Machine } from "./machine.ts";
import type { Measured } from "./measure.ts";
import type { PausedRuns } from "./paused-runs.ts";

/** The medians of all rounds of one contestant at one level. */
export interface Entry {
  readonly name: string;
  readonly atATime: number;
  readonly setting: Setting;
  /** What each setting came to before the rounds. */
  readonly tried: readonly { readonly setting: Setting; readonly runsPerSecond: number }[];
  readonly median: Omit<Measured, "runs">;
  readonly rounds: readonly Measured[];
}

export interface BenchResults {
  readonly machine: Machine;
  readonly rounds: number;
  readonly windowMs: number;
  readonly entries: readonly Entry[];
  /** Contestants that were left out, and why. */
  readonly leftOut: readonly string[];
  /** Each peer that was the best of its level, and what is left of it in ours. */
  readonly handWritten: HandWritten & { readonly atATime: number; readonly rounds: readonly number[] };
  readonly rowsPerRun: {
    readonly ours: Readonly<Record<string, string>>;
    readonly handWritten: Readonly<Record<string, string>>;
  };
  readonly longRuns: LongRuns;
  readonly gateVerdictsPerSecond: number;
}

export interface PausedRunsResults {
  readonly machine: Machine;
  readonly measured: PausedRuns;
}

const proofs = join(import.meta.dirname, "../../../docs/proof");

/** Where each kind of result is kept. */
const files = { bench: "bench.json", million: "million.json" } as const;

export function writeResults(kind: "bench", results: BenchResults): string;
export function writeResults(kind: "million", results: PausedRunsResults): string;
/** Afterwards the results are in docs/proof; returns the file. */
export function writeResults(kind: keyof typeof files, results: object): string {
  const file = join(proofs, files[kind]);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, roundNumbers, 2)}\n`);
  return file;
}

export function readResults(kind: "bench"): BenchResults | undefined;
export function readResults(kind: "million"): PausedRunsResults | undefined;
/** The results as they were last written; undefined where there are none. */
export function readResults(kind: keyof typeof files): object | undefined {
  try {
    return JSON.parse(readFileSync(join(proofs, files[kind]), "utf8")) as object;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(4)) : value;
}
