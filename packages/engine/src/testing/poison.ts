import type { Queryable } from "@countersign/db/connect.ts";

/** Afterwards an update of this run's row fails where `when` is true of it (`old`, `new`), until what is returned is called. */
export async function poisonRun(sql: Queryable, runId: string, when = "true"): Promise<() => Promise<void>> {
  await sql.unsafe(`
    create or replace function refuse_poisoned() returns trigger language plpgsql as $$
    begin raise exception 'poisoned'; end $$;
    create trigger refuse_poisoned before update on runs for each row when (old.id = '${runId}' and ${when}) execute function refuse_poisoned();`);
  return async () => {
    await sql.unsafe("drop function refuse_poisoned() cascade");
  };
}
