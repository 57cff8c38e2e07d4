import type { Queryable } from "@countersign/db/connect.ts";

/** A person hands their say over. */
export interface DelegateSay {
  readonly delegationId: string;
  readonly workspaceId: string;
  readonly fromUser: string;
  readonly toUser: string;
  /** The one approval it is for; absent, all that the person may decide. */
  readonly approvalId?: string | undefined;
  readonly until: Date;
  /** How the person was authenticated, for the audit. */
  readonly way: string;
}

export type DelegateOutcome =
  | "delegated"
  | "unknown_person"
  | "to_oneself"
  | "over_already"
  | "forbidden"
  | "not_found"
  | "not_delegable"
  | "settled";

/**
 * Afterwards the other person may decide on this one's say until `until`, where the approver rules let them; or nothing
 * changed, and the outcome says why.
 */
export async function delegateSay(sql: Queryable, asked: DelegateSay): Promise<DelegateOutcome> {
  const { delegationId, workspaceId, fromUser, toUser, approvalId = null, until, way } = asked;
  const [row] = await sql.unsafe<{ outcome: DelegateOutcome }[]>(
    "select outcome from delegate_say($1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::text::timestamptz, $7)",
    [delegationId, workspaceId, fromUser, toUser, approvalId, until.toISOString(), way],
    { prepare: true },
  );
  return row?.outcome ?? "forbidden";
}
