import { mkdir } from "node:fs/promises";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { type ExportQuery, exportPages, listExportPaths } from "./export-pages.ts";
import { writeFolderFile } from "./folder-files.ts";

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
 * pages at a time. Answers the paths written; rejects at the first that cannot be.
 */
export async function exportFolder(sql: Sql, { workspaceId, userId, folder, dir }: FolderExport): Promise<string[]> {
  const paths = await transaction(sql, (tx) => listExportPaths({ tx, workspaceId, userId }, { dir }), {
    isReadOnly: true,
  });
  await mkdir(folder, { recursive: true });
  const written: string[] = [];
  for (let start = 0; start < paths.length; start += pagesAtOnce) {
    const some = paths.slice(start, start + pagesAtOnce);
    const files = await transaction(sql, (tx) => exportPages({ tx, workspaceId, userId }, some), { isReadOnly: true });
    for (const { path, text } of files) {
      const result = await writeFolderFile(folder, path.split("/"), text);
      if (result.kind === "refused") throw new Error(`${path} cannot be written below ${folder}: ${result.reason}`);
      written.push(path);
    }
  }
  return written;
}
