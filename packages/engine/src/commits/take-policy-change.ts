import type { Queryable } from "@countersign/db/connect.ts";

/** A change of policy whose open approvals are to be judged again. */
export interface PolicyChange {
  readonly id: number;
  /** The app's, a workspace's, a definition's or a run's. */
  readonly scopeId: string;
  /** Undefined: every workspace. */
  readonly workspaceId: string | undefined;
  /** Undefined: every tool. */
  readonly tools: readonly string[] | undefined;
  /** Approvals from this one on were looked at before. */
  readonly nextId: string | undefined;
}

/** How long a worker may take over one window before another takes the change. */
const leaseMs = 60_000;

/** Afterwards the change is this worker's for a minute; undefined where there is none to do. */
export async function takePolicyChange(sql: Queryable): Promise<PolicyChange | undefined> {
  const [row] = await sql.unsafe<
    { id: string; scope_id: string; workspace_id: string | null; tools: string[] | null; next_id: string | null }[]
  >("select * from take_policy_change($1::bigint)", [leaseMs], { prepare: true });
  if (row === undefined) return undefined;
  return {
    id: Number(row.id),
    scopeId: row.scope_id,
    workspaceId: row.workspace_id ?? undefined,
    tools: row.tools ?? undefined,
    nextId: row.next_id ?? undefined,
  };
}
