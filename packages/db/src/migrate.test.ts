import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { connect } from "./connect.ts";
import { migrate } from "./migrate.ts";
import { testDatabase } from "./testing/test-database.ts";

const { url } = await testDatabase();
const base = connect(url, { max: 4 });
const rootDir = mkdtempSync(join(tmpdir(), "countersign-migrate-"));
const options = { rootDir, functionDirs: [join(rootDir, "sql"), join(rootDir, "commits")] };
afterAll(async () => {
  await base.end({ timeout: 1 });
  rmSync(rootDir, { recursive: true });
});

beforeEach(async () => {
  await base.unsafe("drop schema public cascade; create schema public");
  rmSync(rootDir, { recursive: true });
  for (const dir of ["migrations", "sql", "commits"]) mkdirSync(join(rootDir, dir), { recursive: true });
  write("migrations/0001_one.sql", "create table one (n int);");
  write("migrations/0002_two.sql", "create table two (n int);");
  write("sql/zero.sql", functionText("zero", "return 0;"));
  write("commits/ask.sql", functionText("ask", "return zero();"));
});

function write(name: string, text: string): void {
  writeFileSync(join(rootDir, name), text);
}

function functionText(name: string, body: string): string {
  return `-- What it does.\ncreate or replace function ${name}() returns int language plpgsql as $$\nbegin\n  ${body}\nend $$;\n`;
}

async function tables(): Promise<string[]> {
  const rows = await base<
    { name: string }[]
  >`select tablename as name from pg_tables where schemaname = 'public' order by 1`;
  return rows.map((row) => row.name);
}

test("an empty database gets every migration and every function, a second time nothing", async () => {
  expect(await migrate(base, options)).toEqual({
    applied: ["0001_one.sql", "0002_two.sql"],
    functions: ["sql/zero.sql", "commits/ask.sql"],
  });
  expect(await tables()).toEqual(["functions", "migrations", "one", "two"]);
  expect(await base`select ask()`).toMatchObject([{ ask: 0 }]);
  expect(await migrate(base, options)).toEqual({ applied: [], functions: [] });
});

test("a new migration and a changed function are all that the next start applies", async () => {
  await migrate(base, options);
  write("migrations/0003_three.sql", "create table three (n int);");
  write("commits/ask.sql", functionText("ask", "return 42;"));
  expect(await migrate(base, options)).toEqual({ applied: ["0003_three.sql"], functions: ["commits/ask.sql"] });
  expect(await base`select ask()`).toMatchObject([{ ask: 42 }]);
});

test("two processes that start at once migrate once", async () => {
  const results = await Promise.all([migrate(base, options), migrate(base, options), migrate(base, options)]);
  expect(results.flatMap((result) => result.applied)).toHaveLength(2);
  expect(results.flatMap((result) => result.functions)).toHaveLength(2);
});

test("a broken migration names its line and nothing of the start stays", async () => {
  write("migrations/0002_two.sql", "create table two (n int);\n\ncreate tabel three (n int);\n");
  const attempt = migrate(base, options);
  await expect(attempt).rejects.toMatchObject({ name: "MigrationRefusal", code: "broken_file" });
  await expect(attempt).rejects.toThrow(/^0002_two\.sql:3: syntax error at or near "tabel"/);
  expect(await tables()).toEqual([]);
});

test("a broken function names its file and line and takes the migrations of its start with it", async () => {
  write("commits/ask.sql", functionText("ask", "retrun 1;"));
  await expect(migrate(base, options)).rejects.toThrow(/^commits\/ask\.sql:4: syntax error at or near "retrun"/);
  expect(await tables()).toEqual([]);
});

test("a function may call one of a later file, also in plain SQL", async () => {
  write("sql/early.sql", "create or replace function early() returns int language sql as $$ select zero() $$;");
  await migrate(base, options);
  expect(await base`select early()`).toMatchObject([{ early: 0 }]);
});

test("a plain SQL function that calls what does not exist is refused at the start, not at its first call", async () => {
  write("sql/early.sql", "create or replace function early() returns int language sql as $$ select nothing() $$;");
  await expect(migrate(base, options)).rejects.toThrow(/^sql\/early\.sql:1: function nothing\(\) does not exist/);
});

test("a migration changed after it was applied is refused", async () => {
  await migrate(base, options);
  write("migrations/0001_one.sql", "create table one (n bigint);");
  const attempt = migrate(base, options);
  await expect(attempt).rejects.toMatchObject({ code: "changed" });
  await expect(attempt).rejects.toThrow("0001_one.sql was changed after it had been applied");
});

test("other line ends are not a change", async () => {
  write("migrations/0001_one.sql", "create table one\n(n int);\n");
  await migrate(base, options);
  write("migrations/0001_one.sql", "create table one\r\n(n int);\r\n");
  expect(await migrate(base, options)).toEqual({ applied: [], functions: [] });
});

test("an applied migration whose file is missing is refused", async () => {
  await migrate(base, options);
  rmSync(join(rootDir, "migrations/0001_one.sql"));
  await expect(migrate(base, options)).rejects.toMatchObject({ code: "missing" });
});

test("an older program accepts a newer database and leaves its functions alone", async () => {
  write("migrations/0003_three.sql", "create table three (n int);");
  write("commits/ask.sql", functionText("ask", "return 42;"));
  await migrate(base, options);
  rmSync(join(rootDir, "migrations/0003_three.sql"));
  write("commits/ask.sql", functionText("ask", "return 1;"));
  expect(await migrate(base, options)).toEqual({ applied: [], functions: [] });
  expect(await base`select ask()`).toMatchObject([{ ask: 42 }]);
});

test("a migration that comes before one already applied is refused: it must take a later number", async () => {
  write("migrations/0004_four.sql", "select 1;");
  await migrate(base, options);
  write("migrations/0003_three.sql", "select 1;");
  const attempt = migrate(base, options);
  await expect(attempt).rejects.toMatchObject({ code: "out_of_order" });
  await expect(attempt).rejects.toThrow("0003_three.sql comes before 0004_four.sql");
});

test.each(["3_short.sql", "0003-dash.sql", "0002_same_number.sql"])("the name %s is refused", async (name) => {
  write(`migrations/${name}`, "select 1;");
  await expect(migrate(base, options)).rejects.toMatchObject({ code: "bad_name" });
});

test("a migration that commits on its own is named", async () => {
  write("migrations/0002_two.sql", "create table two (n int); commit; create table four (n int);");
  await expect(migrate(base, options)).rejects.toThrow("0002_two.sql ends the transaction it runs in");
});
