import type { Queryable } from "@countersign/db/connect.ts";

/** Who asks for what is kept beside the pages: for a run, its user. */
export interface Asker {
  readonly workspaceId: string;
  readonly userId: string;
}

/** SQL: rows of `files` that the person $2 of the workspace $1 may see, by their pages. */
export const visibleFiles = `(
  select * from files
   where workspace_id = $1::uuid
     and (page_id is null or page_id not in (select hidden_pages($1::uuid, $2::uuid, 'read'))))`;

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
 * on, by the rules of the directory of memory where there is none, and those of the person's own runs.
 */
export const visibleProposals = `(
  select * from memory_proposals m
   where m.workspace_id = $1::uuid
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
 * result, or its user sees a file or a capture of it. Knowing a hash alone gives nobody its content.
 */
export async function mayHaveContent(
  db: Queryable,
  { workspaceId, userId, runId, hash }: Asker & { readonly runId: string; readonly hash: string },
): Promise<boolean> {
  const [found] = await db.unsafe<{ isTheirs: boolean }[]>(
    `with recursive above as (
       select id, parent_id from runs where id = $3::uuid and workspace_id = $1::uuid
       union all
       select r.id, r.parent_id from above a join runs r on r.id = a.parent_id)
     select exists (select from tool_calls c join above a on a.id = c.run_id where c.result_blob = $4::text)
         or exists (select from ${visibleFiles} f where f.hash = $4::text)
         or exists (select from ${visibleCaptures} c where c.hash = $4::text) as "isTheirs"`,
    [workspaceId, userId, runId, hash],
    { prepare: true },
  );
  return found?.isTheirs === true;
}
