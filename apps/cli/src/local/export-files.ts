import { mkdir } from "node:fs/promises";
import { writeFolderFile } from "@countersign/kb/folder-files.ts";
import { ask, type Client } from "../client.ts";
import { CliError } from "../exit.ts";
import { findTargetProblem } from "./export-target.ts";
import { type FolderStates, readStates, statesName, writeStates } from "./folder-states.ts";

/** The pages of an export as files. */
export interface ExportReport {
  /** The paths of the files that say what their pages say. */
  readonly written: readonly string[];
  /** Pages whose file could not be written, and why. */
  readonly notWritten: readonly { readonly path: string; readonly reason: string }[];
  /** The path of the file that notes what the others are; none where the folder does not take it. */
  readonly notedIn: readonly string[];
}

/**
 * Writes the pages of `dir` below `folder` as files, a request's worth at a time; whatever keeps one from being written, the
 * others are. What each file is by then is noted in the folder, for an import of it. Nothing is written to a path of
 * `links`, or below one. Throws CliError where the folder cannot be there, and where the server does not answer to the end.
 */
export async function exportFiles(
  client: Client,
  folder: string,
  dir: string,
  links: ReadonlySet<string> = new Set(),
): Promise<ExportReport> {
  const written: string[] = [];
  const notWritten: { path: string; reason: string }[] = [];
  const states: FolderStates = (await readStates(folder)) ?? new Map();
  let isNoted = false;
  let cursor: string | null = "";
  while (cursor !== null) {
    const { files, nextCursor }: Awaited<ReturnType<typeof askForFiles>> = await askForFiles(client, dir, cursor).catch(
      (error: unknown) => {
        const count = written.length;
        if (count === 0 || !(error instanceof CliError)) throw error;
        throw new CliError(
          error.exit,
          `${error.message}\nIt ended early: ${count} written, the others not.`,
          error.details,
        );
      },
    );
    if (files.length > 0) await makeFolder(folder);
    for (const { path, text, from } of files) {
      const result = await writePage(folder, path, text, links);
      if (result.kind !== "written") notWritten.push({ path, reason: result.reason });
      else {
        written.push(path);
        states.set(path, from);
      }
    }
    // Not before the files: a note that is newer than its file would take away what the file does not have yet.
    if (files.length > 0 && !links.has(statesName)) isNoted = await writeStates(folder, states);
    cursor = nextCursor;
  }
  return { written, notWritten, notedIn: isNoted ? [statesName] : [] };
}

async function askForFiles(client: Client, dir: string, cursor: string) {
  return await ask(client.v1.export.$get({ query: { dir, limit: 50, ...(cursor === "" ? {} : { cursor }) } }));
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new CliError("error", `${folder} is no folder that can be written to (${why}). Nothing was written.`);
  });
}

async function writePage(folder: string, path: string, text: string, links: ReadonlySet<string>) {
  const parts = path.split("/");
  const problem = findTargetProblem(path);
  if (problem !== undefined) return { kind: "refused", reason: problem } as const;
  if (parts.some((_, n) => links.has(parts.slice(0, n + 1).join("/"))))
    return { kind: "refused", reason: "it is a link or a submodule of the repository, or in one" } as const;
  return await writeFolderFile(folder, parts, text);
}
