import type { Queryable } from "@countersign/db/connect.ts";

/** True where the installation has no other workspace, so that its administrator is the installation's. */
export async function isOnlyWorkspace(sql: Queryable, workspaceId: string): Promise<boolean> {
  const [row] = await sql.unsafe<{ others: boolean }[]>(
    "select exists (select from workspaces where id <> $1) as others",
    [workspaceId],
    { prepare: true },
  );
  return row?.others === false;
}
