import { readFile } from "node:fs/promises";
import type { Tx } from "@countersign/db/connect.ts";

/** Processor time in milliseconds, which other work on the machine changes far less than the time that passes. */
export interface ProcessorTime {
  /** Of the session of a transaction; undefined where the system does not tell. */
  readonly database: number | undefined;
  readonly process: number;
}

/** What this process and the session of `tx`, on this machine, have used so far. */
async function readProcessorTime(tx: Tx): Promise<ProcessorTime> {
  const [session] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const path = `/proc/${session?.pid}/schedstat`;
  const text = await readFile(path, "utf8").catch(() => "");
  const nanoseconds = Number(text.split(" ")[0]);
  const { user, system } = process.cpuUsage();
  return { database: text === "" ? undefined : nanoseconds / 1e6, process: (user + system) / 1e3 };
}

/** Adds up what acts took, for one line of the report. */
export function createMeter(): {
  measure<R>(tx: Tx, act: () => Promise<R>): Promise<R>;
  describe(): string;
} {
  const times: number[] = [];
  const spent = { database: 0, process: 0 };
  return {
    async measure(tx, act) {
      const before = await readProcessorTime(tx);
      const startedAt = performance.now();
      const result = await act();
      times.push(performance.now() - startedAt);
      const after = await readProcessorTime(tx);
      spent.database += (after.database ?? 0) - (before.database ?? 0);
      spent.process += after.process - before.process;
      return result;
    },
    describe() {
      const sorted = times.toSorted((a, b) => a - b);
      const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
      const each = (ms: number): string => (ms / Math.max(1, times.length)).toFixed(1);
      return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms over ${times.length}; of the processor on average ${each(spent.database)} ms in the database, ${each(spent.process)} ms here`;
    },
  };
}
