import type { Queryable, Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { expect } from "vitest";

/** The tables of the engine, and those its commits write besides. */
const tables = [
  "runs",
  "run_log",
  "tool_calls",
  "steers",
  "late_results",
  "approvals",
  "votes",
  "delegations",
  "questions",
  "tasks",
  "audit",
  "capability_leases",
  "policies",
  "policy_changes",
  "rules",
  "tool_switches",
  "tool_pins",
] as const;

export type Table = (typeof tables)[number];

/** Everything the commits can write, as one text: equal before and after means that nothing was left behind. */
export async function allRows(sql: Queryable): Promise<string> {
  const parts = tables.map(
    (table) => `select '${table}' as name, (select json_agg(t order by t::text) from ${table} t)::text as content`,
  );
  const rows = await sql.unsafe<{ name: string; content: string | null }[]>(parts.join(" union all "));
  return rows.map((row) => `${row.name}: ${row.content ?? "empty"}`).join("\n");
}

/**
 * Lets `act` fail at its first, second, … and last write of a row, and expects each time that it rejects and that every
 * table is as before; then lets it do its work. Returns what it answered and the tables it wrote, in the order it did.
 * Nothing else may use the database meanwhile.
 */
export async function failAtEveryWrite<R>(
  sql: Sql,
  act: (on: Queryable) => Promise<R>,
): Promise<{ outcome: R; written: Table[] }> {
  await arm(sql);
  try {
    const writes = await recordWrites(sql, act);
    expect(writes.length).toBeGreaterThan(0);
    const before = await allRows(sql);
    for (let at = 1; at <= writes.length; at += 1) {
      await sql.unsafe(`select setval('writes', 1, false)`);
      await sql.unsafe(`update write_fault set at = ${at}`);
      await expect(act(sql)).rejects.toThrow(`injected at write ${at}`);
      expect(await allRows(sql)).toBe(before);
    }
    await sql`update write_fault set at = null`;
    return { outcome: await act(sql), written: [...new Set(writes)] };
  } finally {
    await disarm(sql);
  }
}

/** What `act` would write, row by row; rolled back. */
async function recordWrites(sql: Sql, act: (on: Queryable) => Promise<unknown>): Promise<Table[]> {
  const undo = new Error("rolled back on purpose");
  let written: Table[] = [];
  await transaction(sql, async (tx) => {
    await act(tx);
    const rows = await tx<{ name: Table }[]>`select name from written_rows order by n`;
    written = rows.map((row) => row.name);
    throw undo;
  }).catch((error: unknown) => {
    if (error !== undo) throw error;
  });
  return written;
}

async function arm(sql: Sql): Promise<void> {
  await sql.unsafe(`
    create sequence writes;
    create table write_fault (at int);
    insert into write_fault values (null);
    create table written_rows (n bigint, name text);
    create function meet_write() returns trigger language plpgsql as $$
    declare
      n bigint := nextval('writes');
    begin
      -- Every later write fails too: an attempt that is repeated in parts must not get through.
      if n >= (select at from write_fault) then
        raise exception 'injected at write %', (select at from write_fault) using detail = tg_table_name;
      end if;
      insert into written_rows values (n, tg_table_name);
      return coalesce(new, old);
    end $$;
    ${tables.map((table) => `create trigger meet_write before insert or update or delete on ${table} for each row execute function meet_write();`).join("\n")}
  `);
}

async function disarm(sql: Sql): Promise<void> {
  await sql.unsafe(`
    drop function meet_write() cascade;
    drop table write_fault, written_rows;
    drop sequence writes;
  `);
}
