import { directoryKeyOf } from "./directories.ts";
import { showPages, visiblePages, type Reader } from "./scope.ts";

export interface DirectoryLevel {
  readonly dir: string;
  readonly dirs: readonly { readonly dir: string; readonly pageCount: number }[];
  readonly pages: readonly { readonly id: string; readonly title: string; readonly type: string }[];
  /** How many of each there are, where not all are listed. */
  readonly totals: { readonly dirs: number; readonly pages: number };
}

const mostListed = 200;

/**
 * One level of directories: those right below `dir`, with how many pages each holds at any depth, and the pages in it by
 * title. A directory in which the reader sees no page is not there. Undefined where that is true of `dir` itself. One that
 * is written in several ways is one, under the way that most of its pages have.
 */
export async function expandDirectory(reader: Reader, asked: string): Promise<DirectoryLevel | undefined> {
  const { tx } = reader;
  const dir = asked.split("/").filter(Boolean).join("/");
  const key = directoryKeyOf(dir);
  const depth = key === "" ? 1 : key.split("/").length + 1;
  const here = tx`(
    select p.id, p.title, p.type, p.dir, d.key
      from ${visiblePages(reader)} p join directories d on d.workspace_id = p.workspace_id and d.dir = p.dir)`;
  const dirs = await tx<{ dir: string; pageCount: number }[]>`
    select mode() within group (order by array_to_string((string_to_array(dir, '/'))[1:${depth}], '/')) as dir,
           count(*) as "pageCount"
      from ${here} p
     where case ${key} when '' then key <> '' else starts_with(key, ${key} || '/') end
     group by (string_to_array(key, '/'))[1:${depth}] order by 1`;
  const pages = await tx<{ id: string; title: string; type: string; total: number }[]>`
    select id, title, type, count(*) over () as total
      from ${here} p where key = ${key} order by title, id limit ${mostListed}`;
  if (dir !== "" && dirs.length === 0 && pages.length === 0) return undefined;
  const listed = dirs.slice(0, mostListed);
  for (const one of listed) reader.shown?.dirs.add(directoryKeyOf(one.dir));
  if (key !== "") reader.shown?.dirs.add(key);
  showPages(
    reader,
    pages.map(({ id }) => id),
  );
  return {
    dir,
    dirs: listed,
    pages: pages.map(({ id, title, type }) => ({ id, title, type })),
    totals: { dirs: dirs.length, pages: pages[0]?.total ?? 0 },
  };
}
