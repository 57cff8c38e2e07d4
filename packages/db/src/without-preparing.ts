/**
 * The address of the same database for a client that names no prepared statement: behind a pooler in transaction mode the
 * next transaction may be on another connection, which does not know it (PgBouncer before 1.21).
 */
export function withoutPreparing(url: string): string {
  const address = new URL(url);
  address.searchParams.set("prepare", "false");
  return address.href;
}
