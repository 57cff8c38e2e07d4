import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";

/** Several reads of one moment: a card and the approval it stands for cannot disagree. */
export async function readTogether<R>(sql: Sql, read: (tx: Tx) => Promise<R>): Promise<R> {
  return await transaction(sql, read, { isolation: "repeatable read", isReadOnly: true });
}
