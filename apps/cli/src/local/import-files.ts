import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type FolderFile, listFolder, readFolderFile, type UnreadFolder } from "@countersign/kb/folder-files.ts";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { type FileState, readStates, statesName, writeStates } from "./folder-states.ts";
import type { OddPaths } from "./git.ts";

/** What is sent at once: as much as fits a request, however its text is escaped. */
const mostFiles = 100;
const mostBytes = 900_000;
const bytesOfState = 150;
/** What the server takes as a path. */
const longestPath = 600;

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
  /** Markdown files of which nothing is known, since the import ended before them. */
  readonly unsent: number;
}

/** An import that is over: what came of it, and what ended it before its time or went wrong at single files. */
export interface ImportEnd {
  readonly report: ImportReport;
  readonly error: Error | undefined;
}

interface SentFile {
  readonly path: string;
  readonly text: string;
  readonly from?: FileState & { readonly orLater?: boolean };
}

/**
 * Sends every Markdown file below `folder` to the server, a request's worth at a time; `tell` is told how far it is.
 * Hidden entries and links are left out, those of a clone too, and files of other kinds; what cannot be read is skipped.
 * Where the folder has noted what its files were, that is sent with them, and what they are by then is noted; but not in a
 * clone, which is gone afterwards. Importing again goes on where it stopped. Throws CliError where there is no such folder; what fails later is answered.
 */
export async function importFiles(
  client: Client,
  folder: string,
  dir: string,
  tell: (done: number, all: number) => void,
  clone?: OddPaths,
): Promise<ImportEnd> {
  const odd = clone ?? { links: new Set(), missing: [] };
  const { files, others, unread } = await findMarkdown(folder, odd.links);
  const states = odd.links.has(statesName) ? undefined : await readStates(folder);
  const counts = { imported: 0, updated: 0, unchanged: 0, conflict: 0, skipped: 0 };
  const notes: ImportReport["notes"][number][] = [];
  const conflicts: ImportReport["conflicts"][number][] = [];
  let nodeCount = 0;
  let done = 0;
  let error: Error | undefined;

  function skip(path: string, note: string): void {
    counts.skipped += 1;
    notes.push({ path, outcome: "skipped", note });
  }

  async function sendOnce(batch: readonly SentFile[]): Promise<void> {
    const answer = await ask(client.v1.import.$post({ header: {}, json: { dir, files: [...batch] } }));
    for (const file of answer.files) {
      if (file.from !== null) states?.set(file.path, file.from);
      counts[file.outcome] += 1;
      nodeCount += file.nodeCount;
      for (const note of file.notes) notes.push({ path: file.path, outcome: file.outcome, note });
      if (file.outcome === "conflict")
        conflicts.push({ path: file.path, pageId: file.pageId ?? "", clashes: file.clashes ?? [] });
    }
    done += batch.length;
  }

  async function send(batch: readonly SentFile[]): Promise<void> {
    try {
      await sendAll(batch);
    } finally {
      if (states !== undefined && clone === undefined) await writeStates(folder, states);
    }
  }

  /** The server takes all of a request or nothing. Where it fails, each file goes alone, and the one at which it fails stays. */
  async function sendAll(batch: readonly SentFile[]): Promise<void> {
    const failed: { path: string; problem: CliError }[] = [];
    const toSend = await sendOnce(batch).then(
      () => [],
      (problem: unknown) => (isFailure(problem) ? batch : Promise.reject(problem)),
    );
    for (const file of toSend) {
      await sendOnce([file]).catch((problem: unknown) => {
        if (!isFailure(problem)) throw problem;
        failed.push({ path: file.path, problem });
      });
    }
    const [first] = failed;
    if (first === undefined) return;
    if (failed.length === batch.length && batch.length > 1) throw first.problem;
    for (const { path, problem } of failed) skip(path, `the server failed at it: ${problem.message}`);
    done += failed.length;
    error ??= new CliError("error", "The server failed at some files, which are named; the others were imported.");
  }

  for (const { path, reason } of unread) skip(path, reason);
  for (const path of odd.missing.filter(isPagePath)) {
    skip(path, "git could not write it: its name is not one that this file system takes, or no space is left");
    error ??= new CliError("error", "Git could not write some files, which are named; the others were imported.");
  }
  try {
    let batch: SentFile[] = [];
    let bytes = 0;
    for (const file of files) {
      const { path } = file;
      const read = await readMarkdown(folder, file);
      if (read.kind === "unread") {
        skip(path, read.reason);
        done += 1;
        continue;
      }
      if (batch.length >= mostFiles || bytes + read.size > mostBytes) {
        await send(batch);
        tell(done, files.length);
        [batch, bytes] = [[], 0];
      }
      const from = states?.get(path);
      batch.push({ path, text: read.text, ...(from && { from: { ...from, orLater: clone !== undefined } }) });
      bytes += read.size + path.length + (from === undefined ? 0 : bytesOfState);
    }
    if (batch.length > 0) await send(batch);
    tell(done, files.length);
  } catch (problem) {
    error = problem instanceof Error ? problem : new Error(String(problem));
  }
  return { report: { counts, nodeCount, notes, conflicts, others, unsent: files.length - done }, error };
}

/** True where the server itself failed, or found the request too large: fewer files at once may pass. */
function isFailure(error: unknown): error is CliError {
  if (!(error instanceof CliError) || !("code" in error.details)) return false;
  return error.details.code === "internal" || error.details.code === "too_large";
}

async function readMarkdown(folder: string, { path, parts, nameProblem }: FolderFile) {
  if (nameProblem !== undefined) return { kind: "unread", reason: nameProblem } as const;
  if (path.length > longestPath)
    return {
      kind: "unread",
      reason: `its path has ${path.length} characters; at most ${longestPath} are kept`,
    } as const;
  const read = await readFolderFile(folder, parts);
  if (read.kind === "unread") return read;
  const size = Buffer.byteLength(JSON.stringify(read.text));
  if (size <= mostBytes) return { ...read, size };
  return { kind: "unread", reason: `it is too large to be sent: ${size} bytes, at most ${mostBytes}` } as const;
}

/** Markdown, and not hidden. */
function isPagePath(path: string): boolean {
  return /\.md$/i.test(path) && !path.split("/").some((part) => part.startsWith("."));
}

async function findMarkdown(
  folder: string,
  links: ReadonlySet<string>,
): Promise<{ files: FolderFile[]; others: string[]; unread: UnreadFolder[] }> {
  const kind = await stat(folder).then(
    (found) => (found.isDirectory() ? "folder" : "file"),
    () => "nothing",
  );
  const listed = kind === "folder" ? await listFolder(folder).catch(() => undefined) : undefined;
  if (listed === undefined) {
    throw new CliError(
      "usage",
      kind === "file"
        ? `${folder} is a file, and what is imported is a folder of Markdown files: ./countersign kb import ${dirname(folder)}`
        : `${folder} is no folder that can be read. Nothing was imported.`,
    );
  }
  const files: FolderFile[] = [];
  const others: string[] = [];
  for (const file of listed.files) {
    const { path, isRegular } = file;
    if (isPagePath(path) && isRegular && !links.has(path)) files.push(file);
    else if (path !== statesName) others.push(path);
  }
  return { files, others, unread: listed.unread };
}
