import { randomBytes } from "node:crypto";
import type { Queryable } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { hashToken } from "./auth.ts";

export interface NewToken {
  readonly workspaceId: string;
  readonly userId: string;
  /** What it is for, as lists of tokens show it. */
  readonly label: string;
  /** A person's own token may decide; a service's only where it was given that right. */
  readonly mayDecide: boolean;
  /** The people a service may act for with it; nobody unless stated. */
  readonly actsFor?: readonly string[];
  readonly expiresAt?: Date;
  /** Who made it; undefined for the system. */
  readonly createdBy?: string;
}

/** Afterwards a token of the user's exists. Its value is in the answer and nowhere else: only its hash is stored. */
export async function createToken(
  sql: Queryable,
  asked: NewToken,
): Promise<{ readonly id: string; readonly token: string }> {
  const id = newId();
  const token = `cs_${randomBytes(32).toString("base64url")}`;
  await sql.unsafe(
    `insert into tokens (id, workspace_id, user_id, hash, label, may_decide, expires_at, acts_for, created_by)
     values ($1, $2, $3, $4, $5, $6::text::boolean, $7::text::timestamptz, $8::uuid[], $9::uuid)`,
    [
      id,
      asked.workspaceId,
      asked.userId,
      hashToken(token),
      asked.label,
      String(asked.mayDecide),
      asked.expiresAt?.toISOString() ?? null,
      [...(asked.actsFor ?? [])],
      asked.createdBy ?? null,
    ],
  );
  return { id, token };
}
