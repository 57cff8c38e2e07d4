import { randomBytes } from "node:crypto";
import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { hashToken } from "./auth.ts";
import { Problem } from "./problem.ts";
import { appendAudit } from "./queries/audit.ts";
import { sessionMs } from "./session-cookie.ts";
import { createToken } from "./tokens.ts";

/** How long a link may be used. */
const linkMs = 15 * 60_000;

export interface NewLink {
  readonly workspaceId: string;
  readonly userId: string;
  /** Whether the session may decide, where the role may. */
  readonly mayDecide: boolean;
  /** Who made it; undefined for the system. */
  readonly createdBy?: string;
}

/**
 * Afterwards a link exists that signs its user in once, for 15 minutes. Its path is in the answer and nowhere else. The
 * code stands in the fragment, which no browser sends and no log has.
 */
export async function createLoginLink(
  sql: Queryable,
  { workspaceId, userId, mayDecide, createdBy }: NewLink,
): Promise<{ readonly id: string; readonly path: string; readonly expiresAt: Date }> {
  const id = newId();
  const code = randomBytes(32).toString("base64url");
  const [made] = await sql.unsafe<{ expiresAt: Date }[]>(
    `with old as (delete from login_links where expires_at < clock_timestamp() - interval '1 day')
     insert into login_links (id, workspace_id, user_id, hash, may_decide, created_by, expires_at)
     values ($1::uuid, $2::uuid, $3::uuid, $4, $5::text::boolean, $6::uuid, clock_timestamp() + $7::int * interval '1 ms')
     returning expires_at as "expiresAt"`,
    [id, workspaceId, userId, hashToken(code), String(mayDecide), createdBy ?? null, linkMs],
  );
  if (made === undefined) throw new Error("the link was not stored");
  return { id, path: `/login#${code}`, expiresAt: made.expiresAt };
}

export interface MadeSession {
  readonly id: string;
  /** Goes into the cookie. */
  readonly token: string;
  readonly workspaceId: string;
  readonly userId: string;
}

/**
 * Uses up a link: afterwards its user has a session for 30 days. Of several who try one link, one gets it. Refuses with
 * `link_not_valid` where the code is unknown, used or late, or the account is disabled.
 */
export async function useLoginLink(tx: Tx, code: string, userAgent: string | undefined): Promise<MadeSession> {
  const [link] = await tx.unsafe<
    { workspaceId: string; userId: string; mayDecide: boolean; createdBy: string | null }[]
  >(
    `update login_links l set used_at = clock_timestamp()
       from users u
      where l.hash = $1 and l.used_at is null and l.expires_at > clock_timestamp()
        and u.id = l.user_id and u.disabled_at is null and not u.is_service
     returning l.workspace_id as "workspaceId", l.user_id as "userId", l.may_decide as "mayDecide", l.created_by as "createdBy"`,
    [hashToken(code)],
  );
  if (link === undefined) {
    throw new Problem(
      "link_not_valid",
      "This link was used before, is older than 15 minutes, or was never one. `./countersign login` prints a new one; or ask an administrator.",
    );
  }
  const { workspaceId, userId, mayDecide, createdBy } = link;
  return { ...(await startSession(tx, { workspaceId, userId, mayDecide, userAgent, createdBy })), workspaceId, userId };
}

/** Afterwards the user has a session for 30 days; its token is in the answer and nowhere else. */
export async function startSession(
  tx: Tx,
  asked: Omit<NewLink, "createdBy"> & { readonly userAgent: string | undefined; readonly createdBy: string | null },
): Promise<{ readonly id: string; readonly token: string }> {
  const { workspaceId, userId, mayDecide, userAgent, createdBy } = asked;
  const made = await createToken(tx, {
    workspaceId,
    userId,
    label: browserOf(userAgent),
    mayDecide,
    expiresAt: new Date(Date.now() + sessionMs),
    ...(createdBy === null ? {} : { createdBy }),
  });
  await tx.unsafe("update tokens set kind = 'session', user_agent = $2 where id = $1::uuid", [
    made.id,
    userAgent?.slice(0, 300) ?? null,
  ]);
  return made;
}

const browsers = ["Edg", "OPR", "Firefox", "Chrome", "Safari"] as const;
const browserNames = { Edg: "Edge", OPR: "Opera", Firefox: "Firefox", Chrome: "Chrome", Safari: "Safari" };
const systems = ["Android", "iPhone", "iPad", "Windows", "Mac OS X", "Linux"] as const;

/** What a list of sessions calls it, such as `Firefox on Linux`. */
function browserOf(userAgent = ""): string {
  const browser = browsers.find((name) => userAgent.includes(`${name}/`));
  const system = systems.find((name) => userAgent.includes(name));
  const name = browser === undefined ? "A browser" : browserNames[browser];
  return system === undefined ? name : `${name} on ${system}`;
}

/**
 * Afterwards the session that the browser had before, by the hash of its token, counts no longer: its other pages would
 * go on as somebody who is not signed in there any more. The audit says so under its owner's name.
 */
export async function endSessionBefore(tx: Tx, hash: string | undefined, made: { readonly id: string }): Promise<void> {
  if (hash === undefined) return;
  const [ended] = await tx.unsafe<{ id: string; workspaceId: string; userId: string }[]>(
    `update tokens set revoked_at = clock_timestamp()
      where hash = $1 and kind = 'session' and revoked_at is null
     returning id, workspace_id as "workspaceId", user_id as "userId"`,
    [hash],
  );
  if (ended === undefined) return;
  const way = `signing in anew over web, session:${made.id}`;
  await appendAudit(tx, ended, "token.revoked", ended.id, { user: ended.userId, way });
}
