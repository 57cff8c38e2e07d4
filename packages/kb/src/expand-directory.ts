import { visiblePages, type Reader } from "./scope.ts";

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
 * title. A directory in which the reader sees no page is not there. Undefined where that is true of `dir` itself.
 */
export async function expandDirectory(reader: Reader, asked: string): Promise<DirectoryLevel | undefined> {
  const { tx } = reader;
  const dir = asked.split("/").filter(Boolean).join("/");
  const depth = dir === "" ? 1 : dir.split("/").length + 1;
  const dirs = await tx<{ dir: string; pageCount: number }[]>`
    select array_to_string((string_to_array(dir, '/'))[1:${depth}], '/') as dir, count(*) as "pageCount"
      from ${visiblePages(reader)} p
     where case ${dir} when '' then dir <> '' else starts_with(dir, ${dir} || '/') end
     group by 1 order by 1`;
  const pages = await tx<{ id: string; title: string; type: string; total: number }[]>`
    select id, title, type, count(*) over () as total
      from ${visiblePages(reader)} p where dir = ${dir} order by title, id limit ${mostListed}`;
  if (dir !== "" && dirs.length === 0 && pages.length === 0) return undefined;
  return {
    dir,
    dirs: dirs.slice(0, mostListed),
    pages: pages.map(({ id, title, type }) => ({ id, title, type })),
    totals: { dirs: dirs.length, pages: pages[0]?.total ?? 0 },
  };
}
