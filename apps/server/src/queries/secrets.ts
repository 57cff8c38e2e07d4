import type { Queryable } from "@countersign/db/connect.ts";
import type { Secret } from "../shapes/secrets.ts";

const secrets = `
  select s.id, s.name, s.capability, v.version, s.created_at as "createdAt", v.created_at as "setAt"
    from secrets s
    join secret_versions v on v.secret_id = s.id and v.version = s.current_version
   where s.workspace_id = $1 and s.deleted_at is null`;

/** A page of the workspace's live secrets by name, without anything that could be opened; one more than `limit` where the list goes on. */
export async function listSecrets(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly cursorId: string | undefined; readonly limit: number },
): Promise<Secret[]> {
  const { workspaceId, cursorId = null, limit } = asked;
  return await sql.unsafe<Secret[]>(
    `${secrets} and s.name > coalesce((select name from secrets where workspace_id = $1 and id = $2::uuid), '')
      order by s.name limit $3::int + 1`,
    [workspaceId, cursorId, limit],
    { prepare: true },
  );
}

/** One live secret by name; undefined where the workspace has none. */
export async function readSecret(sql: Queryable, workspaceId: string, name: string): Promise<Secret | undefined> {
  const [row] = await sql.unsafe<Secret[]>(`${secrets} and s.name = $2`, [workspaceId, name], { prepare: true });
  return row;
}
