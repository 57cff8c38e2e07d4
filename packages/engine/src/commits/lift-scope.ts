import type { Queryable } from "@countersign/db/connect.ts";
import type { Scope } from "./kill-scope.ts";

/** Afterwards what the switch held goes on by itself; deadlines that passed under it have 15 minutes more. */
export async function liftScope(sql: Queryable, scope: Scope, userId: string): Promise<"lifted" | "already"> {
  const [row] = await sql.unsafe<{ outcome: "lifted" | "already" }[]>(
    "select outcome from lift_scope($1::uuid, $2::uuid, $3::uuid)",
    [scope.scopeId, scope.workspaceId ?? null, userId],
    { prepare: true },
  );
  return row?.outcome ?? "already";
}
