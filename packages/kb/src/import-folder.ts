import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { analyzeGrown } from "./analyze-grown.ts";
import { listFolder, readFolderFile } from "./folder-files.ts";
import { importPage } from "./import-page.ts";

export interface FolderImport {
  readonly workspaceId: string;
  readonly userId: string;
  readonly folder: string;
  /** Told after every file how many there are and how many are done. */
  readonly onProgress?: (done: number, all: number) => void;
}

/** What is said of one file, by its path in the folder. */
export interface FileNote {
  readonly path: string;
  readonly reason: string;
}

export interface FolderImportResult {
  /** Pages that hold what their files say, new or not. */
  readonly pageCount: number;
  readonly nodeCount: number;
  readonly imported: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Every Markdown file that became no page, and why. */
  readonly skipped: readonly FileNote[];
  /** Every file that was changed where its page was changed too; the page is as it was. */
  readonly conflicts: readonly FileNote[];
  /** What is odd about files that were imported all the same. */
  readonly warnings: readonly FileNote[];
}

/** Files that are read and stored at the same time. */
const atOnce = 4;

/**
 * Imports every `.md` file below `folder`, each in a transaction of its own, so importing again goes on where it
 * stopped. Hidden entries are left out, and what cannot be read is skipped. Few files are held at a time. Rejects where the
 * folder itself cannot be read.
 */
export async function importFolder(sql: Sql, asked: FolderImport): Promise<FolderImportResult> {
  const { workspaceId, userId, folder, onProgress } = asked;
  const counts = { imported: 0, updated: 0, unchanged: 0, nodes: 0, done: 0 };
  const notes = { skipped: [] as FileNote[], conflicts: [] as FileNote[], warnings: [] as FileNote[] };
  const { files: all, unread } = await listFolder(folder);
  const files = all.filter(({ path }) => /\.md$/i.test(path) && !path.split("/").some((part) => part.startsWith(".")));
  notes.skipped.push(...unread);
  const waiting = files.values();

  async function work(): Promise<void> {
    for (const file of waiting) {
      const { path, parts, isRegular, nameProblem } = file;
      const problem = isRegular ? nameProblem : "it is a link or no regular file";
      const read = problem === undefined ? await readFolderFile(folder, parts) : undefined;
      if (read?.kind !== "read") notes.skipped.push({ path, reason: problem ?? read?.reason ?? "" });
      else {
        const names = path.split("/");
        const [dir, fileName, source] = [names.slice(0, -1).join("/"), names.at(-1) ?? "", read.text];
        const result = await transaction(sql, (tx) =>
          importPage({ tx, workspaceId, userId }, { dir, fileName, source }),
        );
        if (result.kind === "skipped") notes.skipped.push({ path, reason: result.reason });
        else if (result.kind === "conflict") notes.conflicts.push({ path, reason: result.reason });
        else {
          counts[result.kind] += 1;
          counts.nodes += result.nodeCount;
          if (result.kind === "imported" && counts.imported % 50 === 0) await analyzeGrown(sql);
          for (const reason of result.warnings) notes.warnings.push({ path, reason });
        }
      }
      counts.done += 1;
      onProgress?.(counts.done, files.length);
    }
  }

  await Promise.all(Array.from({ length: atOnce }, work));
  const { imported, updated, unchanged, nodes: nodeCount } = counts;
  const sorted = (list: FileNote[]): FileNote[] => list.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return {
    pageCount: imported + updated + unchanged,
    nodeCount,
    imported,
    updated,
    unchanged,
    skipped: sorted(notes.skipped),
    conflicts: sorted(notes.conflicts),
    warnings: sorted(notes.warnings),
  };
}
