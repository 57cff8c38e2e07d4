import type { Reader } from "./scope.ts";

const statementTimeoutMs = 1_000;
const queryCanceled = "57014";

/**
 * Runs `body`, beside which nothing else runs in the transaction, without the right to write and with a bound on its time,
 * and leaves the transaction as it was.
 */
export async function readBriefly<R>({ tx }: Reader, body: () => Promise<R>): Promise<R> {
  await tx`savepoint brief_read`;
  try {
    await tx.unsafe(`set local transaction_read_only = on; set local statement_timeout = ${statementTimeoutMs}`);
    return await body();
  } finally {
    await tx.unsafe("rollback to savepoint brief_read; release savepoint brief_read");
  }
}

/** Whether `readBriefly` threw this because it took too long. */
export function isTooLong(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === queryCanceled;
}
