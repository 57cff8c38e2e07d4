import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { findExportTarget } from "./export-target.ts";

/** What is sent at once: as much as fits a request, however its text is escaped. */
const mostFiles = 100;
const mostBytes = 900_000;

/** What came of the files of an import, by their paths. */
export interface ImportReport {
  readonly counts: Readonly<Record<"imported" | "updated" | "unchanged" | "conflict" | "skipped", number>>;
  readonly nodeCount: number;
  readonly notes: readonly { readonly path: string; readonly outcome: string; readonly note: string }[];
  /** Files that were changed where their page was changed too: the first nodes, as each side has them. */
  readonly conflicts: readonly {
    readonly path: string;
    readonly pageId: string;
    readonly clashes: readonly {
      readonly nodeId: string;
      readonly page: string | null;
      readonly file: string | null;
    }[];
  }[];
  /** Entries that are no Markdown, or are hidden or links: they were not looked at. */
  readonly others: readonly string[];
}

/**
 * Sends every Markdown file below `folder` to the server, a request's worth at a time; `tell` is told how far it is.
 * Hidden entries and links are left out, and so are files of other kinds. Importing again goes on where it stopped. Throws
 * CliError where there is no such folder.
 */
export async function importFiles(
  client: Client,
  folder: string,
  dir: string,
  tell: (done: number, all: number) => void,
): Promise<ImportReport> {
  const { paths, others } = await findMarkdown(folder);
  const counts = { imported: 0, updated: 0, unchanged: 0, conflict: 0, skipped: 0 };
  const notes: { path: string; outcome: string; note: string }[] = [];
  const conflicts: ImportReport["conflicts"][number][] = [];
  let nodeCount = 0;
  let done = 0;
  let batch: { path: string; text: string }[] = [];
  let bytes = 0;

  async function send(): Promise<void> {
    if (batch.length === 0) return;
    const { files } = await ask(client.v1.import.$post({ header: {}, json: { dir, files: batch } }));
    for (const file of files) {
      counts[file.outcome] += 1;
      nodeCount += file.nodeCount;
      for (const note of file.notes) notes.push({ path: file.path, outcome: file.outcome, note });
      if (file.outcome === "conflict")
        conflicts.push({ path: file.path, pageId: file.pageId ?? "", clashes: file.clashes ?? [] });
    }
    done += batch.length;
    tell(done, paths.length);
    batch = [];
    bytes = 0;
  }

  function skip(path: string, note: string): void {
    counts.skipped += 1;
    notes.push({ path, outcome: "skipped", note });
    done += 1;
  }

  for (const path of paths) {
    const text = decodeText(await readFile(join(folder, path)));
    const size = text === undefined ? 0 : Buffer.byteLength(JSON.stringify(text));
    if (text === undefined) skip(path, "it is not UTF-8 text");
    else if (size > mostBytes) skip(path, `it is too large to be sent: ${size} bytes, at most ${mostBytes}`);
    else {
      if (batch.length >= mostFiles || bytes + size > mostBytes) await send();
      batch.push({ path, text });
      bytes += size + path.length;
    }
  }
  await send();
  return { counts, nodeCount, notes, conflicts, others };
}

/** Writes the pages of `dir` below `folder` as files, a request's worth at a time; answers how many. */
export async function exportFiles(client: Client, folder: string, dir: string): Promise<number> {
  let count = 0;
  let cursor: string | null = "";
  while (cursor !== null) {
    const query: { dir: string; limit: number; cursor?: string } = {
      dir,
      limit: 50,
      ...(cursor === "" ? {} : { cursor }),
    };
    const { files, nextCursor }: { files: { path: string; text: string }[]; nextCursor: string | null } = await ask(
      client.v1.export.$get({ query }),
    );
    for (const { path, text } of files) {
      const target = await findExportTarget(folder, path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text);
      count += 1;
    }
    cursor = nextCursor;
  }
  return count;
}

async function findMarkdown(folder: string): Promise<{ paths: string[]; others: string[] }> {
  const kind = await stat(folder).then(
    (found) => (found.isDirectory() ? "folder" : "file"),
    () => "nothing",
  );
  if (kind !== "folder") {
    throw new CliError(
      "usage",
      kind === "file"
        ? `${folder} is a file, and what is imported is a folder of Markdown files: ./countersign kb import ${dirname(folder)}`
        : `${folder} is no folder that can be read. Nothing was imported.`,
    );
  }
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths: string[] = [];
  const others: string[] = [];
  for (const entry of entries) {
    if (entry.isDirectory()) continue;
    const path = relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/");
    // Of a repository's own files nobody expects pages.
    if (path.split("/").includes(".git")) continue;
    const isHidden = path.split("/").some((part) => part.startsWith("."));
    const isMarkdown = /\.md$/i.test(entry.name) && entry.isFile() && !isHidden;
    (isMarkdown ? paths : others).push(path);
  }
  return { paths: paths.toSorted(), others: others.toSorted() };
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
