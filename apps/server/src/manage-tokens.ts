import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { type Actor, requireSelfOrAdmin, wayOf } from "./auth.ts";
import { findUser } from "./people.ts";
import { invalidField, Problem } from "./problem.ts";
import { appendAudit } from "./queries/audit.ts";
import { readToken } from "./queries/people.ts";
import type { Token } from "./shapes/people.ts";
import { createToken } from "./tokens.ts";

export interface AskedToken {
  readonly userId: string;
  readonly label: string;
  readonly mayDecide: boolean;
  readonly actsFor: readonly string[];
  readonly expiresAt?: string | undefined;
}

export type MadeToken = Token & { readonly token: string | null };

/**
 * Afterwards the account has a further token, whose value is in the answer alone. No token gives a right that its maker's
 * token has not: one that may not decide makes none that may.
 */
export async function makeToken(tx: Tx, actor: Actor, asked: AskedToken): Promise<MadeToken> {
  const { workspaceId } = actor;
  if (asked.mayDecide && !actor.mayDecide) {
    throw new Problem(
      "may_not_decide",
      `This token of ${(actor.via ?? actor).name} may not decide, so it makes none that may. Use your own token.`,
    );
  }
  const user = await findUser(tx, actor, asked.userId);
  if (user.disabledAt !== null) throw invalidField("json.userId", `the account of ${user.name} is disabled`);
  const actsFor = [...new Set(asked.actsFor)];
  if (actsFor.length > 0 && !user.isService) {
    throw invalidField("json.actsFor", `only a service acts for others, and ${user.name} is a person`);
  }
  await checkPeople(tx, workspaceId, actsFor);
  const expiresAt = asked.expiresAt === undefined ? undefined : new Date(asked.expiresAt);
  if (expiresAt !== undefined) await checkFuture(tx, expiresAt);

  const { id, token } = await createToken(tx, {
    workspaceId,
    userId: user.id,
    label: asked.label,
    mayDecide: asked.mayDecide,
    actsFor,
    createdBy: actor.userId,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  });
  await appendAudit(tx, actor, "token.created", id, {
    user: user.id,
    mayDecide: asked.mayDecide,
    actsFor,
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() }),
    way: wayOf(actor),
  });
  return { ...(await findToken(tx, actor, id)), token };
}

/** Afterwards the token is refused wherever it is sent. For its owner and for administrators; again changes nothing. */
export async function revokeToken(tx: Tx, actor: Actor, id: string): Promise<Token> {
  const token = await findToken(tx, actor, id);
  requireSelfOrAdmin(actor, token.user.id ?? "", `${token.user.name}, whose it is,`, "Revoking this token");
  const revoked = await tx.unsafe(
    "update tokens set revoked_at = clock_timestamp() where id = $1::uuid and revoked_at is null returning id",
    [id],
    { prepare: true },
  );
  if (revoked.length > 0) {
    await appendAudit(tx, actor, "token.revoked", id, { user: token.user.id ?? "", way: wayOf(actor) });
  }
  return await findToken(tx, actor, id);
}

async function findToken(sql: Queryable, actor: Actor, id: string): Promise<Token> {
  const token = await readToken(sql, actor.workspaceId, id);
  if (token === undefined) {
    throw new Problem("not_found", `There is no token ${id} in this workspace. GET /v1/tokens lists them.`);
  }
  return token;
}

async function checkPeople(tx: Tx, workspaceId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const found = await tx.unsafe<{ id: string }[]>(
    `select id from users
      where workspace_id = $1::uuid and id = any ($2::uuid[]) and not is_service and disabled_at is null`,
    [workspaceId, [...ids]],
    { prepare: true },
  );
  const known = new Set(found.map((row) => row.id));
  const unknown = ids.filter((id) => !known.has(id));
  if (unknown.length > 0) {
    throw invalidField("json.actsFor", `not people of this workspace whose account is enabled: ${unknown.join(", ")}`);
  }
}

async function checkFuture(tx: Tx, at: Date): Promise<void> {
  const [row] = await tx.unsafe<{ isPast: boolean }[]>(
    `select $1::text::timestamptz <= clock_timestamp() as "isPast"`,
    [at.toISOString()],
    { prepare: true },
  );
  if (row?.isPast === true) throw invalidField("json.expiresAt", `${at.toISOString()} has passed`);
}
