import type { Queryable } from "@countersign/db/connect.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { killScope } from "@countersign/engine/commits/kill-scope.ts";
import { givenRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import type { Run } from "../shapes/runs.ts";
import { readRuns } from "./runs.ts";

const { sql } = await testDatabase();

/** The rows of runs that this session looked at so far. */
async function rowsLookedAt(session: Queryable): Promise<number> {
  const [row] = await session<{ n: number }[]>`
    select (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int as n from pg_stat_xact_user_tables where relname = 'runs'`;
  return row?.n ?? 0;
}

/** The ids of a first page, and how many rows were looked at for it. */
async function firstPage(world: World, status?: Run["status"]) {
  return await transaction(sql, async (session) => {
    const before = await rowsLookedAt(session);
    const runs = await readRuns(session, { workspaceId: world.workspaceId, status, cursorId: undefined, limit: 20 });
    return { ids: runs.map(({ id }) => id), looked: (await rowsLookedAt(session)) - before };
  });
}

/** The planner looks at the ends of an index too. */
const isFew = (looked: number): boolean => looked < 10;

/** Many runs like the given one, newer than all. */
async function givenMany(like: string, status: Run["status"], count: number): Promise<void> {
  await sql`
    insert into runs
    select (jsonb_populate_record(r, jsonb_build_object(
             'id', overlay(gen_random_uuid()::text placing 'ffff' from 1), 'status', ${status}::text, 'ready_at', null, 'start_key', null,
             'waits_on', case when ${status}::text = 'paused' then 'message' end, 'parked_on', null))).*
      from runs r, generate_series(1, ${count}::int) where r.id = ${like}`;
  await sql`analyze runs`;
}

test("UI28: a page of a rare status among many runs takes as many rows as it shows, whatever the others are", async () => {
  const world = await makeWorld(sql);
  const rare = await givenRun(sql, world);
  for (const status of ["completed", "failed", "paused"] as const) await givenMany(rare, status, 5_000);
  expect(await firstPage(world, "queued")).toEqual({ ids: [rare], looked: expect.toSatisfy(isFew) });
  expect(await firstPage(world, "canceled")).toEqual({ ids: [], looked: expect.toSatisfy(isFew) });
  for (const status of ["completed", "failed", "paused", undefined] as const) {
    const { ids, looked } = await firstPage(world, status);
    expect(ids).toHaveLength(21);
    expect(looked).toBeLessThan(200);
  }
});

test("UI28: nor does a kill switch make a list walk through what reads as another status", async () => {
  const world = await makeWorld(sql);
  const queued = await givenRun(sql, world);
  for (const status of ["completed", "queued"] as const) await givenMany(queued, status, 5_000);
  const { workspaceId } = world;
  await killScope(sql, { scope: "workspace", scopeId: workspaceId, workspaceId }, world.admin, "a drill");
  const paused = await firstPage(world, "paused");
  expect(paused.ids).toHaveLength(21);
  expect(paused.looked).toBeLessThan(200);
  expect(await firstPage(world, "queued")).toEqual({ ids: [], looked: expect.toSatisfy(isFew) });
});
