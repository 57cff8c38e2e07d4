import { getTableColumns, getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import * as schema from "./schema.ts";
import { testDatabase } from "./testing/test-database.ts";

const { sql } = await testDatabase();

/** Kept by `migrate` for itself; nothing else reads or writes them. */
const bookkeeping = ["migrations", "functions"];

/** What Postgres itself calls a type that may be written in several ways. */
const spellings: Record<string, string> = {
  bigserial: "bigint",
  serial: "integer",
  smallserial: "smallint",
  varchar: "character varying",
  timestamp: "timestamp without time zone",
};

function spelled(type: string): string {
  const [, name = "", list = ""] = /^(.*?)((?:\[\d*\])*)$/.exec(type.toLowerCase()) ?? [];
  const withZone = /^(timestamp|time)(\(\d\))? with time zone$/.exec(name);
  const plain = withZone === null ? name : `${withZone[1]}${withZone[2] ?? ""} with time zone`;
  return (spellings[plain] ?? plain) + list.replace(/\d+/g, "");
}

function declaredColumns(): string[] {
  return Object.values(schema as Record<string, unknown>)
    .filter((value) => is(value, PgTable))
    .flatMap((table) =>
      Object.values(getTableColumns(table)).map((column) =>
        describe(getTableName(table), column.name, spelled(column.getSQLType()), column.notNull),
      ),
    );
}

async function migratedColumns(): Promise<string[]> {
  const rows = await sql<{ table: string; column: string; type: string; required: boolean }[]>`
    select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
       and c.relname <> all (${bookkeeping})`;
  return rows.map((row) => describe(row.table, row.column, spelled(row.type), row.required));
}

function describe(table: string, column: string, type: string, isRequired: boolean): string {
  return `${table}.${column} ${type}${isRequired ? " not null" : ""}`;
}

test("the tables declared for queries are those that the migrations make: every column, type and nullability", async () => {
  expect(declaredColumns().toSorted()).toEqual((await migratedColumns()).toSorted());
});
