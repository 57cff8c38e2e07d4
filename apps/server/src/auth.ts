import { createHash } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./context.ts";
import { Problem } from "./problem.ts";
import { readGrouped } from "./queries/read-grouped.ts";
import { readSessionCookie } from "./session-cookie.ts";

export const roles = ["viewer", "operator", "approver", "admin"] as const;

/** Names, by id, the user that a service acts for. */
export const actForHeader = "act-for";

/**
 * The id of the user a page was drawn for. A session of another is refused: the browser signed in anew, and what the page
 * asks for is not this user's to ask.
 */
const signedInAsHeader = "signed-in-as";

export type Role = (typeof roles)[number];

/** Who makes a request: known from the token alone, but for whom a service says it acts, which its token must allow. */
export interface Actor {
  readonly userId: string;
  readonly name: string;
  /** Where a service acts for somebody, the lesser of the two roles. */
  readonly role: Role;
  readonly workspaceId: string;
  readonly tokenId: string;
  /** The token carries the right to decide; the role must allow it too. */
  readonly mayDecide: boolean;
  /** It is a browser's session, not a token that somebody keeps. */
  readonly isSession: boolean;
  /** The account that sends it is a program's. */
  readonly isService: boolean;
  /** The service that acts for the user. */
  readonly via: { readonly userId: string; readonly name: string; readonly role: Role } | undefined;
}

interface TokenRow extends Omit<Actor, "via"> {
  readonly hash: string;
  readonly actsFor: readonly string[];
  readonly isExpired: boolean;
  readonly isRevoked: boolean;
  readonly isDisabled: boolean;
  readonly isUseOld: boolean;
}

const readToken = `
  select t.hash, u.id as "userId", u.name, u.role, t.workspace_id as "workspaceId", t.id as "tokenId", t.may_decide as "mayDecide",
         t.kind = 'session' as "isSession", u.is_service as "isService", t.acts_for as "actsFor",
         coalesce(t.expires_at <= clock_timestamp(), false) as "isExpired",
         t.revoked_at is not null                            as "isRevoked",
         u.disabled_at is not null                           as "isDisabled",
         t.last_used_at is null or t.last_used_at < clock_timestamp() - interval '1 minute' as "isUseOld"
    from tokens t
    join users u on u.id = t.user_id and u.workspace_id = t.workspace_id
   where t.hash = any ($1::text[])`;

const readActedFor = `
  select id as "userId", name, role from users
   where id = $1::uuid and workspace_id = $2::uuid and not is_service and disabled_at is null`;

const readByHash = readGrouped(async (sql, hashes: readonly string[]) => {
  const rows = await sql.unsafe<TokenRow[]>(readToken, [[...new Set(hashes)]], { prepare: true });
  const byHash = new Map(rows.map((row) => [row.hash, row]));
  return hashes.map((hash) => byHash.get(hash));
});

/** What is stored of a token. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/**
 * Afterwards the request has its actor, or it was refused with 401: neither token nor session, an unknown one, or one that
 * no longer counts; with 403 where it is to act for somebody whom the token does not name; with 409 where it is from a page
 * of another account than the browser's session is. That a token was used is noted
 * at most once a minute.
 */
export function authenticate(sql: Queryable, publicUrl: string | undefined) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const { token, isCookie } = credentialOf(c, publicUrl);
    const row = await readByHash(sql, hashToken(token));
    const refusal = row?.isSession === isCookie ? refusalOf(row) : refusalOf(undefined);
    if (row === undefined || refusal !== undefined) {
      throw new Problem("unauthenticated", refusal ?? "");
    }
    const drawnFor = isCookie ? c.req.header(signedInAsHeader) : undefined;
    if (drawnFor !== undefined && drawnFor.toLowerCase() !== row.userId) {
      throw new Problem(
        "another_account",
        "This page was drawn for another account than the one that is signed in here now, so nothing was done. Load it again.",
      );
    }
    if (row.isUseOld) await noteUse(sql, row.tokenId);
    c.set("actor", await actorOf(sql, row, c.req.header(actForHeader)));
    await next();
  });
}

