import { lenderOf, type Queryable, type Sql, type Tx } from "./connect.ts";

export type TransactionOptions = {
  isolation?: "read committed" | "repeatable read" | "serializable";
  isReadOnly?: boolean;
  /** How long one statement may take before the server cancels it. */
  statementTimeoutMs?: number;
  /** How long a statement may wait for a lock. */
  lockTimeoutMs?: number;
  /** How long the transaction may sit without a statement before the server ends the connection. */
  idleTimeoutMs?: number;
};

/** The transaction did not become true although its body returned: a statement in it had failed unnoticed. */
export class TransactionAborted extends Error {
  override readonly name = "TransactionAborted";
}

/**
 * Runs `body` in one transaction on a connection of its own. When the promise resolves everything in it is committed;
 * when it rejects nothing is, except that an error of the connection during COMMIT leaves the outcome unknown.
 * Await nothing but SQL inside. A statement sent after the end, or after the connection was lost, rejects; it never
 * joins somebody else's transaction.
 */
export async function transaction<R>(
  sql: Sql,
  body: (tx: Tx) => Promise<R>,
  options: TransactionOptions = {},
): Promise<R> {
  const connection = await lenderOf(sql).borrow(beginStatement(options));
  let result: R;
  try {
    result = await body(connection.sql as Tx);
  } catch (error) {
    // Where the connection is gone the server has rolled back already; the body's error is the one to report.
    await connection.finish("rollback").catch(() => undefined);
    throw error;
  }
  const command = await connection.finish("commit");
  if (command === "COMMIT") return result;
  throw new TransactionAborted(
    "The transaction was rolled back, not committed: a statement in it failed and the error was not passed on.",
    { cause: connection.firstError() },
  );
}

/**
 * Runs `work` on a connection that nobody else uses meanwhile, without a transaction around it: for a statement that may
 * wait long for a lock, behind which the pool would otherwise queue other statements.
 */
export async function onOwnConnection<R>(sql: Sql, work: (own: Queryable) => Promise<R>): Promise<R> {
  const connection = await lenderOf(sql).borrow("select");
  try {
    return await work(connection.sql);
  } finally {
    await connection.finish("select").catch(() => undefined);
  }
}

function beginStatement(options: TransactionOptions): string {
  const mode = options.isolation ? ` isolation level ${options.isolation}` : "";
  const access = options.isReadOnly ? " read only" : "";
  return [
    `begin${mode}${access}`,
    ...setLocal("statement_timeout", options.statementTimeoutMs),
    ...setLocal("lock_timeout", options.lockTimeoutMs),
    ...setLocal("idle_in_transaction_session_timeout", options.idleTimeoutMs),
  ].join("; ");
}

function setLocal(name: string, ms: number | undefined): string[] {
  return ms === undefined ? [] : [`set local ${name} = ${Math.ceil(ms)}`];
}
