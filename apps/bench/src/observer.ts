import { connect, type Sql } from "@countersign/db/connect.ts";

/**
 * A connection for asking what became of runs, without weighing on what is measured: plans made while the tables were
 * small must not go on to read the whole of them.
 */
export async function openObserver(url: string): Promise<Sql> {
  const sql = connect(url, { max: 1, applicationName: "bench observer" });
  await sql.unsafe("set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off").simple();
  return sql;
}
