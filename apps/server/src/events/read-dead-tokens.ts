import type { Queryable } from "@countersign/db/connect.ts";

/** Those of the tokens that would be refused now: unknown, revoked, expired, or of a disabled account. */
export async function readDeadTokens(sql: Queryable, tokenIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (tokenIds.length === 0) return new Set();
  const rows = await sql.unsafe<{ id: string }[]>(
    `select n.id
       from unnest($1::uuid[]) n (id)
       left join tokens t on t.id = n.id
       left join users u  on u.id = t.user_id
      where t.id is null or t.revoked_at is not null or u.disabled_at is not null
         or coalesce(t.expires_at <= clock_timestamp(), false)`,
    [[...tokenIds]],
    { prepare: true },
  );
  return new Set(rows.map(({ id }) => id));
}
