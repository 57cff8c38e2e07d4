import type { Queryable } from "@countersign/db/connect.ts";

/** Who asks for what is kept beside the pages: for a run, its user. */
export interface Asker {
  readonly workspaceId: string;
  readonly userId: string;
}

/** Where it is kept which pages, and which runs' words, an answer of this package tells a run of. */
export interface Told {
  readonly pages: Set<string>;
  readonly runs: Set<string>;
}

/** What stands in place of a text that the asker may not read, as `open_text` of the database has it. */
export const closedText = "(closed to you)";

/** Afterwards it is kept whose words these texts are; nothing was told of one that was closed to the asker. */
export function tellRuns(told: Pick<Told, "runs">, texts: readonly (readonly [string | null, string])[]): void {
  for (const [runId, text] of texts) if (runId !== null && text !== closedText) told.runs.add(runId);
}

/** SQL: true of a row whose run, `column`, the person $2 of the workspace $1 may read; null is no run's. */
export function isOfOpenRun(column: string): string {
  return `(${column} is null or not exists (select closed_runs($1::uuid, $2::uuid, array[${column}])))`;
}

/**
 * SQL: rows of `files` that the person $2 of the workspace $1 may see, by their pages; those of no page that a run stored, by
 * what that run was shown.
 */
export const visibleFiles = `(
  select * from files
   where workspace_id = $1::uuid
     and case when page_id is null then ${isOfOpenRun("run_id")}
              else page_id not in (select hidden_pages($1::uuid, $2::uuid, 'read')) end)`;

/**
 * Those of the given runs that a person may not read: their trees were shown something that is closed to that person now.
 * Whatever shows what a run did asks here, or `closed_runs` itself.
 */
export async function listClosedRuns(
  db: Queryable,
  { workspaceId, userId }: Asker,
  runIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (runIds.length === 0) return new Set();
  const rows = await db.unsafe<{ id: string }[]>(
    "select closed_runs($1::uuid, $2::uuid, $3::uuid[]) as id",
    [workspaceId, userId, [...new Set(runIds)]],
    { prepare: true },
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * SQL: whether the tree of the run `r` was shown anything that was closed to somebody. Where this is false everybody may
 * read it, and nothing more need be asked.
 */
export const isGuarded = "exists (select from run_reads x where x.run_id = r.root_id)";

/**
 * SQL: rows of `captures` that the person $2 of the workspace $1 may see: by their page, and before there is one by the
 * rules of the directory of captures, or as captured for that person.
 */
export const visibleCaptures = `(
  select * from captures
   where workspace_id = $1::uuid
     and case when page_id is not null then page_id not in (select closed_pages($1::uuid, $2::uuid, 'read'))
              else user_id = $2::uuid or (select directory_level($1::uuid, $2::uuid, 'captures')) <> 'none' end)`;

/**
 * SQL: rows of `memory_proposals` that the person $2 of the workspace $1 may see: by the page that they are on or would be
 * on, by the rules of the directory of memory where there is none, and those of the person's own runs; none of a run that
 * is closed to the person.
 */
export const visibleProposals = `(
  select * from memory_proposals m
   where m.workspace_id = $1::uuid and ${isOfOpenRun("m.run_id")}
     and case when m.page_id is not null then m.page_id not in (select closed_pages($1::uuid, $2::uuid, 'read'))
              else m.proposed_by = 'user:' || $2::text
                or exists (select from runs r where r.id = m.run_id and r.started_by = $2::uuid)
                or case when exists (select from pages p where p.workspace_id = $1::uuid and p.removed_at is null
                                        and p.names @> array['memory: ' || m.kind])
                        then not exists (select from pages p where p.workspace_id = $1::uuid and p.removed_at is null
                                            and p.names @> array['memory: ' || m.kind]
                                            and p.id in (select closed_pages($1::uuid, $2::uuid, 'read')))
                        else (select directory_level($1::uuid, $2::uuid, 'memory')) <> 'none' end
         end)`;

/**
 * Whether a run may have this content, of which it knows the hash: its own call, or one of a run above it, gave it as a
 * result, or its user sees a file or a capture of it. Knowing a hash alone gives nobody its content. Whose it is goes into
 * `told`.
 */
export async function mayHaveContent(
  db: Queryable,
  { workspaceId, userId, runId, hash }: Asker & { readonly runId: string; readonly hash: string },
  told: Told,
): Promise<boolean> {
  const [found] = await db.unsafe<{ isTheirs: boolean; pages: string[]; runs: string[] }[]>(
    `with recursive above as (
       select id, parent_id from runs where id = $3::uuid and workspace_id = $1::uuid
       union all
       select r.id, r.parent_id from above a join runs r on r.id = a.parent_id),
     named as materialized (
       select f.page_id, f.run_id from ${visibleFiles} f where f.hash = $4::text
       union
       select c.page_id, c.run_id from ${visibleCaptures} c where c.hash = $4::text)
     select exists (select from tool_calls c join above a on a.id = c.run_id where c.result_blob = $4::text)
         or exists (select from named) as "isTheirs",
            array(select page_id from named where page_id is not null) as pages,
            array(select run_id from named where run_id is not null) as runs`,
    [workspaceId, userId, runId, hash],
    { prepare: true },
  );
  for (const id of found?.pages ?? []) told.pages.add(id);
  for (const id of found?.runs ?? []) told.runs.add(id);
  return found?.isTheirs === true;
}
