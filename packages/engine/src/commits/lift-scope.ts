import type { Queryable } from "@countersign/db/connect.ts";
import type { Scope } from "./kill-scope.ts";

/**
 * Afterwards what the switch held goes on by itself; deadlines that passed under it have 15 minutes more. Who, how (`way`) and
 * why is in the audit.
 */
export async function liftScope(
  sql: Queryable,
  scope: Scope,
  userId: string,
  { way, reason }: { readonly way?: string; readonly reason?: string | undefined } = {},
): Promise<"lifted" | "already"> {
  const [row] = await sql.unsafe<{ outcome: "lifted" | "already" }[]>(
    "select outcome from lift_scope($1::text, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::text)",
    [scope.scope, scope.scopeId, scope.workspaceId ?? null, userId, way ?? null, reason ?? null],
    { prepare: true },
  );
  return row?.outcome ?? "already";
}
