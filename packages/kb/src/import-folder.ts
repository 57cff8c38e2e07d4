import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
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
 * stopped. Hidden entries are left out. Few files are held at a time. Rejects where the folder cannot be read.
 */
export async function importFolder(sql: Sql, asked: FolderImport): Promise<FolderImportResult> {
  const { workspaceId, userId, folder, onProgress } = asked;
  const counts = { imported: 0, updated: 0, unchanged: 0, nodes: 0, done: 0 };
  const notes = { skipped: [] as FileNote[], conflicts: [] as FileNote[], warnings: [] as FileNote[] };
  const files = await findMarkdown(folder);
  const waiting = files.values();

  async function work(): Promise<void> {
    for (const file of waiting) {
      const path = [file.dir, file.fileName].filter(Boolean).join("/");
      const source = file.isRegular ? decodeText(await readFile(join(folder, path))) : undefined;
      if (source === undefined) {
        notes.skipped.push({
          path,
          reason: file.isRegular ? "it is not UTF-8 text" : "it is a link or no regular file",
        });
      } else {
        const { dir, fileName } = file;
        const result = await transaction(sql, (tx) =>
          importPage({ tx, workspaceId, userId }, { dir, fileName, source }),
        );
        if (result.kind === "skipped") notes.skipped.push({ path, reason: result.reason });
        else if (result.kind === "conflict") notes.conflicts.push({ path, reason: result.reason });
        else {
          counts[result.kind] += 1;
          counts.nodes += result.nodeCount;
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

async function findMarkdown(folder: string): Promise<{ dir: string; fileName: string; isRegular: boolean }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => /\.md$/i.test(entry.name) && !entry.isDirectory())
    .map((entry) => ({
      dir: relative(folder, entry.parentPath).split(sep).join("/"),
      fileName: entry.name,
      isRegular: entry.isFile(),
    }))
    .filter(({ dir, fileName }) => ![...dir.split("/"), fileName].some((part) => part.startsWith(".")))
    .toSorted((a, b) => (`${a.dir}/${a.fileName}` < `${b.dir}/${b.fileName}` ? -1 : 1));
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
