import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./context.ts";
import { Problem } from "./problem.ts";

const roles = ["viewer", "operator", "approver", "admin"] as const;

export type Role = (typeof roles)[number];

/** Who makes a request: known from the token alone, never from anything else the request says. */
export interface Actor {
  readonly userId: string;
  readonly name: string;
  readonly role: Role;
  readonly workspaceId: string;
  readonly tokenId: string;
  /** The token carries the right to decide; the role must allow it too. */
  readonly mayDecide: boolean;
}

interface TokenRow extends Actor {
  readonly isExpired: boolean;
  readonly isRevoked: boolean;
  readonly isDisabled: boolean;
}

const readToken = `
  select u.id as "userId", u.name, u.role, t.workspace_id as "workspaceId", t.id as "tokenId", t.may_decide as "mayDecide",
         coalesce(t.expires_at <= clock_timestamp(), false) as "isExpired",
         t.revoked_at is not null                            as "isRevoked",
         u.disabled_at is not null                           as "isDisabled"
    from tokens t
    join users u on u.id = t.user_id and u.workspace_id = t.workspace_id
   where t.hash = $1`;

/** What is stored of a token. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Afterwards the request has its actor, or it was refused with 401: no token, an unknown one, or one that no longer counts. */
export function authenticate(sql: Queryable) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const header = c.req.header("authorization");
    const token = /^Bearer ([\x21-\x7e]{1,200})$/i.exec(header ?? "")?.[1];
    if (token === undefined) {
      throw new Problem(
        "unauthenticated",
        header === undefined
          ? "This route needs a token. Send `Authorization: Bearer <token>`."
          : "The Authorization header holds no bearer token. Send `Authorization: Bearer <token>`.",
      );
    }
    const [row] = await sql.unsafe<TokenRow[]>(readToken, [hashToken(token)], { prepare: true });
    const refusal = refusalOf(row);
    if (row === undefined || refusal !== undefined) {
      throw new Problem("unauthenticated", refusal ?? "");
    }
    const { userId, name, role, workspaceId, tokenId, mayDecide } = row;
    c.set("actor", { userId, name, role, workspaceId, tokenId, mayDecide });
    await next();
  });
}

function refusalOf(row: TokenRow | undefined): string | undefined {
  if (row === undefined) return "The token is not known here. Ask an administrator for one.";
  if (row.isRevoked) return "The token was revoked. Ask an administrator for another.";
  if (row.isExpired) return "The token has expired. Ask an administrator for another.";
  if (row.isDisabled) return `The account of ${row.name} is disabled. Ask an administrator.`;
  return undefined;
}

/** True where the actor's role is `least` or one with more rights. */
export function hasRole(actor: Actor, least: Role): boolean {
  return roles.indexOf(actor.role) >= roles.indexOf(least);
}

/** Returns where the actor's role is `least` or more; refuses with 403, saying what `act` needs. */
export function requireRole(actor: Actor, least: Role, act: string): void {
  if (hasRole(actor, least)) return;
  throw new Problem(
    "forbidden",
    `${act} needs the role ${least} or more; ${actor.name} is ${actor.role}. Ask an administrator for the role.`,
  );
}
