import { showPages, visiblePages, type Reader } from "./scope.ts";
import { findWaitingPaths, isWaiting, pathsOf } from "./store-links.ts";

export interface LinkedPage {
  readonly id: string;
  readonly title: string;
}

/** A page that is linked to, and by which names and paths: as links are compared, so in small letters. */
export interface LinkTarget extends LinkedPage {
  readonly names: readonly string[];
}

/**
 * The pages that a page links to, in the order of its links. A link to a page that the reader does not see goes to one
 * that bears the name and is seen, or nowhere; so does one that was written beside its page, and did not find it.
 */
export async function listLinked(reader: Reader, pageId: string, limit: number): Promise<LinkTarget[]> {
  const files = JSON.stringify(await listOpenPaths(reader, pageId));
  const pages = await reader.tx<LinkTarget[]>`
    with files as (
      select f.id as link, (select v.id
                              from json_array_elements(f.paths) with ordinality as wanted (file, rank)
                              join ${visiblePages(reader)} v
                                on v.dir = wanted.file ->> 'dir' and v.file_name = wanted.file ->> 'fileName'
                             order by wanted.rank, v.id limit 1) as id
        from json_to_recordset(${files}::text::json) as f (id bigint, paths json)),
    seen as (
      select min(l.id) as first, array_agg(distinct l.target) as names,
             coalesce((select v.id from ${visiblePages(reader)} v where v.id = l.target_page_id),
                      (select v.id from ${visiblePages(reader)} v
                        where l.kind = 'title' and v.names @> array[l.target]
                        order by v.names[1] = l.target desc, v.dir = (select dir from pages where id = ${pageId}) desc,
                                 v.created_at, v.id limit 1),
                      (select f.id from files f where f.link = l.id)) as id
        from links l where l.page_id = ${pageId} group by 3)
    select p.id, p.title, s.names from seen s join pages p on p.id = s.id where p.id <> ${pageId} order by s.first limit ${limit}`;
  return shown(reader, pages);
}

/** The links by path of a page that wait for one, and where they may lead. */
async function listOpenPaths(reader: Reader, pageId: string) {
  const links = await reader.tx<{ id: number; dir: string; target: string }[]>`
    select l.id, p.dir, l.target
      from links l join pages p on p.id = l.page_id
     where l.page_id = ${pageId} and l.kind = 'path' and ${isWaiting(reader)}`;
  return links.map(({ id, dir, target }) => ({ id, paths: pathsOf(dir, target) }));
}

/** The pages with a link to a page, by title, of those that the reader sees. */
export async function listBacklinks(reader: Reader, pageId: string, limit: number): Promise<LinkedPage[]> {
  const { tx, workspaceId } = reader;
  const [file] = await tx<{ dir: string; fileName: string }[]>`
    select dir, file_name as "fileName" from pages where id = ${pageId} and file_name is not null`;
  const byPath = file === undefined ? [] : await findWaitingPaths(reader, file);
  const pages = await tx<LinkedPage[]>`
    select p.id, p.title
      from ${visiblePages(reader)} p
     where p.id <> ${pageId}
       and p.id in (
         select l.page_id from links l where l.target_page_id = ${pageId} or l.id = any(${byPath}::bigint[])
         union
         select l.page_id
           from links l join ${visiblePages(reader)} t on t.id = ${pageId}
          where l.workspace_id = ${workspaceId} and l.kind = 'title' and l.target = any(t.names)
            and l.target_page_id is distinct from ${pageId}
            and not exists (select from ${visiblePages(reader)} v where v.id = l.target_page_id))
     order by p.title, p.id limit ${limit}`;
  return shown(reader, pages);
}

function shown<T extends LinkedPage>(reader: Reader, pages: T[]): T[] {
  showPages(
    reader,
    pages.map(({ id }) => id),
  );
  return pages;
}
