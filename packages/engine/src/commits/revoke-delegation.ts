import type { Queryable } from "@countersign/db/connect.ts";

/** A say that was handed over is taken back by `userId`. */
export interface RevokeDelegation {
  readonly delegationId: string;
  readonly workspaceId: string;
  readonly userId: string;
  /** How the person was authenticated, for the audit. */
  readonly way: string;
}

export type RevokeDelegationOutcome = "revoked" | "over_already" | "forbidden" | "not_found";

/**
 * Afterwards nobody decides on that say any more, and what was decided on it must be asked again where it has not begun; or
 * nothing changed, and the outcome says why.
 */
export async function revokeDelegation(sql: Queryable, asked: RevokeDelegation): Promise<RevokeDelegationOutcome> {
  const { delegationId, workspaceId, userId, way } = asked;
  const [row] = await sql.unsafe<{ outcome: RevokeDelegationOutcome }[]>(
    "select outcome from revoke_delegation($1::uuid, $2::uuid, $3::uuid, $4)",
    [delegationId, workspaceId, userId, way],
    { prepare: true },
  );
  return row?.outcome ?? "forbidden";
}
