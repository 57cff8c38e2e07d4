import { randomUUID } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { type ExportQuery, exportPages, listExportPaths } from "./export-pages.ts";

export interface FolderExport extends ExportQuery {
  readonly workspaceId: string;
  /** Whose pages are written: all that this person may read. */
  readonly userId: string;
  /** Created where it is missing; files of other names in it stay. */
  readonly folder: string;
}

const pagesAtOnce = 50;

/**
 * Writes every page that the person sees as a Markdown file, under the name it was imported from or `slug.md`, with its
 * own line ends and without node ids; an imported page that nobody changed is the same file, byte for byte. Holds few
 * pages at a time. Answers the paths written.
 */
export async function exportFolder(sql: Sql, { workspaceId, userId, folder, dir }: FolderExport): Promise<string[]> {
  const paths = await transaction(sql, (tx) => listExportPaths({ tx, workspaceId, userId }, { dir }), {
    isReadOnly: true,
  });
  const written: string[] = [];
  for (let start = 0; start < paths.length; start += pagesAtOnce) {
    const some = paths.slice(start, start + pagesAtOnce);
    const files = await transaction(sql, (tx) => exportPages({ tx, workspaceId, userId }, some), { isReadOnly: true });
    for (const { path, text } of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      // Beside it and then in its place: whoever stops in between leaves the old file whole.
      const aside = join(folder, dirname(path), `.${randomUUID()}.part`);
      await writeFile(aside, text);
      await rename(aside, join(folder, path));
      written.push(path);
    }
  }
  return written;
}
