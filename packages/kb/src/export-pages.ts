import { directoryKeyOf } from "./directories.ts";
import { type FileState, stateOf } from "./file-bases.ts";
import { foldersOf, withoutPathProblem } from "./file-path.ts";
import { readPage } from "./read-page.ts";
import { visiblePages, type Reader } from "./scope.ts";

export interface ExportQuery {
  /** Only this directory and what is below it. */
  readonly dir?: string | undefined;
}

/** Where a page goes. */
export interface ExportPath {
  readonly pageId: string;
  readonly path: string;
  readonly lineEnd: string;
}

/** A page as a file. */
export interface ExportedFile {
  readonly path: string;
  readonly text: string;
  /** To be given with an import of the file, whatever became of its text. */
  readonly from: FileState;
}

/** The file of every page that the reader sees; no two pages have one path, and none is hidden or leads elsewhere. */
export async function listExportPaths(reader: Reader, { dir = "" }: ExportQuery): Promise<ExportPath[]> {
  const key = directoryKeyOf(dir);
  const pages = await reader.tx<ExportPath[]>`
    select p.id as "pageId", concat_ws('/', nullif(p.dir, ''), coalesce(file_name, slug || '.md')) as path,
           line_end as "lineEnd"
      from ${visiblePages(reader)} p join directories d on d.workspace_id = p.workspace_id and d.dir = p.dir
     where ${key} = '' or d.key = ${key} or starts_with(d.key, ${key} || '/')
     order by file_name is null,
              not exists (select from page_files f
                           where f.workspace_id = p.workspace_id and f.page_id = p.id and f.imported_revision is not null
                             and f.path = concat_ws('/', nullif(p.dir, ''), file_name)),
              p.dir, slug, p.id`;
  const plain = pages.map((page) => ({ ...page, path: withoutPathProblem(asMarkdown(page.path)) }));
  // No file has the name of a folder that others lie in.
  const taken = new Map(plain.flatMap(({ path }) => foldersOf(path)).map((folder) => [folder, 1]));
  return plain.map((page) => ({ ...page, path: takeFreePath(page.path, taken) }));
}

/** The files of these pages, those that are gone meanwhile left out. */
export async function exportPages(reader: Reader, paths: readonly ExportPath[]): Promise<ExportedFile[]> {
  const files: ExportedFile[] = [];
  for (const { pageId, path, lineEnd } of paths) {
    const page = await readPage(reader, pageId);
    if (page === undefined) continue;
    const text = lineEnd === "\n" ? page.markdown : page.markdown.replaceAll("\n", lineEnd);
    files.push({ path, text, from: stateOf(text, page.revision) });
  }
  return files;
}

/** Whatever a page's file was called once, what is written is Markdown and not what a program takes for its own. */
function asMarkdown(path: string): string {
  return /\.md$/i.test(path) ? path : `${path}.md`;
}

/**
 * A path that no page before has: a page made here may have the slug that is another's file name, and one that came back
 * the file name itself. `taken` knows for each path the number that was tried last, so that each is tried once.
 */
function takeFreePath(path: string, taken: Map<string, number>): string {
  const [, stem = path, end = ""] = /^(.*)(\.md)$/is.exec(path) ?? [];
  let free = path;
  for (let n = taken.get(path) ?? 1; taken.has(free);) {
    n += 1;
    free = `${stem}-${n}${end}`;
    taken.set(path, n);
  }
  taken.set(free, 1);
  return free;
}
