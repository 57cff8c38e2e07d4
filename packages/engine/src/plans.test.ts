import { connect } from "@countersign/db/connect.ts";
import { expect, onTestFinished, test } from "vitest";
import { engineDatabase } from "./testing/engine-database.ts";
import { makeWorld } from "./testing/fixtures.ts";
import { driveGatedRuns } from "./testing/gated-runs.ts";

const { url, sql } = await engineDatabase();

/** The rows of the engine's tables that were looked at so far. */
async function rowsRead(): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::float as n from pg_stat_user_tables
     where relname in ('runs', 'run_log', 'tool_calls', 'approvals', 'tasks', 'steers', 'capability_leases')`;
  return row?.n ?? Number.NaN;
}

test("what the commits of a batch read does not grow with the tables, though a session planned them while these were empty", async () => {
  const world = await makeWorld(sql);
  await sql.unsafe("vacuum analyze").simple();
  const session = connect(url, { max: 1 });
  onTestFinished(() => session.end());
  const read: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    const before = await rowsRead();
    await driveGatedRuns(session, world, 40);
    await session`select pg_stat_force_next_flush()`;
    read.push((await rowsRead()) - before);
  }
  const [, first = 0] = read;
  expect(first).toBeGreaterThan(0);
  // The least of some rounds: an autovacuum that comes by is counted with the round it met.
  expect(Math.min(...read.slice(-4))).toBeLessThan(first * 1.1);
});
