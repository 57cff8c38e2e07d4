import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { commitWithin } from "@countersign/engine/commit.ts";
import { decideApproval } from "@countersign/engine/commits/decide-approval.ts";
import { claimRuns } from "@countersign/engine/commits/claim-runs.ts";
import { killScope } from "@countersign/engine/commits/kill-scope.ts";
import { renewLeases } from "@countersign/engine/commits/renew-leases.ts";
import { steerRun } from "@countersign/engine/commits/steer-run.ts";
import {
  aDecision,
  aSteer,
  claimRun,
  givenGatedRun,
  givenRun,
  makeWorld,
} from "@countersign/engine/testing/fixtures.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { putTask } from "@countersign/ops/tasks.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { mostChanges, readChanges, readSnapshot } from "./read-changes.ts";

const { sql } = await testDatabase();

/** The ids that one step changed. */
async function changedBy(
  step: () => Promise<unknown>,
): Promise<{ runs: string[]; tasks: string[]; policies: string[] }> {
  const before = await readSnapshot(sql);
  await step();
  const { runs, tasks, policies } = await readChanges(sql, before);
  const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
  return { runs: ids(runs), tasks: ids(tasks), policies: ids(policies) };
}

test("every change that people see is found: start, claim, card, decision, steer, task, switch", async () => {
  const world = await makeWorld(sql);
  let runId = "";
  expect(await changedBy(async () => (runId = await givenRun(sql, world)))).toMatchObject({ runs: [runId], tasks: [] });
  expect(await changedBy(() => claimRun(sql, runId))).toMatchObject({ runs: [runId] });

  let given: Awaited<ReturnType<typeof givenGatedRun>> | undefined;
  const opened = await changedBy(async () => (given = await givenGatedRun(sql, world)));
  expect(opened.runs).toEqual([given?.runId]);
  expect(opened.tasks).toHaveLength(1);
  if (given === undefined) return;
  const asked = given;
  const decided = await changedBy(() => commitWithin(sql, decideApproval, aDecision(world, asked)));
  expect(decided).toEqual({ runs: [asked.runId], tasks: opened.tasks, policies: [] });
  expect(await changedBy(() => commitWithin(sql, steerRun, aSteer(world, asked.runId)))).toMatchObject({
    runs: [asked.runId],
  });

  const { workspaceId } = world;
  const made = await changedBy(() =>
    putTask(sql, { workspaceId, title: "a task", section: "today", createdBy: `user:${world.operator}` }),
  );
  expect(made.tasks).toHaveLength(1);
  const scope = { scope: "workspace", scopeId: workspaceId, workspaceId } as const;
  expect((await changedBy(() => killScope(sql, scope, world.admin, "test"))).policies).toEqual([workspaceId]);
});

test("a lease that is renewed is nobody's business", async () => {
  const world = await makeWorld(sql);
  const runId = await givenRun(sql, world);
  const hold = await claimRun(sql, runId);
  expect(await changedBy(() => renewLeases(sql, [hold], 60_000))).toEqual({ runs: [], tasks: [], policies: [] });
  const idle = { worker: "other", leaseMs: 1_000, limit: 10, held: [], tools: new Map() };
  expect(await changedBy(() => claimRuns(sql, idle, () => undefined))).toMatchObject({ runs: [] });
});

test("UI26: whatever the order of commits, a reader that goes on from its last snapshot gets each change once", async () => {
  const world = await makeWorld(sql);
  const runs = await Promise.all(Array.from({ length: 4 }, () => givenRun(sql, world)));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ run: fc.nat(3), ends: fc.nat(9) }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(9), { minLength: 1, maxLength: 6 }),
      async (writers, looks) => {
        let since = await readSnapshot(sql);
        const told: string[] = [];
        const committed: string[] = [];
        const open: { at: number; end: () => Promise<void> }[] = [];
        // No two writers wait for each other, and each takes its number before any of them commits.
        const distinct = [...new Map(writers.map((writer) => [writer.run, writer])).values()];
        for (const { run, ends } of distinct) {
          const written = Promise.withResolvers<void>();
          const go = Promise.withResolvers<void>();
          const done = transaction(sql, async (tx) => {
            await tx.unsafe("update runs set last_seq = last_seq + 1 where id = $1::uuid", [runs[run] ?? ""]);
            written.resolve();
            await go.promise;
          });
          await written.promise;
          open.push({
            at: ends,
            async end() {
              go.resolve();
              await done;
              committed.push(runs[run] ?? "");
            },
          });
        }
        for (let moment = 0; moment <= 9; moment += 1) {
          for (const writer of open) if (writer.at === moment) await writer.end();
          if (!looks.includes(moment)) continue;
          const changes = await readChanges(sql, since);
          told.push(...changes.runs.map(({ id }) => id));
          since = changes.snapshot;
        }
        told.push(...(await readChanges(sql, since)).runs.map(({ id }) => id));
        expect(told.toSorted()).toEqual(committed.toSorted());
      },
    ),
    { numRuns: 25 },
  );
});

test("more changes than are told one by one, and a snapshot this database never gave, count as too much", async () => {
  const world = await makeWorld(sql);
  const before = await readSnapshot(sql);
  await sql`
    insert into tasks (id, workspace_id, kind, status, section, title, created_by)
    select gen_random_uuid(), ${world.workspaceId}, 'task', 'open', 'today', 'many', 'system' from generate_series(1, ${mostChanges + 1})`;
  expect(await readChanges(sql, before)).toMatchObject({ isTooMuch: true, tasks: [] });
  expect(await readChanges(sql, "900000000000:900000000000:")).toMatchObject({ isTooMuch: true });
  expect((await readChanges(sql, "1:1:")).isTooMuch).toBe(true);
});

test("a look costs two scans of an index, however long the tables are", async () => {
  await sql`analyze tasks`;
  const since = await readSnapshot(sql);
  const plan = await sql.unsafe<{ "QUERY PLAN": string }[]>(
    `explain (analyze, costs off) select id from tasks where changed >= pg_snapshot_xmax($1::pg_snapshot) order by changed limit 2001`,
    [since],
  );
  const text = plan.map((row) => row["QUERY PLAN"]).join("\n");
  expect(text).toContain("tasks_changed");
  expect(text).not.toContain("Seq Scan");
});
