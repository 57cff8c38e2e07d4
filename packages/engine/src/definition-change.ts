import type { Queryable } from "@countersign/db/connect.ts";
import { describeDefinition, type RegisteredTool, type Tools } from "./tools.ts";
import type { DefinitionChange } from "./card.ts";

const record = `
  insert into tool_definitions (hash, tool, definition)
  select * from unnest($1::text[], $2::text[], $3::text[])
      on conflict (hash) do nothing`;

/** Afterwards it is known what each of these tools says of itself, by the hash that approvals, pins and rules are bound to. */
export async function recordToolDefinitions(sql: Queryable, tools: Tools): Promise<void> {
  const all = [...tools.values()];
  await sql.unsafe(
    record,
    [
      all.map(({ definitionHash }) => definitionHash),
      all.map(({ tool }) => tool.name),
      all.map(({ tool }) => describeDefinition(tool)),
    ],
    { prepare: true },
  );
}

/** How a tool differs from what was agreed to; undefined where it does not, or nobody knows any more what that said. */
export async function findDefinitionChange(
  sql: Queryable,
  agreedTo: string,
  { tool, definitionHash }: RegisteredTool,
): Promise<DefinitionChange | undefined> {
  if (agreedTo === definitionHash) return undefined;
  const [row] = await sql.unsafe<{ definition: string }[]>(
    "select definition from tool_definitions where hash = $1",
    [agreedTo],
    { prepare: true },
  );
  return row === undefined ? undefined : { before: row.definition, after: describeDefinition(tool) };
}
