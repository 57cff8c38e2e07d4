import type { Queryable } from "@countersign/db/connect.ts";

/**
 * Afterwards no sealed value is kept that nobody needs: earlier versions, and all of deleted secrets, except while a run
 * that has not ended holds a lease on the capability, since its results are still scrubbed of them. Answers how many
 * went. A tombstone keeps its row.
 */
export async function pruneVersions(sql: Queryable): Promise<number> {
  const gone = await sql`
    delete from secret_versions v
     using secrets s
     where s.id = v.secret_id
       and (s.deleted_at is not null or v.version < s.current_version)
       and not exists (
             select from capability_leases l
               join runs r on r.id = l.run_id
              where l.capability = v.capability and r.workspace_id = s.workspace_id
                and r.status not in ('completed', 'failed', 'canceled'))`;
  return gone.count;
}
