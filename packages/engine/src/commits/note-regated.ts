import type { Queryable } from "@countersign/db/connect.ts";

/** A turn that was under way when policy changed has been recorded by then. */
const againAfterMs = 5_000;

/** Afterwards the next window of the change begins before the approval `next`, or the change is done where there is none. */
export async function noteRegated(sql: Queryable, changeId: number, next: string | undefined): Promise<void> {
  await sql.unsafe("select note_regated($1::bigint, $2::uuid, $3::bigint)", [changeId, next ?? null, againAfterMs], {
    prepare: true,
  });
}
