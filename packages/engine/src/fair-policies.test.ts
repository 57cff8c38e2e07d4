import { transaction } from "@countersign/db/transaction.ts";
import { expect, test } from "vitest";
import { killScope } from "./commits/kill-scope.ts";
import { setRules } from "./commits/set-rules.ts";
import { engineDatabase } from "./testing/engine-database.ts";
import { givenRun, makeWorld } from "./testing/fixtures.ts";
import { authorOf, scopeOf, toolRule } from "./testing/policy.ts";

const { sql, elsewhere } = await engineDatabase();

test.each(["a kill switch", "a rule"])(
  "AZ69: %s waits for what is just beginning, and never for all that begins after it",
  async (what) => {
    const world = await makeWorld(sql);
    const runIds = await Promise.all(Array.from({ length: 8 }, () => givenRun(sql, world)));
    let isOver = false;
    let begun = 0;
    // Eight that begin something all the time, so that at every moment some hold the policy still.
    const beginning = runIds.map(async (runId) => {
      while (!isOver) {
        await transaction(elsewhere, async (tx) => {
          await tx`select lock_policies(array[${runId}::uuid])`;
          await tx`select pg_sleep(0.02)`;
        });
        begun += 1;
      }
    });
    await expect.poll(() => begun).toBeGreaterThan(8);
    const before = begun;
    const scope = scopeOf(world, "workspace");
    if (what === "a rule") await setRules(sql, scope, authorOf(world), [toolRule("act", "deny")]);
    else await killScope(sql, scope, world.admin, "stop");
    const meanwhile = begun - before;
    isOver = true;
    await Promise.all(beginning);
    expect(meanwhile).toBeLessThanOrEqual(16);
  },
);
