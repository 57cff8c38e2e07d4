import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { importFolder } from "./import-folder.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();

test("a first import tells the planner how large its tables have become", async () => {
  for (const table of ["pages", "nodes"]) await sql.unsafe(`alter table ${table} set (autovacuum_enabled = off)`);
  const me = await newWorkspace(sql);
  const folder = await mkdtemp(join(tmpdir(), "countersign-grown-"));
  try {
    const names = Array.from({ length: 300 }, (_, n) => `page-${n}.md`);
    await Promise.all(names.map((name) => writeFile(join(folder, name), "- one\n- two\n")));
    await importFolder(sql, { ...me, folder });
    const known = await sql<{ relname: string; reltuples: number }[]>`
      select relname, reltuples from pg_class where oid in ('pages'::regclass, 'nodes'::regclass) order by relname desc`;
    expect(known.map(({ relname }) => relname)).toEqual(["pages", "nodes"]);
    expect(known[0]?.reltuples).toBeGreaterThan(90);
    expect(known[1]?.reltuples).toBeGreaterThan(180);
  } finally {
    await rm(folder, { recursive: true });
  }
});
