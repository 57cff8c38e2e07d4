import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { importPage } from "./import-page.ts";

export interface FolderImport {
  readonly workspaceId: string;
  readonly userId: string;
  readonly folder: string;
}

export interface FolderImportResult {
  readonly pageCount: number;
  readonly nodeCount: number;
  /** Every Markdown file that became no page, by its path in the folder, and why. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
}

/**
 * Imports every `.md` file below `folder`, each in a transaction of its own, so importing again goes on where it
 * stopped. Hidden entries are left out. Rejects where the folder cannot be read.
 */
export async function importFolder(
  sql: Sql,
  { workspaceId, userId, folder }: FolderImport,
): Promise<FolderImportResult> {
  const skipped: { path: string; reason: string }[] = [];
  let pageCount = 0;
  let nodeCount = 0;
  for (const file of await findMarkdown(folder)) {
    const path = [file.dir, file.fileName].filter(Boolean).join("/");
    const source = file.isRegular ? decodeText(await readFile(join(folder, path))) : undefined;
    if (source === undefined) {
      skipped.push({
        path,
        reason: file.isRegular ? "it is not UTF-8 text" : "it is a link or no regular file",
      });
      continue;
    }
    const { dir, fileName } = file;
    const result = await transaction(sql, (tx) => importPage({ tx, workspaceId, userId }, { dir, fileName, source }));
    if (result.kind === "skipped") {
      skipped.push({ path, reason: result.reason });
    } else {
      pageCount += 1;
      nodeCount += result.nodeCount;
    }
  }
  return { pageCount, nodeCount, skipped };
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
