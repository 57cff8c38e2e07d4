import type { Tx } from "@countersign/db/connect.ts";

/** Until the end of the transaction nobody else makes a workspace: whether there is one is looked at under it. */
export async function lockWorkspaces(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended('countersign makes a workspace', 0))`;
}
