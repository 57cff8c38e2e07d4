import type { Queryable } from "@countersign/db/connect.ts";

/** What a token lets one do, as far as a page shows it, as a text to compare; the same as `standingOf` of its actor. */
const standing = `concat_ws(' ', u.role, t.may_decide, u.name)`;

/** How an actor stands, as a text to compare. */
export function standingOf(actor: {
  readonly role: string;
  readonly mayDecide: boolean;
  readonly name: string;
}): string {
  return `${actor.role} ${actor.mayDecide ? "t" : "f"} ${actor.name}`;
}

/**
 * How the tokens stand now, by id. Those that would be refused are left out: unknown, revoked, expired, or of a disabled
 * account.
 */
export async function readStandings(sql: Queryable, tokenIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (tokenIds.length === 0) return new Map();
  const rows = await sql.unsafe<{ id: string; standing: string }[]>(
    `select t.id, ${standing} as standing
       from tokens t
       join users u on u.id = t.user_id
      where t.id = any ($1::uuid[]) and t.revoked_at is null and u.disabled_at is null
        and coalesce(t.expires_at > clock_timestamp(), true)`,
    [[...tokenIds]],
    { prepare: true },
  );
  return new Map(rows.map((row) => [row.id, row.standing]));
}
