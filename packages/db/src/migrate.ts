import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import postgres from "postgres";
import type { Sql, Tx } from "./connect.ts";
import { transaction } from "./transaction.ts";
import { Refusal } from "./refusal.ts";

export type MigrateOptions = {
  /** The folder of `NNNN_name.sql`. */
  migrationsDir?: string;
  /** Folders of `create or replace function` files, in the order in which they are created. */
  functionDirs?: readonly string[];
  /** What the names in table `functions` are relative to. */
  rootDir?: string;
};

/** The names of the migrations and functions that were run, in their order. */
export type MigrateResult = { applied: string[]; functions: string[] };

/** What is wrong: with a file that was applied before, or with one that is to be. */
export type MigrationRefusalCode = "changed" | "missing" | "out_of_order" | "bad_name" | "broken_file";

/** The database was left as it was; the message names the file and what to do. */
export class MigrationRefusal extends Refusal {
  override readonly name = "MigrationRefusal";
  readonly code: MigrationRefusalCode;
  constructor(code: MigrationRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type SqlFile = { name: string; text: string; sha256: string };

const repositoryRoot = join(import.meta.dirname, "../../..");
const engineDirs = ["packages/engine/src/sql", "packages/engine/src/commits"];
const advisoryLock = 7_226_193_104; // Any number, the same in every version of the program.

/**
 * Brings the database to the state of this program's files: migrations not yet applied, then SQL functions whose text
 * changed, all in one transaction under an advisory lock, so two processes that boot together migrate once. Answers
 * what it did. A database that a newer program has migrated is accepted as it is and its functions are left alone.
 * Throws MigrationRefusal, and then nothing has changed. Needs a direct connection or a pooler's, nothing session-wide.
 */
export async function migrate(sql: Sql, options: MigrateOptions = {}): Promise<MigrateResult> {
  const { migrations, functions } = readProgram(options);

  return transaction(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${advisoryLock})`;
    await tx.unsafe(`
      create table if not exists migrations (name text primary key, sha256 text not null, applied_at timestamptz not null default now());
      create table if not exists functions  (name text primary key, sha256 text not null, created_at timestamptz not null default now());
    `);
    const known = await tx<{ name: string; sha256: string }[]>`select name, sha256 from migrations order by name`;
    const { pending, isNewerThanProgram } = compareMigrations(migrations, known);
    for (const file of pending) {
      await runFile(tx, file);
      await tx`insert into migrations (name, sha256) values (${file.name}, ${file.sha256})`;
    }
    const replaced = isNewerThanProgram ? [] : await replaceFunctions(tx, functions);
    return { applied: pending.map((file) => file.name), functions: replaced.map((file) => file.name) };
  });
}

/**
 * The names of this program's migrations, then of its SQL functions, that the database has not got; `undefined` where
 * `migrate` was never at it. Empty for a database that a newer program has migrated. Reads only.
 */
export async function findMissing(sql: Sql, options: MigrateOptions = {}): Promise<string[] | undefined> {
  const [has] = await sql<[{ tables: boolean }]>`
    select to_regclass('workspaces') is not null and to_regclass('functions') is not null as tables`;
  if (!has.tables) return undefined;
  const { migrations, functions } = readProgram(options);
  const applied = await sql<{ name: string }[]>`select name from migrations`;
  const lastOfProgram = migrations.at(-1)?.name ?? "";
  if (applied.some(({ name }) => name > lastOfProgram)) return [];
  const created = await sql<{ name: string }[]>`select name from functions`;
  const names = new Set([...applied, ...created].map(({ name }) => name));
  return [...migrations, ...functions].flatMap(({ name }) => (names.has(name) ? [] : [name]));
}

function readProgram(options: MigrateOptions): { migrations: SqlFile[]; functions: SqlFile[] } {
  const rootDir = options.rootDir ?? repositoryRoot;
  const functionDirs = options.functionDirs ?? engineDirs.map((dir) => join(rootDir, dir));
  return {
    migrations: readMigrations(options.migrationsDir ?? join(rootDir, "migrations")),
    functions: functionDirs.flatMap((dir) => readSqlFiles(dir, rootDir)),
  };
}

function compareMigrations(files: readonly SqlFile[], known: readonly { name: string; sha256: string }[]) {
  const fileNames = new Map(files.map((file) => [file.name, file]));
  const lastOfProgram = files.at(-1)?.name ?? "";
  for (const { name, sha256 } of known) {
    const file = fileNames.get(name);
    if (file === undefined && name < lastOfProgram) {
      throw new MigrationRefusal(
        "missing",
        `Migration ${name} was applied to this database, but the program has no such file. Restore the file, or start the program version that this database belongs to.`,
      );
    }
    if (file !== undefined && file.sha256 !== sha256) {
      throw new MigrationRefusal(
        "changed",
        `Migration ${name} was changed after it had been applied to this database (sha256 ${sha256.slice(0, 12)} then, ${file.sha256.slice(0, 12)} now). Restore the file and put the change into a new migration; a development database may be dropped instead.`,
      );
    }
  }
  const knownNames = new Set(known.map((row) => row.name));
  const lastApplied = known.at(-1)?.name ?? "";
  const pending = files.filter((file) => !knownNames.has(file.name));
  const late = pending.find((file) => file.name < lastApplied);
  if (late !== undefined) {
    throw new MigrationRefusal(
      "out_of_order",
      `Migration ${late.name} comes before ${lastApplied}, which this database already has. Give it a number after that one.`,
    );
  }
  return { pending, isNewerThanProgram: lastApplied > lastOfProgram };
}

async function replaceFunctions(tx: Tx, files: readonly SqlFile[]): Promise<SqlFile[]> {
  const known = await tx<{ name: string; sha256: string }[]>`select name, sha256 from functions`;
  const hashes = new Map(known.map((row) => [row.name, row.sha256]));
  const changed = files.filter((file) => hashes.get(file.name) !== file.sha256);
  // Twice: first unchecked, since a function may call one of a later file; then checked, now that all are there.
  for (const check of ["off", "on"]) {
    await tx.unsafe(`set local check_function_bodies = ${check}`);
    for (const file of changed) await runFile(tx, file);
  }
  for (const file of changed) {
    await tx`
      insert into functions (name, sha256) values (${file.name}, ${file.sha256})
      on conflict (name) do update set sha256 = excluded.sha256, created_at = now()`;
  }
  return changed;
}

async function runFile(tx: Tx, file: SqlFile): Promise<void> {
  const before = await currentTransaction(tx);
  try {
    await tx.unsafe(file.text);
  } catch (error) {
    throw new MigrationRefusal("broken_file", describeFailure(file, error), { cause: error });
  }
  if ((await currentTransaction(tx)) !== before) {
    throw new MigrationRefusal(
      "broken_file",
      `${file.name} ends the transaction it runs in. Remove its commit or rollback: all files are applied together.`,
    );
  }
}

async function currentTransaction(tx: Tx): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`select pg_current_xact_id()::text as id`;
  return row?.id;
}

function describeFailure(file: SqlFile, error: unknown): string {
  if (!(error instanceof postgres.PostgresError)) return `${file.name} could not be applied: ${String(error)}`;
  const position = Number(error.position);
  const line = position ? `:${file.text.slice(0, position - 1).split("\n").length}` : "";
  const more = [error.detail, error.hint, error.where].filter(Boolean).join(" · ");
  return `${file.name}${line}: ${error.message} (${error.code})${more ? ` · ${more}` : ""}. Nothing was changed; correct the file and start again.`;
}

function readMigrations(dir: string): SqlFile[] {
  const files = readSqlFiles(dir, dir);
  for (const [index, file] of files.entries()) {
    if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(file.name)) {
      throw new MigrationRefusal("bad_name", `Migration ${file.name} must be named like 0007_what_it_does.sql.`);
    }
    const next = files[index + 1];
    if (next?.name.slice(0, 4) === file.name.slice(0, 4)) {
      throw new MigrationRefusal("bad_name", `Migrations ${file.name} and ${next.name} have the same number.`);
    }
  }
  return files;
}

function readSqlFiles(dir: string, rootDir: string): SqlFile[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((name) => name.endsWith(".sql"))
    .toSorted()
    .map((name) => {
      const path = join(dir, name);
      // A checkout with Windows line ends is the same file.
      const text = readFileSync(path, "utf8").replaceAll("\r\n", "\n");
      return {
        name: relative(rootDir, path).replaceAll(sep, "/"),
        text,
        sha256: createHash("sha256").update(text).digest("hex"),
      };
    });
}
