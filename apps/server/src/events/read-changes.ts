import type { Queryable } from "@countersign/db/connect.ts";

/** What changed between two snapshots: each row once, as ids to be looked up. */
export interface Changes {
  /** As of when; where the next look goes on. */
  readonly snapshot: string;
  readonly runs: readonly { readonly id: string; readonly workspaceId: string }[];
  readonly tasks: readonly { readonly id: string; readonly workspaceId: string; readonly runId: string | null }[];
  /** Scopes whose rules or switches changed; the workspace of the app's own is null. */
  readonly policies: readonly { readonly scope: string; readonly id: string; readonly workspaceId: string | null }[];
  /** More changed than is told, so that nothing is: who wants to know reads everything again. */
  readonly isTooMuch: boolean;
}

/** The most rows of a table that are told of at once. */
export const mostChanges = 2_000;

/** SQL: rows of a table that a transaction changed which $1 did not see, and $2 did where it is given. */
function changedIn(table: string, columns: string): string {
  // By definition a snapshot does not see what is at or beyond its xmax, nor what ran when it was taken. Two scans of
  // the index on `changed`, each with a limit that keeps the planner from reading the table.
  const seen = "($2::pg_snapshot is null or pg_visible_in_snapshot(changed, $2::pg_snapshot))";
  return `(select coalesce(json_agg(json_build_object(${columns})), '[]') from (
     (select * from ${table} where changed >= pg_snapshot_xmax($1::pg_snapshot) and ${seen} order by changed limit ${mostChanges + 1})
      union all
     (select * from ${table} where changed = any (array(select pg_snapshot_xip($1::pg_snapshot))) and ${seen} limit ${mostChanges + 1})) t)`;
}

const statement = `
  select pg_current_snapshot()::text as snapshot,
         ${changedIn("runs", "'id', id, 'workspaceId', workspace_id")} as runs,
         ${changedIn("tasks", "'id', id, 'workspaceId', workspace_id, 'runId', run_id")} as tasks,
         ${changedIn("policies", "'scope', scope, 'id', scope_id, 'workspaceId', workspace_id")} as policies,
         pg_snapshot_xmax($1::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()) as "isAhead"`;

/** The snapshot as of now. */
export async function readSnapshot(sql: Queryable): Promise<string> {
  const [row] = await sql.unsafe<{ snapshot: string }[]>("select pg_current_snapshot()::text as snapshot", [], {
    prepare: true,
  });
  if (row === undefined) throw new Error("The database told no snapshot.");
  return row.snapshot;
}

/**
 * What changed in all workspaces since the snapshot `since`, up to `upTo` or now: nothing is left out and nothing told
 * twice, in whatever order transactions commit. A snapshot that this database has not reached yet counts as too much.
 */
export async function readChanges(sql: Queryable, since: string, upTo?: string): Promise<Changes> {
  const [row] = await sql.unsafe<(Omit<Changes, "isTooMuch"> & { isAhead: boolean })[]>(
    statement,
    [since, upTo ?? null],
    { prepare: true },
  );
  if (row === undefined) throw new Error("The database told no changes.");
  const { isAhead, snapshot, ...found } = row;
  const isTooMuch = isAhead || Object.values(found).some((rows) => rows.length > mostChanges);
  return isTooMuch ? { snapshot, runs: [], tasks: [], policies: [], isTooMuch } : { snapshot, ...found, isTooMuch };
}