/** The header's token, else the browser's session. A page's own cookie changes nothing unless the browser says whose page it was. */
function credentialOf(
  c: Context<AppEnv>,
  publicUrl: string | undefined,
): { readonly token: string; readonly isCookie: boolean } {
  const header = c.req.header("authorization");
  if (header !== undefined) {
    const token = /^Bearer ([\x21-\x7e]{1,200})$/i.exec(header)?.[1];
    if (token !== undefined) return { token, isCookie: false };
    throw new Problem(
      "unauthenticated",
      "The Authorization header holds no bearer token. Send `Authorization: Bearer <token>`.",
    );
  }
  const session = readSessionCookie(c, publicUrl);
  if (session === undefined) {
    throw new Problem(
      "unauthenticated",
      "This route needs a token or a session. Send `Authorization: Bearer <token>`, or sign in.",
    );
  }
  // Where the request is from another page the guard refused it already; here, where nothing says that it is not.
  const isSafe = c.req.method === "GET" || c.req.method === "HEAD";
  if (!isSafe && c.req.header("sec-fetch-site") !== "same-origin" && c.req.header("origin") === undefined) {
    throw new Problem(
      "cross_site",
      "A session changes something only from this server's own pages, and this request does not say where it is from.",
    );
  }
  return { token: session, isCookie: true };
}

/** Many requests at once may find the use old; one of them writes. */
async function noteUse(sql: Queryable, tokenId: string): Promise<void> {
  await sql.unsafe(
    `update tokens set last_used_at = clock_timestamp()
      where id = $1::uuid and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`,
    [tokenId],
    { prepare: true },
  );
}

async function actorOf(sql: Queryable, row: TokenRow, actFor: string | undefined): Promise<Actor> {
  const { userId, name, role, workspaceId, tokenId, mayDecide, isSession, isService } = row;
  const own = { userId, name, role, workspaceId, tokenId, mayDecide, isSession, isService, via: undefined };
  if (actFor === undefined || actFor.toLowerCase() === userId) return own;
  const [user] = row.actsFor.includes(actFor.toLowerCase())
    ? await sql.unsafe<Pick<Actor, "userId" | "name" | "role">[]>(readActedFor, [actFor, workspaceId], {
        prepare: true,
      })
    : [];
  if (user === undefined) {
    throw new Problem(
      "may_not_act_for",
      `The token of ${name} was not made to act for ${JSON.stringify(actFor.slice(0, 60))}, or that account is disabled. Leave out Act-For, or ask an administrator for another token.`,
    );
  }
  const lesser = roles.indexOf(user.role) < roles.indexOf(role) ? user.role : role;
  return { ...own, ...user, role: lesser, via: { userId, name, role } };
}

/** How the actor was authenticated and over which channel, for the audit. */
export function wayOf(actor: Actor): string {
  if (actor.isSession) return `session:${actor.tokenId} over web`;
  const through = actor.via === undefined ? "" : ` of user:${actor.via.userId}`;
  return `token:${actor.tokenId}${through} over http`;
}

function refusalOf(row: TokenRow | undefined): string | undefined {
  if (row === undefined) return "The token is not known here. Ask an administrator for one.";
  if (row.isSession && (row.isRevoked || row.isExpired)) return "The session has ended. Sign in again.";
  if (row.isRevoked) return "The token was revoked. Ask an administrator for another.";
  if (row.isExpired) return "The token has expired. Ask an administrator for another.";
  if (row.isDisabled) return `The account of ${row.name} is disabled. Ask an administrator.`;
  return undefined;
}

/** True where a person is signed in as themselves: what they send is theirs, not what a program relays. */
export function isThemselves(actor: Actor): boolean {
  return !actor.isService && actor.via === undefined;
}

/** True where the actor's role is `least` or one with more rights. */
export function hasRole(actor: Pick<Actor, "role">, least: Role): boolean {
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

/** Returns where the actor is the one meant, or an administrator; refuses with 403. `whose` names the one. */
export function requireSelfOrAdmin(actor: Actor, userId: string, whose: string, act: string): void {
  if (actor.userId === userId || hasRole(actor, "admin")) return;
  throw new Problem(
    "forbidden",
    `${act} is for ${whose} and for administrators; you are ${actor.name}, ${actor.role}.`,
  );
}
