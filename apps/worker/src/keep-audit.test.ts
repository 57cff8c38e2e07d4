import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appendAudit } from "@countersign/broker/append-audit.ts";
import { loadOrMakeAuditKey } from "@countersign/broker/audit-key.ts";
import { auditHeadFile, readHeadFile } from "@countersign/broker/head-file.ts";
import { verifyAudit } from "@countersign/broker/verify-audit.ts";
import { makeWorkspace } from "@countersign/broker/testing/fixtures.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { until } from "@countersign/engine/testing/driver.ts";
import { expect, onTestFinished, test } from "vitest";
import { keepAudit } from "./keep-audit.ts";
import { repeat } from "./repeat.ts";

const { sql } = await testDatabase();

test("rows are sealed soon, all that wait one after the other, and the heads lie in the data folder", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-audit-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const key = await loadOrMakeAuditKey(dataDir);
  const workspaceId = await makeWorkspace(sql);
  await sql`
    insert into audit (workspace_id, actor, action) select ${workspaceId}, 'system', 'test.made' from generate_series(1, 2500)`;
  const failures: unknown[] = [];
  const keeping = keepAudit({
    sql,
    key,
    dataDir,
    sealMs: 50,
    headMs: 50,
    onFailure: (what, error) => failures.push([what, error]),
  });
  const sealed = async (): Promise<number> =>
    (await sql`select from audit_chain where workspace_id = ${workspaceId}`).length;
  await until(async () => (await sealed()) === 2_500);
  await appendAudit(sql, { workspaceId, actor: "system", action: "test.made" });
  await until(async () => (await readHeadFile(join(dataDir, auditHeadFile))).heads.some(({ seq }) => seq === 2_501));
  await keeping.stop();

  await appendAudit(sql, { workspaceId, actor: "system", action: "test.made" });
  const { heads } = await readHeadFile(join(dataDir, auditHeadFile));
  expect(await verifyAudit(sql, key, heads)).toMatchObject({ isSound: true, sealed: 2_501, unsealed: 1 });
  expect((await readFile(join(dataDir, auditHeadFile), "utf8")).endsWith("\n")).toBe(true);
  expect(failures).toEqual([]);
});

test("what fails is told and done again, and after the stop nothing is done any more", async () => {
  const told: unknown[] = [];
  let times = 0;
  const done = Promise.withResolvers<void>();
  const repeated = repeat(
    1,
    async () => {
      times += 1;
      if (times === 1) throw new Error("once");
      if (times === 2) return "again";
      done.resolve();
      return "later";
    },
    (error) => told.push((error as Error).message),
  );
  await done.promise;
  await repeated.stop();
  const before = times;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([told, times]).toEqual([["once"], before]);
});
