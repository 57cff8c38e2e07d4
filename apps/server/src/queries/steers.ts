import type { Queryable } from "@countersign/db/connect.ts";

/** A steer as it was stored, by the id its sender gave it. */
export async function readSteer(
  sql: Queryable,
  id: string,
): Promise<{ readonly runId: string; readonly content: string } | undefined> {
  const [row] = await sql.unsafe<{ runId: string; content: string }[]>(
    `select run_id as "runId", content from steers where id = $1`,
    [id],
    { prepare: true },
  );
  return row;
}
