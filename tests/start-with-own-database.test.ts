import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { afterAll, expect, test } from "vitest";
import { startDev } from "./support/countersign.ts";
import { repositoryRoot } from "./support/repository.ts";
import { runVerb } from "./support/verb.ts";

const { sql, url } = await testDatabase();
const dataDir = await mkdtemp(join(repositoryRoot, ".test-data", "own-database-"));
afterAll(async () => await rm(dataDir, { recursive: true, force: true }));

const tokens = async () =>
  await sql<{ isRevoked: boolean; hours: number }[]>`
    select revoked_at is not null                                              as "isRevoked",
           round(extract(epoch from expires_at - created_at) / 3600)::int as hours
      from tokens where label = 'countersign dev' order by created_at`;

test("a start with a workspace of one's own writes nothing of the demo's, and its token ends with it", async () => {
  const environment = { DATABASE_URL: url, COUNTERSIGN_DATA: dataDir };
  expect(await runVerb(environment, ["init", "--workspace", "Acme", "--admin", "Ada"])).toMatchObject({ code: 0 });
  for (const started of [1, 2]) {
    const dev = startDev(dataDir, { DATABASE_URL: url });
    const ready = await dev.event("ready");
    expect(ready).toMatchObject({ isDemo: false, tasks: [] });
    expect(ready["example"]).toBeUndefined();
    expect(await runVerb({ COUNTERSIGN_DATA: dataDir }, ["defs", "ls"])).toMatchObject({ code: 0 });
    expect((await tokens()).at(-1)).toEqual({ isRevoked: false, hours: 24 });
    // The first one is not stopped in order: the next start revokes what it left.
    if (started === 2) expect(await dev.interrupt()).toBe(0);
    else {
      const gone = new Promise((done) => dev.process.once("close", done));
      process.kill(dev.process.pid ?? 0, "SIGKILL");
      await gone;
    }
  }
  expect(await tokens()).toEqual([
    { isRevoked: true, hours: 24 },
    { isRevoked: true, hours: 24 },
  ]);
  expect(await sql`select name from secrets`).toEqual([]);
  expect(await sql`select from definitions`).toHaveLength(0);
  expect(await sql`select from runs`).toHaveLength(0);
  expect(
    await sql`select action from audit where action like 'token.%' and details->>'way' = 'countersign dev' order by id`,
  ).toMatchObject([
    { action: "token.created" },
    { action: "token.revoked" },
    { action: "token.created" },
    { action: "token.revoked" },
  ]);
});
