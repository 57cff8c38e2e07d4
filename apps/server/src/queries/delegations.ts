import type { Queryable } from "@countersign/db/connect.ts";
import type { Delegation } from "../shapes/delegations.ts";
import { lastId } from "./ids.ts";

function selectDelegations(where: string): string {
  return `
  select d.id, json_build_object('id', f.id, 'name', f.name) as "from", json_build_object('id', t.id, 'name', t.name) as "to",
         d.approval_id as "approvalId", d.created_at as "createdAt", d.expires_at as "expiresAt", d.revoked_at as "revokedAt"
    from delegations d
    join users f on f.id = d.from_user
    join users t on t.id = d.to_user
   where d.workspace_id = $1::uuid and ${where}`;
}

const byId = selectDelegations("d.id = $2::uuid");

const list = `${selectDelegations("d.id < $2::uuid and ($4::uuid is null or $4::uuid in (d.from_user, d.to_user))")}
  order by d.id desc limit $3::int + 1`;

/** One delegation; undefined where the workspace has none of this id. */
export async function readDelegation(sql: Queryable, workspaceId: string, id: string): Promise<Delegation | undefined> {
  const [found] = await sql.unsafe<Delegation[]>(byId, [workspaceId, id], { prepare: true });
  return found;
}

/** A page of delegations, newest first, of everybody or of one person; one more than `limit` where the list goes on. */
export async function listDelegations(
  sql: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly userId: string | undefined;
    readonly cursorId: string | undefined;
    readonly limit: number;
  },
): Promise<Delegation[]> {
  const { workspaceId, userId = null, cursorId = lastId, limit } = asked;
  return await sql.unsafe<Delegation[]>(list, [workspaceId, cursorId, limit, userId], { prepare: true });
}
