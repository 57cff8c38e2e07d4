import type { Queryable } from "@countersign/db/connect.ts";

/** Afterwards up to `limit` runs whose time has come have their overdue approvals expired and their overdue questions answered by default; returns those runs. */
export async function expireWaits(sql: Queryable, limit: number): Promise<readonly string[]> {
  const rows = await sql.unsafe<{ run_id: string }[]>("select run_id from expire_waits($1::int)", [limit], {
    prepare: true,
  });
  return rows.map((row) => row.run_id);
}
