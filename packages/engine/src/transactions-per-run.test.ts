import type { Queryable } from "@countersign/db/connect.ts";
import { beforeAll, expect, test } from "vitest";
import { v7 as uuidv7 } from "uuid";
import { commitWithin } from "./commit.ts";
import { recordTurn } from "./commits/record-turn.ts";
import { startRun } from "./commits/start-run.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { aGatedCall, aTurn, makeWorld } from "./testing/fixtures.ts";
import { claimAll, driveGatedRuns } from "./testing/gated-runs.ts";

const { sql } = await engineDatabase();

const written = ["runs", "run_log", "tool_calls", "approvals", "tasks", "audit", "capability_leases", "steers"];

beforeAll(async () => {
  // Transaction ids are the whole server's, and other tests use it too: so each write says which transaction it is of.
  await sql.unsafe(`
    create table write_transactions (id xid8 primary key);
    create function note_transaction() returns trigger language plpgsql as $$
    begin
      insert into write_transactions values (pg_current_xact_id()) on conflict do nothing;
      return null;
    end $$;
    ${written.map((table) => `create trigger note_transaction after insert or update or delete on ${table} for each statement execute function note_transaction();`).join("\n")}`);
});

/** The pool, with every statement that goes through it counted. */
function counting(): { on: Queryable; statements: string[] } {
  const statements: string[] = [];
  const unsafe: Queryable["unsafe"] = (query, ...rest) => {
    statements.push(query);
    return sql.unsafe(query, ...rest);
  };
  return { on: Object.assign(Object.create(sql) as Queryable, { unsafe }), statements };
}

test.each([1, 20])("%i gated runs at once are seven write transactions, one statement each", async (count) => {
  const world = await makeWorld(sql);
  await sql`truncate write_transactions`;
  const { on, statements } = counting();
  const runIds = await driveGatedRuns(on, world, count);
  const ended =
    await sql`select status, count(*)::int as n from runs where id = any (${runIds}::uuid[]) group by status`;
  expect(ended).toEqual([{ status: "completed", n: count }]);
  const [row] = await sql`select count(*)::int as n from write_transactions`;
  expect(row?.n).toBe(7);
  expect(statements.map((statement) => /from (\w+)\(/.exec(statement)?.[1])).toEqual([
    "start_run",
    "claim_runs",
    "record_turn",
    "decide_approval",
    "claim_runs",
    "complete_call",
    "record_turn",
  ]);
});

test("a paused run holds nothing: no lease, no deadline, no lock, and no connection works or waits for it", async () => {
  const world = await makeWorld(sql);
  const { on } = counting();
  const start = {
    runId: uuidv7(),
    workspaceId: world.workspaceId,
    definitionId: world.definitionId,
    definitionVersion: 1,
    startedBy: world.operator,
    title: "a run",
    input: '"please"',
    grants: [],
  };
  await commitWithin(on, startRun, start);
  const [hold] = await claimAll(on);
  if (hold === undefined) throw new Error("the run was not claimed");
  await commitWithin(on, recordTurn, aTurn(hold, { calls: [aGatedCall()] }));
  const [run] = await sql`select status, lease_id, lease_until, ready_at, wake_at from runs where id = ${start.runId}`;
  expect(run).toEqual({ status: "paused", lease_id: null, lease_until: null, ready_at: null, wake_at: null });
  const [server] = await sql`
    select (select count(*)::int from pg_stat_activity
             where datname = current_database() and backend_type = 'client backend' and state <> 'idle' and pid <> pg_backend_pid()) as busy,
           (select count(*)::int from pg_locks l
             where l.database = (select oid from pg_database where datname = current_database())
               and l.locktype in ('tuple', 'advisory')) as locks`;
  expect(server).toEqual({ busy: 0, locks: 0 });
});
