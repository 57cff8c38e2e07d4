import { directoryKeyOf } from "./directories.ts";
import type { Page } from "./lookup.ts";
import { foldName } from "./fold.ts";
import { reachablePages, type Reader } from "./scope.ts";

export interface ListedPage extends Page {
  readonly labels: readonly string[];
  readonly aliases: readonly string[];
  /** Why its frontmatter could not be read, where it could not. */
  readonly problem: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly removedAt: Date | null;
}

export interface PageQuery {
  readonly dir?: string | undefined;
  /** A title or alias. */
  readonly name?: string | undefined;
  /** The pages that were removed, in place of those that are there. */
  readonly isRemoved?: boolean | undefined;
  /** After this page, wherever it is by now: what the list said of it is all that counts. */
  readonly after?: { readonly title: string; readonly id: string } | undefined;
  readonly limit: number;
}

/** Pages that the reader sees, by title. */
export async function listPages(reader: Reader, query: PageQuery): Promise<ListedPage[]> {
  const { isRemoved = false, after = { title: null, id: null }, limit } = query;
  const key = query.dir === undefined ? null : directoryKeyOf(query.dir);
  const name = query.name === undefined ? null : foldName(query.name);
  return await reader.tx<ListedPage[]>`
    select id, dir, title, slug, type, revision, labels, aliases, problem, created_at as "createdAt",
           updated_at as "updatedAt", removed_at as "removedAt"
      from ${reachablePages(reader, "read")} p
     where (removed_at is not null) = ${isRemoved}
       and (${key}::text is null
            or dir in (select d.dir from directories d where d.workspace_id = p.workspace_id and d.key = ${key}::text))
       and (${name}::text is null or names @> array[${name}::text])
       and (${after.id}::uuid is null or (title, id) > (${after.title}::text, ${after.id}::uuid))
     order by title, id limit ${limit}`;
}

/** One page that the reader sees, removed ones left out. */
export async function readListedPage(reader: Reader, id: string): Promise<ListedPage | undefined> {
  const [page] = await reader.tx<ListedPage[]>`
    select id, dir, title, slug, type, revision, labels, aliases, problem, created_at as "createdAt",
           updated_at as "updatedAt", removed_at as "removedAt"
      from ${reachablePages(reader, "read")} p where id = ${id}::uuid and removed_at is null`;
  return page;
}
