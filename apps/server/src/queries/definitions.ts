import type { Queryable } from "@countersign/db/connect.ts";

export interface DefinitionRow {
  id: string;
  name: string;
  version: number;
  spec: Record<string, unknown>;
  createdAt: Date;
}

const definitions = `
  select d.id, d.name, d.current_version as version, v.spec, v.created_at as "createdAt"
    from definitions d
    join definition_versions v on v.definition_id = d.id and v.version = d.current_version
   where d.workspace_id = $1`;

/** The current version of every definition of the workspace, by name. */
export async function readDefinitions(sql: Queryable, workspaceId: string): Promise<DefinitionRow[]> {
  return await sql.unsafe<DefinitionRow[]>(`${definitions} order by d.name limit 1000`, [workspaceId], {
    prepare: true,
  });
}

/** The current version of the definition of this name, or of this id; undefined where the workspace has none. */
export async function readDefinition(
  sql: Queryable,
  workspaceId: string,
  by: { readonly name: string } | { readonly id: string },
): Promise<DefinitionRow | undefined> {
  const [row] = await sql.unsafe<DefinitionRow[]>(
    `${definitions} and ${"name" in by ? "d.name = $2" : "d.id = $2::uuid"}`,
    [workspaceId, "name" in by ? by.name : by.id],
    { prepare: true },
  );
  return row;
}
