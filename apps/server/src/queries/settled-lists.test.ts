import type { Sql } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { givenGatedRun, makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { moveDeadlines } from "@countersign/engine/testing/rows.ts";
import { expect, test } from "vitest";
import { listApprovals, readApprovals } from "./approvals.ts";
import { listTasks } from "./tasks.ts";

const { sql } = await testDatabase();

/** The rows of runs, calls, approvals and tasks that this session looked at so far. */
async function rowsLookedAt(session: Sql | Parameters<typeof readApprovals>[0]): Promise<number> {
  const [row] = await session.unsafe<{ n: number }[]>(
    `select sum(coalesce(idx_tup_fetch, 0) + seq_tup_read)::int as n from pg_stat_xact_user_tables
      where relname in ('runs', 'tool_calls', 'approvals', 'tasks')`,
  );
  return row?.n ?? 0;
}

/** What `list` finds, and how many rows were looked at for it. */
async function looked(list: (tx: Parameters<typeof listTasks>[0]) => Promise<readonly { id: string }[]>) {
  return await transaction(sql, async (tx) => {
    const before = await rowsLookedAt(tx);
    const found = await list(tx);
    return { ids: found.map(({ id }) => id), rows: (await rowsLookedAt(tx)) - before };
  });
}

/** So many waiting cards beside the given one, of runs of their own that wait alike. */
async function givenManyWaiting(runId: string, count: number): Promise<void> {
  await sql`
    with ids as (select uuidv7() as run, uuidv7() as call, uuidv7() as approval, uuidv7() as task from generate_series(1, ${count}::int)),
    runs_made as (
      insert into runs
      select (jsonb_populate_record(r, jsonb_build_object('id', i.run, 'root_id', i.run, 'start_key', null))).*
        from ids i, runs r where r.id = ${runId}),
    calls_made as (
      insert into tool_calls
      select (jsonb_populate_record(c, jsonb_build_object('id', i.call, 'run_id', i.run, 'approval_id', i.approval))).*
        from ids i, tool_calls c where c.run_id = ${runId}),
    approvals_made as (
      insert into approvals
      select (jsonb_populate_record(a, jsonb_build_object(
               'id', i.approval, 'run_id', i.run, 'call_id', i.call, 'task_id', i.task, 'args_hash', i.approval::text))).*
        from ids i, approvals a where a.run_id = ${runId})
    insert into tasks
    select (jsonb_populate_record(t, jsonb_build_object('id', i.task, 'run_id', i.run, 'approval_id', i.approval))).*
      from ids i, tasks t where t.run_id = ${runId}`;
  for (const table of ["runs", "tool_calls", "approvals", "tasks"]) await sql.unsafe(`analyze ${table}`);
}

test("UI28: every list of cards takes as many rows as it shows, whatever waits beside it", async () => {
  const world = await makeWorld(sql);
  const { workspaceId } = world;
  const late = await givenGatedRun(sql, world, { expiresMs: 60_000 });
  const one = await givenGatedRun(sql, world);
  await givenManyWaiting(one.runId, 6_000);
  await moveDeadlines(sql, late.runId, -1_000);
  const page = { workspaceId, cursorId: undefined, limit: 20 };
  const few = 150;

  for (const status of ["approved", "denied", "canceled"] as const) {
    const { ids, rows } = await looked((tx) => listApprovals(tx, { ...page, status }));
    expect(ids).toEqual([]);
    expect(rows).toBeLessThan(few);
  }
  const overdue = await looked((tx) => listApprovals(tx, { ...page, status: "expired" }));
  expect(overdue).toEqual({ ids: [late.approvalId], rows: expect.toSatisfy((rows: number) => rows < few) });

  for (const status of ["done", "dismissed"] as const) {
    const { ids, rows } = await looked((tx) => listTasks(tx, { ...page, section: undefined, status }));
    expect(ids).toEqual([]);
    expect(rows).toBeLessThan(few);
  }
  const card = await looked((tx) => listTasks(tx, { ...page, section: undefined, status: "expired" }));
  expect(card.ids).toHaveLength(1);
  expect(card.rows).toBeLessThan(few);

  // Each card shown asks for its run, its call, its policy and its like.
  const waiting = await looked((tx) => listApprovals(tx, { ...page, status: "pending" }));
  expect(waiting.ids).toHaveLength(21);
  expect(waiting.rows).toBeLessThan(21 * 12);
  const queue = await looked((tx) => listTasks(tx, { ...page, section: undefined, status: "open" }));
  expect(queue.ids).toHaveLength(21);
  expect(queue.rows).toBeLessThan(21 * 24);
});
