import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { readPage } from "./read-page.ts";
import { visiblePages } from "./scope.ts";

export interface FolderExport {
  readonly workspaceId: string;
  /** Created where it is missing; files of other names in it stay. */
  readonly folder: string;
}

/**
 * Writes every page of the workspace as a Markdown file, under the name it was imported from or `slug.md`, with its own
 * line ends and without node ids; an imported page that nobody changed is the same file, byte for byte. Answers the
 * paths written.
 */
export async function exportFolder(sql: Sql, { workspaceId, folder }: FolderExport): Promise<string[]> {
  const files = await transaction(
    sql,
    async (tx) => {
      const reader = { tx, workspaceId };
      const pages = await tx<{ id: string; path: string; lineEnd: string }[]>`
        select id, concat_ws('/', nullif(dir, ''), coalesce(file_name, slug || '.md')) as path, line_end as "lineEnd"
          from ${visiblePages(reader)} p
         order by file_name is null, dir, slug`;
      const written: { path: string; text: string }[] = [];
      for (const page of pages) {
        const text = (await readPage(reader, page.id))?.markdown ?? "";
        written.push({
          path: page.path,
          text: page.lineEnd === "\n" ? text : text.replaceAll("\n", page.lineEnd),
        });
      }
      return written;
    },
    { isReadOnly: true, isolation: "repeatable read" },
  );
  const taken = new Set<string>();
  for (const { path, text } of files) {
    const free = findFreePath(path, taken);
    taken.add(free);
    await mkdir(dirname(join(folder, free)), { recursive: true });
    await writeFile(join(folder, free), text);
  }
  return [...taken];
}

/** A page made here may have the slug that is another's file name. */
function findFreePath(path: string, taken: ReadonlySet<string>): string {
  let free = path;
  for (let n = 2; taken.has(free); n += 1) free = path.replace(/\.md$/i, `-${n}.md`);
  return free;
}
