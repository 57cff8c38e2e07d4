import type { Queryable } from "@countersign/db/connect.ts";
import type { Token, User, Workspace } from "../shapes/people.ts";
import { firstId } from "./ids.ts";

const users = `
  select id, name, role, is_service as "isService", email, created_at as "createdAt", disabled_at as "disabledAt"
    from users
   where workspace_id = $1`;

/** A page of the workspace's accounts, those of programs too; one more than `limit` where the list goes on. */
export async function listUsers(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly cursorId: string | undefined; readonly limit: number },
): Promise<User[]> {
  const { workspaceId, cursorId = firstId, limit } = asked;
  return await sql.unsafe<User[]>(
    `${users} and id > $2::uuid order by id limit $3::int + 1`,
    [workspaceId, cursorId, limit],
    { prepare: true },
  );
}

/** A page of the workspace's people who can sign in, by id and name alone; one more than `limit` where the list goes on. */
export async function listPeople(
  sql: Queryable,
  asked: { readonly workspaceId: string; readonly cursorId: string | undefined; readonly limit: number },
): Promise<Pick<User, "id" | "name">[]> {
  const { workspaceId, cursorId = firstId, limit } = asked;
  return await sql.unsafe<Pick<User, "id" | "name">[]>(
    `select id, name from users
      where workspace_id = $1 and not is_service and disabled_at is null and id > $2::uuid
      order by id limit $3::int + 1`,
    [workspaceId, cursorId, limit],
    { prepare: true },
  );
}

/** One account; undefined where the workspace has none of this id. */
export async function readUser(sql: Queryable, workspaceId: string, id: string): Promise<User | undefined> {
  const [row] = await sql.unsafe<User[]>(`${users} and id = $2::uuid`, [workspaceId, id], { prepare: true });
  return row;
}

/** The workspace. Throws where there is none: a token's row names one that is there. */
export async function readWorkspace(sql: Queryable, id: string): Promise<Workspace> {
  const [row] = await sql.unsafe<Workspace[]>(
    `select id, name, created_at as "createdAt" from workspaces where id = $1`,
    [id],
    { prepare: true },
  );
  if (row === undefined) throw new Error(`there is no workspace ${id}`);
  return row;
}

const tokens = `
  select t.id, t.kind, t.label, json_build_object('id', u.id, 'name', u.name) as user, u.is_service as "isService",
         t.may_decide as "mayDecide",
         coalesce((select json_agg(json_build_object('id', p.id, 'name', p.name) order by p.name)
                     from users p where p.id = any (t.acts_for) and p.workspace_id = t.workspace_id), '[]') as "actsFor",
         case when c.id is not null then json_build_object('id', c.id, 'name', c.name) end as "createdBy",
         t.created_at as "createdAt", t.expires_at as "expiresAt", t.last_used_at as "lastUsedAt", t.revoked_at as "revokedAt"
    from tokens t
    join users u      on u.id = t.user_id
    left join users c on c.id = t.created_by
   where t.workspace_id = $1`;

/** A page of the workspace's tokens, or of one account's, without their values; one more than `limit` where the list goes on. */
export async function listTokens(
  sql: Queryable,
  asked: {
    readonly workspaceId: string;
    readonly userId: string | undefined;
    readonly isLive: boolean;
    readonly cursorId: string | undefined;
    readonly limit: number;
  },
): Promise<Token[]> {
  const { workspaceId, userId = null, isLive, cursorId = firstId, limit } = asked;
  const live = isLive ? "and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())" : "";
  return await sql.unsafe<Token[]>(
    `${tokens} ${live} and t.id > $2::uuid and ($4::uuid is null or t.user_id = $4::uuid) order by t.id limit $3::int + 1`,
    [workspaceId, cursorId, limit, userId],
    { prepare: true },
  );
}

/** One token without its value; undefined where the workspace has none of this id. */
export async function readToken(sql: Queryable, workspaceId: string, id: string): Promise<Token | undefined> {
  const [row] = await sql.unsafe<Token[]>(`${tokens} and t.id = $2::uuid`, [workspaceId, id], { prepare: true });
  return row;
}
