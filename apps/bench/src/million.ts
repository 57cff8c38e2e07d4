import { connect } from "@countersign/db/connect.ts";
import { readConfig } from "./config.ts";
import { describeMachine } from "./machine.ts";
import { prepareOurs } from "./ours.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { measurePausedRuns } from "./paused-runs.ts";
import { writeResults } from "./results.ts";

const { pausedRuns, windowMs, environment } = readConfig();
const postgres = await startOwnPostgres();
try {
  const machine = await describeMachine(postgres.url);
  console.log(machine);
  const url = await postgres.createDatabase("bench_million");
  const sql = connect(url, { max: 1 });
  await sql`create extension pg_stat_statements`;
  await sql`create extension pg_walinspect`;
  await sql.end();
  await prepareOurs(url);
  const measured = await measurePausedRuns(url, pausedRuns, windowMs, environment, () =>
    postgres.dropDatabase("bench_million"),
  );
  console.log(`written to ${writeResults("million", { machine, measured })}`);
} finally {
  await postgres.remove();
}
