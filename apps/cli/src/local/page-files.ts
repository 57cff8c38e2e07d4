import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";

/** What is sent at once: as much as fits a request, however its text is escaped. */
const mostFiles = 100;
const mostBytes = 900_000;

/** What came of the files of an import, by their paths. */
export interface ImportReport {
  readonly counts: Readonly<Record<"imported" | "updated" | "unchanged" | "conflict" | "skipped", number>>;
  readonly nodeCount: number;
  readonly notes: readonly { readonly path: string; readonly outcome: string; readonly note: string }[];
}

/**
 * Sends every Markdown file below `folder` to the server, a request's worth at a time; `tell` is told how far it is.
 * Hidden entries and links are left out. Importing again goes on where it stopped.
 */
export async function importFiles(
  client: Client,
  folder: string,
  dir: string,
  tell: (done: number, all: number) => void,
): Promise<ImportReport> {
  const paths = await findMarkdown(folder);
  const counts = { imported: 0, updated: 0, unchanged: 0, conflict: 0, skipped: 0 };
  const notes: { path: string; outcome: string; note: string }[] = [];
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
  return { counts, nodeCount, notes };
}

/** Writes the pages of `dir` below `folder` as files, a request's worth at a time; answers how many. */
export async function exportFiles(client: Client, folder: string, dir: string): Promise<number> {
  const root = resolve(folder);
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
      const target = resolve(root, path);
      // The names are the server's: none may lead out of the folder.
      if (!target.startsWith(root + sep) || path.split("/").includes(".git")) {
        throw new CliError(
          "error",
          `The server names a file outside the folder: ${JSON.stringify(path)}. It was not written.`,
        );
      }
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text);
      count += 1;
    }
    cursor = nextCursor;
  }
  return count;
}

async function findMarkdown(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => /\.md$/i.test(entry.name) && entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !path.split("/").some((part) => part.startsWith(".")))
    .toSorted();
}

function decodeText(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
