import { Session } from "node:inspector/promises";
import { basename } from "node:path";
import { connect, type Sql } from "@countersign/db/connect.ts";
import { measureBatches } from "./batch-costs.ts";
import { readConfig } from "./config.ts";
import { type Effects, measure } from "./measure.ts";
import { ours } from "./ours.ts";
import { startOwnPostgres } from "./own-postgres.ts";

const { levels, windowMs } = readConfig();

const batchSizes = [1, 16, 64];

/** The functions in which this process spent its time, as parts of the time it was not idle. */
async function profiled<T>(act: () => Promise<T>): Promise<{ result: T; functions: string[] }> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  const result = await act();
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  const names = new Map(
    profile.nodes.map(({ id, callFrame }) => [
      id,
      `${callFrame.functionName || "(anonymous)"}${callFrame.url === "" ? "" : ` of ${basename(callFrame.url)}`}`,
    ]),
  );
  const times = new Map<string, number>();
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const name = names.get(id) ?? "";
    times.set(name, (times.get(name) ?? 0) + (profile.timeDeltas?.[index] ?? 0));
  }
  const all = [...times.values()].reduce((sum, time) => sum + time, 0);
  const idle = times.get("(idle)") ?? 0;
  times.delete("(idle)");
  const top = [...times].toSorted(([, a], [, b]) => b - a).slice(0, 20);
  return {
    result,
    functions: [
      `idle ${((idle / all) * 100).toFixed(0)} %; of the rest:`,
      ...top.map(([name, time]) => `  ${((time / (all - idle)) * 100).toFixed(1).padStart(5)} %  ${name}`),
    ],
  };
}

async function topStatements(sql: Sql, runs: number): Promise<string[]> {
  const rows = await sql<{ calls: number; total: number; mean: number; text: string }[]>`
    select calls::float, total_exec_time as total, mean_exec_time as mean, left(regexp_replace(query, '\\s+', ' ', 'g'), 70) as text
      from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database()) and toplevel
     order by total_exec_time desc limit 12`;
  return [
    "  calls a run · ms a run · ms a call",
    ...rows.map(
      ({ calls, total, mean, text }) =>
        `  ${(calls / runs).toFixed(2).padStart(6)} ${(total / runs).toFixed(3).padStart(8)} ${mean.toFixed(2).padStart(8)}  ${text}`,
    ),
  ];
}

/** Also in a database whose tables were empty when its session planned its statements: plans must not depend on that. */
async function tellBatches(createDatabase: (name: string) => Promise<string>): Promise<void> {
  for (const size of batchSizes) {
    const url = await createDatabase(`bench_batches_${size}`);
    await ours.prepare(url);
    for (const state of ["empty", "in use"]) {
      const sql = connect(url, { max: 1 });
      await sql.unsafe("vacuum analyze").simple();
      await sql.end();
      const costs = await measureBatches(url, size, 20);
      const all = costs.reduce((sum, { least }) => sum + least, 0);
      console.log(
        `${size} a batch, planned while the tables were ${state}: ${(all / size).toFixed(3)} ms a run at the least`,
      );
      for (const { commit, least, median } of costs)
        console.log(`  ${least.toFixed(2).padStart(7)} (${median.toFixed(2)})  ${commit}`);
    }
  }
}

const postgres = await startOwnPostgres();
try {
  await tellBatches(postgres.createDatabase);
  const url = await postgres.createDatabase("bench_profile");
  const sql = connect(url, { max: 1 });
  await sql`create extension pg_stat_statements`;
  await sql`create extension pg_walinspect`;
  await ours.prepare(url);
  for (const atATime of levels) {
    await sql.unsafe("vacuum analyze").simple();
    const effects: Effects = { heard: () => undefined };
    const opened = await ours.open(url, {}, (id) => effects.heard(id));
    await sql`select pg_stat_statements_reset()`;
    const { result, functions } = await profiled(() => measure(sql, opened, { atATime, windowMs }, effects));
    console.log(`${atATime} at a time: ${result.runsPerSecond.toFixed(0)} runs/s under the profiler`);
    console.log([...functions, ...(await topStatements(sql, result.runs))].join("\n"));
    await opened.close();
  }
  await sql.end();
} finally {
  await postgres.remove();
}
