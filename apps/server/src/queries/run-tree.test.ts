import type { Queryable } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { givenGatedRun, makeWorld, type World } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import type { Actor } from "../auth.ts";
import { readRunTree, type TreePart } from "./run-tree.ts";

const { sql } = await testDatabase();

/** The lines of logs that this session looked at so far. */
async function linesLookedAt(session: Queryable): Promise<number> {
  const [row] = await session<{ n: number }[]>`
    select (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int as n from pg_stat_xact_user_tables where relname = 'run_log'`;
  return row?.n ?? 0;
}

test("a part of a run of 200,000 lines is read without looking at the rest, wherever it is", async () => {
  const world = await makeWorld(sql);
  const { runId, callId } = await givenGatedRun(sql, world);
  const count = 200_000;
  await sql`
    insert into run_log (run_id, seq, kind, call_id, content)
    select ${runId}, last_seq + n, 'call.noted', case when n % 2 = 0 then ${callId}::uuid end, '"x"'
      from runs, generate_series(1, ${count}::int) n where id = ${runId}`;
  await sql`update runs set last_seq = last_seq + ${count} where id = ${runId}`;
  await sql`analyze run_log`;
  const parts: readonly TreePart[] = [
    { after: 0 },
    { after: count / 2 },
    { before: count / 2 },
    { before: 2_000_000_000 },
    { around: callId },
  ];
  for (const part of parts) {
    const { read, looked } = await transaction(sql, async (tx) => {
      const before = await linesLookedAt(tx);
      const found = await readRunTree(tx, { actor: viewerOf(world), runId, part, limit: 100 });
      return { read: found, looked: (await linesLookedAt(tx)) - before };
    });
    expect(read !== "closed" && read?.entries, JSON.stringify(part)).toHaveLength(100);
    expect(looked, JSON.stringify(part)).toBeLessThan(15_000);
  }
});

function viewerOf({ workspaceId, viewer }: World): Actor {
  return {
    userId: viewer,
    name: "Vic Viewer",
    role: "viewer",
    workspaceId,
    tokenId: viewer,
    mayDecide: false,
    isSession: false,
    isService: false,
    via: undefined,
  };
}
