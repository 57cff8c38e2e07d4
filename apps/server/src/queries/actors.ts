import type { Queryable } from "@countersign/db/connect.ts";

/** Somebody as people are shown them. */
export interface ShownActor {
  readonly id: string | null;
  readonly name: string;
}

/** Who the texts such as `user:<id>` are: a person by name, anybody else by the text itself. */
export async function readActors(
  sql: Queryable,
  workspaceId: string,
  texts: readonly (string | null)[],
): Promise<(text: string) => ShownActor> {
  const ids = texts.flatMap((text) => (text?.startsWith("user:") === true ? [text.slice("user:".length)] : []));
  const users =
    ids.length === 0
      ? []
      : await sql.unsafe<{ id: string; name: string }[]>(
          "select id, name from users where workspace_id = $1::uuid and id = any ($2::uuid[])",
          [workspaceId, [...new Set(ids)]],
          { prepare: true },
        );
  const known = new Map(users.map((user) => [`user:${user.id}`, user]));
  return (text) => known.get(text) ?? { id: null, name: text };
}

/** SQL: the id of the user whom the actor text of an audit row names; null for others, and for a text that was tampered with. */
export function auditedUser(column: string): string {
  return `case when ${column} ~ '^user:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substring(${column} from 6)::uuid end`;
}
