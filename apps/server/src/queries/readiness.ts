import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Queryable } from "@countersign/db/connect.ts";

const migrationsDir = join(import.meta.dirname, "../../../../migrations");

/** The migrations this program needs, by name. They do not change while it runs. */
export function listMigrations(): readonly string[] {
  return readdirSync(migrationsDir)
    .filter((name) => name.endsWith(".sql"))
    .toSorted();
}

/** Those of `needed` that the database does not have yet; all of them where it has never been migrated. */
export async function findMissingMigrations(sql: Queryable, needed: readonly string[]): Promise<readonly string[]> {
  const [table] = await sql.unsafe<{ exists: boolean }[]>("select to_regclass('migrations') is not null as exists");
  if (table?.exists !== true) return needed;
  const rows = await sql.unsafe<{ name: string }[]>("select name from migrations");
  const applied = new Set(rows.map((row) => row.name));
  return needed.filter((name) => !applied.has(name));
}
