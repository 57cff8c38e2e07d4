import { directoryKeyOf } from "./directories.ts";
import { foldName } from "./fold.ts";
import { showPages, visiblePages, type Reader } from "./scope.ts";

export interface Page {
  readonly id: string;
  readonly dir: string;
  readonly title: string;
  readonly slug: string;
  readonly type: string;
  readonly revision: number;
}

export type Lookup =
  | { readonly kind: "found"; readonly page: Page }
  | { readonly kind: "ambiguous"; readonly pages: readonly Page[] }
  | { readonly kind: "missing"; readonly nearest: readonly string[] };

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const mostCandidates = 10;

/** Whether a text has the form of an id, so that it can be asked for as one. */
export function isId(text: string): boolean {
  return uuid.test(text);
}

/**
 * Finds a page by id, title or alias. A title that is equal to the letter wins over a name that is equal but for case and
 * form (NFKC); several of the winning sort are ambiguous, at most 10 of them are named. For a missing page the three most
 * similar titles are given.
 */
export async function lookupPage(reader: Reader, name: string): Promise<Lookup> {
  const { tx } = reader;
  if (isId(name)) {
    const [page] = await tx<Page[]>`
      select id, dir, title, slug, type, revision from ${visiblePages(reader)} p where id = ${name}::uuid`;
    if (page !== undefined) {
      showPages(reader, [page.id]);
      return { kind: "found", page };
    }
  }
  if (name.includes("\0")) return { kind: "missing", nearest: [] };
  const pages = await tx<Page[]>`
    select id, dir, title, slug, type, revision
      from ${visiblePages(reader)} p
     where names @> array[${foldName(name)}]
     order by title <> ${name}, dir, slug
     limit ${mostCandidates}`;
  const exact = pages.filter((page) => page.title === name);
  const [page, ...others] = exact.length > 0 ? exact : pages;
  if (page === undefined) return { kind: "missing", nearest: await findNearestTitles(reader, name) };
  showPages(
    reader,
    (exact.length > 0 ? exact : pages).map(({ id }) => id),
  );
  return others.length === 0 ? { kind: "found", page } : { kind: "ambiguous", pages: [page, ...others] };
}

/** The page of exactly this title in a directory, however that is spelt; no other name of a page counts. The oldest of several. */
export async function findPageIn(reader: Reader, title: string, dir: string): Promise<Page | undefined> {
  const [page] = await reader.tx<Page[]>`
    select id, dir, title, slug, type, revision
      from ${visiblePages(reader)} p
     where names @> array[${foldName(title)}] and title = ${title}
       and dir in (select d.dir from directories d
                    where d.workspace_id = p.workspace_id and d.key = ${directoryKeyOf(dir)})
     order by created_at, id limit 1`;
  if (page !== undefined) showPages(reader, [page.id]);
  return page;
}

async function findNearestTitles(reader: Reader, name: string): Promise<string[]> {
  const rows = await reader.tx<{ title: string; ids: string[] }[]>`
    select title, ids from (select title, array_agg(id) as ids from ${visiblePages(reader)} p group by title) t
     where similarity(title, ${name}) > 0.2
     order by similarity(title, ${name}) desc, title
     limit 3`;
  showPages(
    reader,
    rows.flatMap(({ ids }) => ids),
  );
  return rows.map((row) => row.title);
}
