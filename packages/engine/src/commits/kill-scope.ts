import type { Queryable } from "@countersign/db/connect.ts";
import { EngineError } from "../engine-error.ts";

/** Where a switch can be set. The app's scope has the nil uuid. */
export interface Scope {
  readonly scope: "app" | "workspace" | "definition" | "run";
  readonly scopeId: string;
  /** Undefined for the app. */
  readonly workspaceId: string | undefined;
}

export const appScope: Scope = {
  scope: "app",
  scopeId: "00000000-0000-0000-0000-000000000000",
  workspaceId: undefined,
};

/** Who changes policy, and how it is known, such as `token:<id> over http`. Without a user: the app's configuration. */
export interface Author {
  readonly userId: string | undefined;
  readonly way: string;
}

/**
 * Afterwards nothing under the scope is claimed, begun, decided or expired until it is lifted; holders stop at their next
 * beat. Who, how (`way`) and why is in the audit. Throws where the workspace has no such scope.
 */
export async function killScope(
  sql: Queryable,
  scope: Scope,
  userId: string,
  reason: string,
  way?: string,
): Promise<"killed" | "already"> {
  const [row] = await sql.unsafe<{ outcome: "killed" | "already" | "not_found" }[]>(
    "select outcome from kill_scope($1::text, $2::uuid, $3::uuid, $4::uuid, $5::text, $6::text)",
    [scope.scope, scope.scopeId, scope.workspaceId ?? null, userId, way ?? null, reason],
    { prepare: true },
  );
  if (row === undefined || row.outcome === "not_found") {
    const where = scope.workspaceId === undefined ? "the app" : `workspace ${scope.workspaceId}`;
    throw new EngineError("unknown_scope", `kill_scope: ${where} has no ${scope.scope} ${scope.scopeId}`);
  }
  return row.outcome;
}
