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

/** Whether a definition of the workspace names the capability in its current version, or a live secret serves it. */
export async function isCapabilityNamed(sql: Queryable, workspaceId: string, capability: string): Promise<boolean> {
  const [row] = await sql.unsafe<{ isNamed: boolean }[]>(
    `select exists (select from secrets
                     where workspace_id = $1::uuid and capability = $2 and deleted_at is null)
         or exists (select from definitions d
                      join definition_versions v on v.definition_id = d.id and v.version = d.current_version
                     where d.workspace_id = $1::uuid and (v.spec->'caps')::jsonb ? $2) as "isNamed"`,
    [workspaceId, capability],
    { prepare: true },
  );
  return row?.isNamed === true;
}

/** One live secret by name; undefined where the workspace has none. */
export async function readSecret(sql: Queryable, workspaceId: string, name: string): Promise<Secret | undefined> {
  const [row] = await sql.unsafe<Secret[]>(`${secrets} and s.name = $2`, [workspaceId, name], { prepare: true });
  return row;
}
