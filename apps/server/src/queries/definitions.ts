import type { Queryable } from "@countersign/db/connect.ts";
import type { DefinitionVersion } from "../shapes/definitions.ts";

/** SQL: versions of definitions, by default the current ones. */
function selectDefinitions(version: string): string {
  return `
  select d.id, d.name, v.version, v.spec, v.created_at as "createdAt",
         case when u.id is not null then json_build_object('id', u.id, 'name', u.name) end as "createdBy"
    from definitions d
    join definition_versions v on v.definition_id = d.id and v.version ${version}
    left join users u          on u.id = v.created_by
   where d.workspace_id = $1`;
}

const current = selectDefinitions("= d.current_version");

const page = `${current} and d.name > coalesce((select name from definitions where workspace_id = $1 and id = $2::uuid), '')
  order by d.name limit $3::int + 1`;

const versions = `${selectDefinitions("< $3::int")} and d.id = $2::uuid order by v.version desc limit $4::int + 1`;

/** A page of the workspace's definitions in their current version, by name; one more than `limit` where the list goes on. */
export async function listDefinitions(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly cursorId: string | undefined; readonly limit: number },
): Promise<DefinitionVersion[]> {
  const { workspaceId, cursorId = null, limit } = asked;
  return await sql.unsafe<DefinitionVersion[]>(page, [workspaceId, cursorId, limit], { prepare: true });
}

/** The current version of the definition of this name, or of this id; undefined where the workspace has none. */
export async function readDefinition(
  sql: Queryable,
  workspaceId: string,
  by: { readonly name: string } | { readonly id: string },
): Promise<DefinitionVersion | undefined> {
  const [row] = await sql.unsafe<DefinitionVersion[]>(
    `${current} and ${"name" in by ? "d.name = $2" : "d.id = $2::uuid"}`,
    [workspaceId, "name" in by ? by.name : by.id],
    { prepare: true },
  );
  return row;
}

/** A page of a definition's versions before one of them, newest first; one more than `limit` where the list goes on. */
export async function listVersions(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly id: string; readonly before: number; readonly limit: number },
): Promise<DefinitionVersion[]> {
  const { workspaceId, id, before, limit } = asked;
  return await sql.unsafe<DefinitionVersion[]>(versions, [workspaceId, id, before, limit], { prepare: true });
}
